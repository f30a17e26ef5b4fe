"""A vLLM server that runs a local checkpoint: log-probabilities of the next token, over its completions route.

Prompts are rendered and tokenised here and sent as token ids, so that the server's template has no say. Knows no item
and no mode; replies of a server are `served`'s matter.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from openai import APIConnectionError, APIStatusError, OpenAI, OpenAIError

from thinkgap.backends.format import TextFormat, describe_format
from thinkgap.backends.load import checkpoint_of, loading, read_format
from thinkgap.backends.locate import Checkpoint, folder_digest
from thinkgap.backends.next_token import NextToken
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import ModelConfig, PromptConfig

_AS_ID = "token_id:"
"""How the server writes a token that is asked for as an id."""
_IMPOSSIBLE = -9999.0
"""What it writes for a log-probability of minus infinity, which JSON has not."""


@dataclass(frozen=True)
class VllmServer:
    """A checkpoint behind a vLLM server. Make it with `reach_vllm`."""

    fmt: TextFormat
    checkpoint: Checkpoint
    revision: str
    served: str
    """Id by which the server knows the model."""
    version: str
    """Of the server's vLLM; empty if it does not say."""
    vocab_size: int
    dtype: str
    concurrency: int
    client: OpenAI

    def read(
        self, prompts: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], *, fresh: bool = False
    ) -> list[NextToken]:
        """Log-probabilities of the token after each prompt, in their order; see `VllmModel.read`.

        A fresh prompt is salted, so that it shares no block of the server's prefix cache, and is asked by itself.

        Raises:
            ModelError: the server cannot be reached, refuses a prompt, or leaves out what was asked for.
        """
        jobs = [(number, list(ids), list(own)) for number, (ids, own) in enumerate(zip(prompts, wanted, strict=True))]
        if fresh:
            return [self._ask(ids, own, salt=f"alone-{number}-{os.getpid()}") for number, ids, own in jobs]
        with ThreadPoolExecutor(self.concurrency) as pool:
            asked = [pool.submit(self._ask, ids, own) for _, ids, own in jobs]
            try:
                return [one.result() for one in asked]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def describe(self) -> dict[str, Any]:
        """What the manifest records of the model."""
        return {
            "path": self.checkpoint.origin,
            "revision": self.revision,
            "class": "vllm server",
            "device": "vllm",
            "dtype": self.dtype,
            "vocab_size": self.vocab_size,
            "vllm": self.version,
            "served": self.served,
            "max_length": self.fmt.max_length,
            **describe_format(self.fmt),
        }

    def _ask(self, ids: list[int], wanted: list[int], salt: str | None = None) -> NextToken:
        extra = {"logprob_token_ids": wanted, "return_tokens_as_token_ids": True, "add_special_tokens": False}
        if salt is not None:
            extra["cache_salt"] = salt
        try:
            answer = self.client.completions.create(
                model=self.served, prompt=ids, max_tokens=1, temperature=0.0, logprobs=len(wanted), extra_body=extra
            )
        except OpenAIError as error:
            raise ModelError(f"{self.fmt.name} behind {self.client.base_url}: {_said(error)}") from error
        said: Any = answer.choices[0].logprobs
        given = {_id(token): value for token, value in ((said and said.top_logprobs) or [{}])[0].items()}
        top = _id(said.tokens[0]) if said and said.tokens else -1
        missing = sorted({top, *wanted} - set(given))
        if missing:
            raise ModelError(
                f"{self.fmt.name} behind {self.client.base_url}: no log-probability of token {missing[0]} came back, "
                "which was asked for (logprob_token_ids): is it a vLLM server, and a recent one?"
            )
        found = {token: float("-inf") if value <= _IMPOSSIBLE else float(value) for token, value in given.items()}
        return NextToken(top, found[top], {token: found[token] for token in wanted})


def reach_vllm(cfg: ModelConfig, prompt: PromptConfig, cache_dir: str) -> VllmServer:
    """Find the server of a model and what it serves; nothing is generated.

    Args:
        cfg: the model, with `backend: vllm` and `served.base_url`; `path` is the checkpoint that the server runs.
        prompt: whether and how its chat template is used.
        cache_dir: where a GGUF file is converted to.

    Raises:
        ConfigError: the key's variable is empty, or the server has several models or another one.
        ModelError: nothing at `model.path`, or nobody listens.
    """
    import transformers

    key = ""
    if cfg.served.api_key_env and not (key := os.environ.get(cfg.served.api_key_env, "")):
        raise ConfigError(f"model.served.api_key_env={cfg.served.api_key_env}: that environment variable is empty")
    checkpoint = checkpoint_of(cfg, cache_dir)
    fmt = read_format(cfg, checkpoint, prompt)
    config = loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
    client = OpenAI(
        api_key=key or "none",
        base_url=cfg.served.base_url,
        timeout=cfg.served.timeout,
        max_retries=cfg.served.max_retries,
    )
    try:
        models = [one.model_dump() for one in client.models.list().data]
    except OpenAIError as error:
        raise ModelError(f"model.served.base_url={cfg.served.base_url}: {_said(error)}") from error
    chosen = _chosen(models, cfg, checkpoint)
    context = chosen.get("max_model_len")
    if isinstance(context, int) and context < fmt.max_length:
        fmt.max_length = context
    revision = getattr(config, "_commit_hash", None) or folder_digest(checkpoint)
    return VllmServer(
        fmt,
        checkpoint,
        revision,
        str(chosen["id"]),
        _version(client),
        config.get_text_config().vocab_size,
        f"served:{cfg.dtype.name}",
        max(1, cfg.served.concurrency),
        client,
    )


def _chosen(models: Sequence[Mapping[str, Any]], cfg: ModelConfig, checkpoint: Checkpoint) -> Mapping[str, Any]:
    """The entry of the server's list that is this checkpoint, by its id or the path that the server loaded."""
    own = {cfg.path, cfg.name, checkpoint.source}
    fitting = [one for one in models if {one.get("id"), str(one.get("root")).rstrip("/")} & own]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(str(one.get("id")) for one in models) or "nothing"
    raise ConfigError(
        f"model.served.base_url={cfg.served.base_url} serves {listed}, and model.path={cfg.path} is not "
        f"{'one' if not fitting else 'exactly one'} of them: start it with `--served-model-name {cfg.name}`, or set "
        "model.name to the name it has there"
    )


def _version(client: OpenAI) -> str:
    """The server's version, by its own route beside the API; empty if it has none."""
    try:
        root = str(client.base_url).rstrip("/").removesuffix("/v1")
        return str(client.with_options(max_retries=0).get(f"{root}/version", cast_to=dict[str, Any])["version"])
    except (OpenAIError, KeyError, TypeError, ValueError):
        return ""


def _id(token: str) -> int:
    return int(token.removeprefix(_AS_ID))


def _said(error: OpenAIError) -> str:
    if isinstance(error, APIStatusError):
        return f"status {error.status_code}: {' '.join(error.message.split())[:300]}"
    if isinstance(error, APIConnectionError):
        cause = error.__cause__
        return f"it cannot be reached ({type(cause).__name__ if cause else error}): is `vllm serve` running there?"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
