"""Greedy replies to groups of prompts that share prefixes, token for token those of the model's `generate`.

Greedy is the argmax of the raw logits: a checkpoint's own repetition penalty, forced or suppressed tokens and sampling
are not applied. Knows no file, and not what a reply means.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal

import torch

from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.decode_cache import prefill
from thinkgap.scoring.decode_plain import generate_plain, shape
from thinkgap.scoring.greedy import Batch, Greedy, Row
from thinkgap.scoring.memory import in_halves, is_out_of_memory, release
from thinkgap.scoring.plain import too_large
from thinkgap.scoring.readings import read_labels
from thinkgap.scoring.reply import OnReply, Place, Replies, Reply
from thinkgap.scoring.stopping import ignored_settings
from thinkgap.scoring.waiting import Places, Waiting, plans_of
from thinkgap.types import Prompt

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Method:
    """How replies are computed, and why so."""

    name: Literal["shared", "plain"]
    reason: str = ""
    error: float | None = None
    """Largest difference to plain logits that was measured, relative to the largest logit."""


@dataclass
class Counts:
    """How much was computed, for the manifest."""

    replies: int = 0
    prompt_tokens: int = 0
    """Tokens of all prompts, each alone."""
    computed_prompt_tokens: int = 0
    """Tokens of prompts that went through the model, padding left out."""
    new_tokens: int = 0
    """Tokens of all replies, stop tokens left out."""


@dataclass
class Decoder:
    """Writes greedy replies with one model."""

    backend: HFBackend
    max_new_tokens: int
    """Longest reply, the stop token counted."""
    batch_size: int
    """Prompts that are continued at once; when a reply ends, another prompt takes its place."""
    stop_ids: tuple[int, ...]
    """Tokens that end a reply (`stopping.stop_ids`)."""
    method: Method
    """As `decode_check.choose_decoding` gives it."""
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.batch_size < 1:
            raise ValueError(f"{self.max_new_tokens=} and {self.batch_size=} must be at least 1")
        if ignored := ignored_settings(self.backend.model):
            log.info(
                "replies of %s are the argmax of its raw logits; %s of its generation config is not applied",
                self.backend.fmt.name,
                ", ".join(f"{name}={value}" for name, value in ignored.items()),
            )

    def decode(
        self, groups: Iterable[Sequence[PreparedPrompt]], on_reply: OnReply | None = None, *, ahead: int | None = None
    ) -> list[list[Reply]]:
        """The reply to every prompt, in the order given.

        Args:
            groups: prompts that share prefixes, those of one item say; images of a group are encoded once. They may be
                built on the way.
            on_reply: told of each reply once, in the order in which they finish.
            ahead: how many prompts are looked through for similar lengths; `groups` is gone through by so many at a
                time, when the prompts are needed. None looks through all.

        Raises:
            ModelError: memory does not suffice for one prompt, or logits that are not finite.
        """
        found = Replies(on_reply)
        placed = ((found.expect(len(group)), group) for group in groups)
        waiting = Waiting(self.backend, placed, found, ahead, shared=self.method.name == "shared")
        places = Places(self.batch_size)
        while waiting.any() or waiting.alone:
            self._continue(waiting, places, found)
            self._alone(waiting, found)
        replies = found.in_order()
        for reply in (one for group in replies for one in group):
            self.counts.replies += 1
            self.counts.prompt_tokens += len(reply.prompt.input_ids)
            self.counts.new_tokens += len(reply.token_ids)
        return replies

    def describe(self) -> dict[str, Any]:
        """What the manifest records: how replies were made, and how much was computed."""
        return {
            "method": self.method.name,
            "reason": self.method.reason,
            "check_error": self.method.error,
            "choice_of_tokens": "argmax of the raw logits",
            "ignored_generation_config": ignored_settings(self.backend.model),
            "max_new_tokens": self.max_new_tokens,
            "stop_ids": list(self.stop_ids),
            "batch_size": self.batch_size,
        } | asdict(self.counts)

    def _continue(self, waiting: Waiting, places: Places, found: Replies) -> None:
        """All that waits, on fewer places where memory does not suffice."""
        while waiting.any():
            try:
                for row, written in Greedy(_Source(self, waiting, places), self.max_new_tokens, self.stop_ids):
                    for one in row.of:
                        reply = Reply(one.prompt, written.tokens, written.finish, one.labels, written.first)
                        found.add(one.place, reply)
                        places.one_ended()
                return
            except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
                if waiting.broken or not is_out_of_memory(error):
                    raise
                # The traceback keeps the failed pass's tensors alive.
                failed = error.with_traceback(None)
            release()
            back = waiting.put_back()
            if len(back) == 1:
                too_large(back[0], failed)
            places.halve(len(back))
            log.info("out of memory on %d prompts: going on with %d at a time", len(back), places.now)

    def _alone(self, waiting: Waiting, found: Replies) -> None:
        """The prompts that share no cache, by their shape."""
        asked = sorted(waiting.alone, key=lambda pair: shape(pair[1]), reverse=True)
        waiting.alone.clear()
        for _, same in groupby(asked, key=lambda pair: shape(pair[1])):
            equal = list(same)
            for start in range(0, len(equal), self.batch_size):
                batch = equal[start : start + self.batch_size]
                in_halves(batch, lambda part: self._plain(part, found), lambda one, error: too_large(one[1], error))

    def _plain(self, batch: Sequence[tuple[Place, PreparedPrompt]], found: Replies) -> list[None]:
        prepared = [one for _, one in batch]
        written, logits = generate_plain(self.backend, prepared, self.max_new_tokens, self.stop_ids)
        prompts = [one.prompt for one in prepared]
        readings = read_labels(logits, prompts)
        for (place, _), prompt, reading, one in zip(batch, prompts, readings, written, strict=True):
            found.add(place, Reply(prompt, one.tokens, one.finish, reading.label_logprobs, one.first))
        self.counts.computed_prompt_tokens += sum(len(prompt.input_ids) for prompt in prompts)
        return [None] * len(batch)


@dataclass(frozen=True)
class _Asked:
    """A prompt that a row stands for."""

    place: Place
    prompt: Prompt
    labels: tuple[float, ...]
    """As `Reply.label_logprobs`."""


@dataclass
class _Source:
    """Prompts that wait, as rows; equal prompts of a group share one."""

    decoder: Decoder
    prompts: Waiting
    places: Places

    @property
    def size(self) -> int:
        return self.places.now

    def waiting(self) -> bool:
        return self.prompts.any()

    def take(self, rows: int) -> Batch[list[_Asked]]:
        backend = self.decoder.backend
        plans = plans_of(backend, self.prompts.take(rows, self.size))
        cache, row_of = prefill(backend, [planned for planned, _ in plans])
        prompts = [prepared.prompt for planned, _ in plans for prepared in planned.prompts]
        places = [place for _, own in plans for place in own]
        readings = read_labels(cache.logits[row_of], prompts)
        asked: list[list[_Asked]] = [[] for _ in range(len(cache.logits))]
        for row, place, prompt, reading in zip(row_of, places, prompts, readings, strict=True):
            asked[row].append(_Asked(place, prompt, reading.label_logprobs))
        self.decoder.counts.computed_prompt_tokens += sum(planned.levels.tokens for planned, _ in plans)
        return Batch(cache, [Row(own[0].prompt, own) for own in asked])
