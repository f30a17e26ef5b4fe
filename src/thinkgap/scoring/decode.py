"""Greedy replies to groups of prompts that share prefixes, token for token those of the model's `generate`.

Greedy is the argmax of the raw logits: a checkpoint's own repetition penalty, forced or suppressed tokens and sampling
are not applied. Knows no file, and not what a reply means.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import PromptError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.decode_cache import prefill
from thinkgap.scoring.decode_plain import generate_plain, shape
from thinkgap.scoring.greedy import write_greedily
from thinkgap.scoring.memory import in_halves
from thinkgap.scoring.packed import Planned, plan_prompts
from thinkgap.scoring.plain import too_large
from thinkgap.scoring.readings import read_labels
from thinkgap.scoring.reply import OnReply, Place, Replies, Reply
from thinkgap.scoring.stopping import ignored_settings

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


@dataclass(frozen=True)
class _Unit:
    """Prompts of one group that are computed together."""

    planned: Planned
    places: tuple[Place, ...]


@dataclass
class Decoder:
    """Writes greedy replies with one model."""

    backend: HFBackend
    max_new_tokens: int
    """Longest reply, the stop token counted."""
    batch_size: int
    """Prompts that are continued at once."""
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

    def decode(self, groups: Sequence[Sequence[PreparedPrompt]], on_reply: OnReply | None = None) -> list[list[Reply]]:
        """The reply to every prompt, in the order given.

        Args:
            groups: prompts that share prefixes, those of one item say; images of a group are encoded once.
            on_reply: told of each reply once, in the order in which they finish.

        Raises:
            ModelError: memory does not suffice for one prompt, or logits that are not finite.
        """
        found = Replies(groups, on_reply)
        units: list[_Unit] = []
        alone: list[Place] = []
        for number, group in enumerate(groups):
            places = [(number, index) for index in range(len(group))]
            planned = self._planned(group)
            if planned is None:
                alone += places
            elif len(group) > self.batch_size:
                units += self._divided(_Unit(planned, tuple(places)), self.batch_size)
            else:
                units.append(_Unit(planned, tuple(places)))
        # Similar lengths share a batch; the longest first, so that what does not fit fails at once.
        units.sort(key=lambda unit: -int(unit.planned.trie.depths.max()))
        for batch in self._batches(units):
            in_halves(batch, lambda part: self._shared(part, found), lambda one, error: self._split(one, error, found))
        asked = [(place, groups[place[0]][place[1]]) for place in alone]
        asked.sort(key=lambda pair: shape(pair[1]), reverse=True)
        for _, same in groupby(asked, key=lambda pair: shape(pair[1])):
            equal = list(same)
            for start in range(0, len(equal), self.batch_size):
                batch = equal[start : start + self.batch_size]
                in_halves(batch, lambda part: self._plain(part, found), lambda one, error: too_large(one[1], error))
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

    def _planned(self, group: Sequence[PreparedPrompt]) -> Planned | None:
        """The trie of a group, or None if its prefixes are not shared."""
        if self.method.name == "plain" or not group:
            return None
        try:
            return plan_prompts(self.backend, group)
        except PromptError as error:
            log.warning("item %s is continued plainly: %s", group[0].prompt.presentation.item.id, error)
            return None

    def _batches(self, ordered: Sequence[_Unit]) -> list[list[_Unit]]:
        batches: list[list[_Unit]] = []
        room = 0
        for unit in ordered:
            if not batches or len(unit.places) > room:
                batches.append([])
                room = self.batch_size
            batches[-1].append(unit)
            room -= len(unit.places)
        return batches

    def _divided(self, unit: _Unit, size: int) -> list[_Unit]:
        """The same prompts in units of at most `size`; neighbours in the trie, which share most, stay together."""
        order = unit.planned.trie.reads.argsort(kind="stable").tolist()
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        return [
            _Unit(
                plan_prompts(self.backend, [unit.planned.prompts[index] for index in part]),
                tuple(unit.places[index] for index in part),
            )
            for part in parts
        ]

    def _split(self, unit: _Unit, error: Exception, found: Replies) -> None:
        """A unit too large for the memory, in halves that share less."""
        if len(unit.places) == 1:
            too_large(unit.planned.prompts[0], error)
        for half in self._divided(unit, (len(unit.places) + 1) // 2):
            in_halves(
                [half], lambda part: self._shared(part, found), lambda one, failed: self._split(one, failed, found)
            )

    def _shared(self, batch: Sequence[_Unit], found: Replies) -> list[None]:
        rows, row_of = prefill(self.backend, [unit.planned for unit in batch])
        prompts = [prepared.prompt for unit in batch for prepared in unit.planned.prompts]
        places = [place for unit in batch for place in unit.places]
        readings = read_labels(rows.logits[row_of], prompts)
        asked: list[list[int]] = [[] for _ in range(len(rows.logits))]
        for number, row in enumerate(row_of):
            asked[row].append(number)
        one_of = [prompts[numbers[0]] for numbers in asked]
        for one in write_greedily(rows, one_of, self.max_new_tokens, self.stop_ids):
            for number in asked[one.row]:
                reading = readings[number].label_logprobs
                found.add(places[number], Reply(prompts[number], one.tokens, one.finish, reading, one.first))
        self.counts.computed_prompt_tokens += sum(unit.planned.levels.tokens for unit in batch)
        return [None] * len(batch)

    def _plain(self, batch: Sequence[tuple[Place, PreparedPrompt]], found: Replies) -> list[None]:
        prepared = [one for _, one in batch]
        written, logits = generate_plain(self.backend, prepared, self.max_new_tokens, self.stop_ids)
        prompts = [one.prompt for one in prepared]
        readings = read_labels(logits, prompts)
        for (place, _), prompt, reading, one in zip(batch, prompts, readings, written, strict=True):
            found.add(place, Reply(prompt, one.tokens, one.finish, reading.label_logprobs, one.first))
        self.counts.computed_prompt_tokens += sum(len(prompt.input_ids) for prompt in prompts)
        return [None] * len(batch)
