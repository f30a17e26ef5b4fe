"""A local model that vLLM runs in this process: greedy replies to token ids, and log-probabilities of the next token.

vLLM computes what prompts share once (prefix caching) and fills its batches itself. How a prompt is rendered and
tokenised, and what ends a reply, is ours. vLLM is no dependency of thinkgap and is imported only when it is used. Knows
no item and no mode.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thinkgap.backends.format import TextFormat, describe_format
from thinkgap.backends.load import checkpoint_of, loading, read_format
from thinkgap.backends.locate import Checkpoint, folder_digest
from thinkgap.backends.next_token import NextToken
from thinkgap.backends.weights import check_weights_digest
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import BackendKind, ModelConfig, PromptConfig

_UNBOUNDED = 10**9
"""Length that a format has where nothing bounds it."""
_FOR_TRANSFORMERS = ("device_map", "attn_implementation", "compile", "quantization", "random_weights")
"""Settings of a model that vLLM has no equal for, or under another name."""

_OURS = {"model", "tokenizer", "revision", "tokenizer_revision", "dtype", "trust_remote_code", "max_model_len"}
_OURS |= {"enable_prefix_caching", "skip_tokenizer_init"}
"""Arguments of `vllm.LLM` that `model.vllm` may not set."""


@dataclass(frozen=True)
class Completion:
    """What the model wrote after one prompt."""

    token_ids: tuple[int, ...]
    """Without the stop token."""
    finish: Literal["stop", "length"]
    """Whether it came to a stop token, or to the length cap."""
    first_token_id: int
    """The first token, also if it is a stop token."""


@dataclass(frozen=True)
class VllmModel:
    """A loaded model with its `TextFormat`. Make it with `load_vllm`."""

    fmt: TextFormat
    config: Any
    """The checkpoint's config."""
    generation_config: Any
    """Its generation config, of which only the end tokens are used; None if it has none."""
    checkpoint: Checkpoint
    revision: str
    version: str
    """Of vLLM."""
    arguments: Mapping[str, Any]
    """What `vllm.LLM` was made with, beside the model's place."""
    _engine: Any
    _sampling: Any
    """`vllm.SamplingParams`."""
    dtype: str = "auto"
    """Weight type that vLLM took."""
    can_read: bool = True
    """Whether this version gives log-probabilities of ids that are asked for."""

    def complete(
        self, prompts: Sequence[Sequence[int]], max_new_tokens: int, stop_ids: Collection[int]
    ) -> list[Completion]:
        """The greedy reply to each prompt, in their order.

        Args:
            prompts: token ids; each prompt leaves room for `max_new_tokens` more in `fmt.max_length`.
            max_new_tokens: longest reply, the stop token counted.
            stop_ids: tokens that end a reply, and nothing else does.

        Raises:
            ModelError: vLLM ended a reply for another reason, or answered other prompts.
        """
        # Its end tokens would be vLLM's own choice, and text is not needed.
        sampling = self._sampling(
            temperature=0.0,
            max_tokens=max_new_tokens,
            stop_token_ids=sorted(stop_ids),
            ignore_eos=True,
            detokenize=False,
        )
        asked = [{"prompt_token_ids": list(ids)} for ids in prompts]
        outputs = self._engine.generate(asked, sampling, use_tqdm=False)
        self._check_answered(asked, outputs)
        return [self._completion(output.outputs[0], stop_ids) for output in outputs]

    def read(
        self, prompts: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], *, fresh: bool = False
    ) -> list[NextToken]:
        """Log-probabilities of the token after each prompt, in their order.

        One new token is asked for with the ids that are wanted: log-probabilities of prompt tokens would compute every
        prompt anew, and the most probable twenty seldom hold all labels.

        Args:
            prompts: token ids; each prompt leaves room for one more in `fmt.max_length`.
            wanted: per prompt the ids to read, at most `MOST_IDS`.
            fresh: whether each prompt is computed alone and whole, nothing taken from the prefix cache.

        Raises:
            ModelError: vLLM gives no such log-probabilities, or answered other prompts.
        """
        asked = [{"prompt_token_ids": list(ids)} for ids in prompts]
        alone = {"skip_reading_prefix_cache": True} if fresh else {}
        settings = [
            self._sampling(temperature=0.0, max_tokens=1, logprob_token_ids=list(ids), detokenize=False, **alone)
            for ids in wanted
        ]
        batches = [[one] for one in range(len(asked))] if fresh else [list(range(len(asked)))]
        outputs = [
            output
            for batch in batches
            for output in self._engine.generate(
                [asked[one] for one in batch], [settings[one] for one in batch], use_tqdm=False
            )
        ]
        self._check_answered(asked, outputs)
        return [self._next(output.outputs[0], ids) for output, ids in zip(outputs, wanted, strict=True)]

    def _check_answered(self, asked: Sequence[Mapping[str, Any]], outputs: Sequence[Any]) -> None:
        found = [list(output.prompt_token_ids or ()) for output in outputs]
        if found != [one["prompt_token_ids"] for one in asked]:
            raise ModelError(f"vLLM {self.version} did not answer the prompts of {self.fmt.name} as they were given")

    def _next(self, written: Any, wanted: Sequence[int]) -> NextToken:
        given = {int(token): float(one.logprob) for token, one in (written.logprobs or [{}])[0].items()}
        top = int(written.token_ids[0])
        missing = sorted({top, *wanted} - set(given))
        if missing:
            raise ModelError(
                f"vLLM {self.version} gave no log-probability of token {missing[0]} of {self.fmt.name}, which "
                "was asked for"
            )
        return NextToken(top, given[top], {token: given[token] for token in wanted})

    def _completion(self, written: Any, stop_ids: Collection[int]) -> Completion:
        if written.finish_reason not in ("stop", "length"):
            raise ModelError(
                f"vLLM {self.version} ended a reply of {self.fmt.name} with {written.finish_reason!r} "
                f"({written.stop_reason}), which is neither a stop token nor the length cap"
            )
        tokens = tuple(map(int, written.token_ids))
        # Versions differ in whether the stop token is among the reply's.
        ended = bool(tokens) and tokens[-1] in stop_ids
        return Completion(
            tokens[:-1] if ended else tokens,
            "stop" if ended or written.finish_reason == "stop" else "length",
            tokens[0] if tokens else int(written.stop_reason),
        )

    def describe(self) -> dict[str, Any]:
        """What the manifest records of the model."""
        return {
            "path": self.checkpoint.origin,
            "revision": self.revision,
            "class": "vllm.LLM",
            "device": "vllm",
            "dtype": self.dtype,
            "vocab_size": self.config.get_text_config().vocab_size,
            "vllm": self.version,
            "arguments": dict(self.arguments),
            "max_length": self.fmt.max_length,
            **describe_format(self.fmt),
        }


def load_vllm(cfg: ModelConfig, prompt: PromptConfig, cache_dir: str) -> VllmModel:
    """Load a model into vLLM.

    Args:
        cfg: the model, with `backend: vllm`.
        prompt: whether and how its chat template is used.
        cache_dir: where a GGUF file is converted to.

    Raises:
        ConfigError: vLLM cannot be imported, or settings that it does not take.
        ModelError: nothing loadable at `model.path`, or vLLM does not load it.
    """
    _check(cfg)
    try:
        import vllm  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ConfigError(
            f"model.backend=vllm needs vLLM, which cannot be imported here ({error}): `pip install vllm`, or set "
            "model.backend=hf"
        ) from error
    import transformers

    checkpoint = checkpoint_of(cfg, cache_dir)
    check_weights_digest(cfg, checkpoint)
    fmt = read_format(cfg, checkpoint, prompt)
    config = loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
    try:
        generation = loading(transformers.GenerationConfig.from_pretrained, cfg, checkpoint)
    except ModelError:
        generation = None
    own = _own_arguments(cfg, fmt)
    pinned = {}
    if cfg.revision is not None and not checkpoint.local:
        pinned = {"revision": cfg.revision, "tokenizer_revision": cfg.revision}
    try:
        engine = vllm.LLM(model=checkpoint.source, tokenizer=checkpoint.source, **pinned, **own, **cfg.vllm)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"vLLM {vllm.__version__} cannot load model {cfg.name} from {cfg.path}: {reason}; see model.vllm, or set "
            "model.backend=hf"
        ) from error
    revision = getattr(config, "_commit_hash", None) or folder_digest(checkpoint)
    arguments = {**own, **cfg.vllm}
    took = getattr(getattr(engine, "model_config", None), "dtype", cfg.dtype.name)
    return VllmModel(
        fmt,
        config,
        generation,
        checkpoint,
        revision,
        vllm.__version__,
        arguments,
        engine,
        vllm.SamplingParams,
        str(took).removeprefix("torch."),
        "logprob_token_ids" in inspect.signature(vllm.SamplingParams).parameters,
    )


def _own_arguments(cfg: ModelConfig, fmt: TextFormat) -> dict[str, Any]:
    """Arguments of `vllm.LLM` that settings of ours stand for."""
    found = {"dtype": cfg.dtype.name, "trust_remote_code": cfg.trust_remote_code, "enable_prefix_caching": True}
    return found | ({"max_model_len": fmt.max_length} if fmt.max_length < _UNBOUNDED else {})


def _check(cfg: ModelConfig) -> None:
    if cfg.backend is not BackendKind.vllm:
        raise ConfigError(f"model={cfg.name} is not run by vLLM: set model.backend=vllm")
    for name in _FOR_TRANSFORMERS:
        value = getattr(cfg, name)
        if value is not None and value is not False:
            raise ConfigError(f"model.{name} is for model.backend=hf: take it out, or give vLLM's own in model.vllm")
    taken = sorted(_OURS & set(cfg.vllm))
    if taken:
        raise ConfigError(f"model.vllm sets {taken[0]!r}, which follows from a setting of ours: take it out")
