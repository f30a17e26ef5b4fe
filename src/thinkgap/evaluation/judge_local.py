"""A judge that runs here: a chat model reads the same requests as a served one and writes its reply greedily.

Rendering and decoding are those of every other reply. Knows no label and no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2.exceptions import TemplateError

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError, PromptError
from thinkgap.evaluation.generate import reply_context
from thinkgap.evaluation.predict import device_of
from thinkgap.evaluation.prepare import load_model
from thinkgap.judging.ladder import JudgeReply
from thinkgap.judging.request import JudgeRequest
from thinkgap.judging.rubric import SYSTEM
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.schema import BackendKind, EvaluateConfig, JudgeConfig, PromptConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.stopping import stop_ids
from thinkgap.tracking.interrupts import ended_by_sigterm
from thinkgap.types import Condition, Item, Presentation, Request, Thinking

_CONDITION = Condition("judge", "trigger", Request.label, thinking=Thinking.disabled)


class LocalAsker:
    """An `Asker` that generates."""

    def __init__(self, cfg: JudgeConfig, run: EvaluateConfig, backend: HFBackend | None = None) -> None:
        """Load the judge's model.

        Args:
            cfg: the judge; its temperature is not used, as replies are greedy.
            run: where the model runs, and how many replies are written at a time.
            backend: the model of `cfg`, for a caller that has loaded it.

        Raises:
            ConfigError: a judge without a model, with a served one, or that is to be sampled.
            ThinkgapError: what `load_model` raises.
        """
        if not cfg.model.path or cfg.model.backend is not BackendKind.hf:
            raise ConfigError(f"judge={cfg.name} runs here: set judge.model to a local model, or judge.kind=served")
        if cfg.temperature:
            raise ConfigError(f"judge.temperature={cfg.temperature}: a local judge writes greedily; set 0 or null")
        self._cfg, self._backend = (
            cfg,
            backend or load_model(replace(run, model=cfg.model, prompt=PromptConfig(date=run.prompt.date))),
        )
        self._backend.to(device_of(run.trainer))
        self._batch = run.evaluation.generation.batch_size
        fmt = self._backend.fmt
        self._in_system = _takes_system(self._backend)
        system = SYSTEM if self._in_system else None
        self._builder = PromptBuilder(fmt, [_CONDITION], system=system)
        # A request about nothing: what all of them share, by this model's template and tokenizer.
        self._frame = self._prompt(JudgeRequest(()))
        self._method = choose_decoding(self._backend, [[self._frame]])
        self._stop = stop_ids(self._backend)
        self._tokens = {"prompt_tokens": 0, "new_tokens": 0}

    @property
    def asked(self) -> Mapping[str, Any]:
        """As `Asker.asked`."""
        return {**reply_context(self._decoder(1)), "frame": self._frame.prompt.sha256}

    @property
    def round_size(self) -> int:
        """As `Asker.round_size`."""
        return self._batch

    def admit(self, requests: Sequence[JudgeRequest]) -> None:
        """As `Asker.admit`: a model of one's own has no price, so only a budget that was asked for is refused.

        Raises:
            ConfigError: there is one.
        """
        if self._cfg.budget_tokens is not None:
            raise ConfigError("judge.budget_tokens is for served judges; a local one has none: leave it null")

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """As `Asker.ask`.

        Raises:
            ModelError: memory does not suffice for one request, or logits that are not finite.
        """
        replies: dict[int, JudgeReply] = {}
        prompts: dict[int, list[tuple[int, PreparedPrompt]]] = {}
        for number, request in enumerate(requests):
            try:
                # Limits depend on the number of items, and a decoder has one.
                prompts.setdefault(len(request.items), []).append((number, self._prompt(request)))
            except PromptError as error:
                replies[number] = JudgeReply(status="failed", reason=f"it cannot be shown to the judge: {error}")
        with ended_by_sigterm():
            for size, numbered in prompts.items():
                decoder = self._decoder(size)
                (written,) = decoder.decode([[prompt for _, prompt in numbered]])
                for (number, _), reply in zip(numbered, written, strict=True):
                    cut = reply.finish == "length"
                    text = self._backend.fmt.tokenizer.decode(list(reply.token_ids), skip_special_tokens=True)
                    replies[number] = JudgeReply(text, "truncated" if cut else "ok")
                self._tokens["prompt_tokens"] += decoder.counts.prompt_tokens
                self._tokens["new_tokens"] += decoder.counts.new_tokens
        return [replies[number] for number in range(len(requests))]

    def describe(self) -> dict[str, Any]:
        """As `Asker.describe`."""
        return {
            "model": self._backend.describe(),
            "decoding": self._decoder(1).describe(),
            "system_turn": self._in_system,
            "calls": dict(self._tokens),
        }

    def _decoder(self, items: int) -> Decoder:
        return Decoder(self._backend, self._cfg.max_new_tokens * items, self._batch, self._stop, self._method)

    def _prompt(self, request: JudgeRequest) -> PreparedPrompt:
        text = request.user() if self._in_system else f"{SYSTEM}\n\n{request.user()}"
        item = Item("judge", "judge", text, (), None, "open", "")
        (prepared,) = self._builder.build(Presentation(item, (), ()))
        return prepared


def _takes_system(backend: HFBackend) -> bool:
    """Whether the chat template has a system turn; some refuse one."""
    fmt = backend.fmt
    part: Any = [{"type": "text", "text": SYSTEM}] if fmt.is_vision else SYSTEM
    user: Any = [{"type": "text", "text": "q"}] if fmt.is_vision else "q"
    messages = [{"role": "system", "content": part}, {"role": "user", "content": user}]
    try:
        return SYSTEM in fmt.apply_template(messages, generation_prompt=True, thinking=Thinking.disabled)
    except TemplateError:
        return False
