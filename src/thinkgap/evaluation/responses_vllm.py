"""Responses of a local model that vLLM runs in this process, asked and kept as those of any other local model.

Knows no reading of a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thinkgap.backends.vllm import VllmModel, load_vllm
from thinkgap.errors import ConfigError
from thinkgap.evaluation.asking import Asked, Loaded, ShownItems
from thinkgap.evaluation.describe import code_digest
from thinkgap.evaluation.generate import open_replies
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.evaluation.responses_local import Writing, ask_by, replies_folder
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.reply import OnReply, Reply
from thinkgap.scoring.stopping import end_ids

_PROMPTS = 1024
"""Prompts that vLLM is given at a time. It fills its batches from them; what it finished is kept after each call."""


def vllm_responses(cfg: EvaluateConfig, folder: Path, loaded: Loaded, shown: ShownItems) -> Asked:
    """Ask every item of every data set under every mode; see `local_responses`.

    A prompt has to leave room for the longest reply, because vLLM would cut a reply at the end of the context.

    Args:
        cfg: the settings.
        folder: of the run; gets replies where `evaluation.reuse=false`.
        loaded: the data sets.
        shown: how their items are shown.

    Raises:
        ThinkgapError: settings, data or a model that cannot be used, or vLLM is not installed.
    """
    quiet_libraries()
    if cfg.model.served.base_url:
        raise ConfigError(
            "replies of a vLLM server are asked for as those of any served model: set model.backend=api, as in "
            "model=qwen3_32b_vllm, or leave model.served.base_url out to run vLLM in this process"
        )
    with_image = sum(bool(item.images) for one in loaded.values() for item in one.items)
    if with_image:
        raise ConfigError(
            f"{with_image} items have images, and model.backend=vllm is given text only here: set dataset.images=none, "
            "or model.backend=hf"
        )
    model = load_vllm(cfg.model, cfg.prompt, cfg.paths.cache_dir)
    cap = cfg.evaluation.generation.max_new_tokens
    if cap >= model.fmt.max_length:
        raise ConfigError(
            f"evaluation.generation.max_new_tokens={cap} leaves no room for a prompt in the {model.fmt.max_length:,} "
            f"tokens that {cfg.model.name} takes: lower it"
        )
    writer = VllmWriter(model, cap, end_ids(model.fmt, model.config, model.generation_config), _PROMPTS)
    context = {
        "model": {"revision": model.revision, "arguments": {name: str(one) for name, one in model.arguments.items()}},
        "vllm": model.version,
        "code": code_digest("backends"),
    }
    store = open_replies(replies_folder(cfg, folder), cfg.model.name, writer, context)

    return ask_by(cfg, loaded, shown, model.fmt, lambda _: Writing(writer, store, model.describe), room=cap)


@dataclass
class _Counts:
    """How much was written, for the manifest."""

    replies: int = 0
    prompt_tokens: int = 0
    """Tokens of all prompts, each alone."""
    new_tokens: int = 0
    """Tokens of all replies, stop tokens left out."""


@dataclass
class VllmWriter:
    """Writes greedy replies by vLLM; to its callers it is as `scoring.decode.Decoder`."""

    model: VllmModel
    max_new_tokens: int
    """Longest reply, the stop token counted."""
    stop_ids: tuple[int, ...]
    """Tokens that end a reply."""
    batch_size: int
    """Prompts that vLLM is given at a time."""
    counts: _Counts = field(default_factory=_Counts)

    def decode(
        self, groups: Iterable[Sequence[PreparedPrompt]], on_reply: OnReply | None = None, *, ahead: int | None = None
    ) -> list[list[Reply]]:
        """The reply to every prompt, in the order given.

        Args:
            groups: prompts, those that share prefixes next to each other; may be built on the way.
            on_reply: told of each reply once.
            ahead: has no meaning here, as vLLM schedules what it is given.

        Raises:
            ModelError: vLLM ended a reply for no reason of ours.
        """
        found: list[list[Reply]] = []
        waiting: list[tuple[int, PreparedPrompt]] = []
        for number, group in enumerate(groups):
            found.append([])
            waiting += [(number, one) for one in group]
            if len(waiting) >= self.batch_size:
                self._write(waiting, found, on_reply)
                waiting = []
        self._write(waiting, found, on_reply)
        return found

    def describe(self) -> dict[str, Any]:
        """What the manifest records: how replies were made, and how much was computed."""
        return {
            "method": "vllm",
            "choice_of_tokens": "temperature 0",
            "max_new_tokens": self.max_new_tokens,
            "stop_ids": list(self.stop_ids),
        } | asdict(self.counts)

    def _write(
        self, waiting: Sequence[tuple[int, PreparedPrompt]], found: list[list[Reply]], on_reply: OnReply | None
    ) -> None:
        if not waiting:
            return
        prompts = [prepared.prompt for _, prepared in waiting]
        written = self.model.complete([one.input_ids for one in prompts], self.max_new_tokens, self.stop_ids)
        for (number, _), prompt, one in zip(waiting, prompts, written, strict=True):
            reply = Reply(prompt, one.token_ids, one.finish, (), one.first_token_id)
            found[number].append(reply)
            self.counts.replies += 1
            self.counts.prompt_tokens += len(prompt.input_ids)
            self.counts.new_tokens += len(one.token_ids)
            if on_reply is not None:
                on_reply(number, reply)
