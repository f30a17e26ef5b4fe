"""Prompts that wait for a place: planned a block at a time, those of similar length one after the other.

Knows no cache and no token that is written; it is told which prompts have their reply.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import PromptError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.packed import Planned, plan_prompts
from thinkgap.scoring.reply import Place

log = logging.getLogger(__name__)

Placed = tuple[list[Place], Sequence[PreparedPrompt]]
# After memory did not suffice, replies per place until twice the places are tried: rarely enough to waste little,
# and one prompt that is too large does not slow down a whole run.
_AGAIN = 8


@dataclass(frozen=True)
class Unit:
    """Prompts of one group that are computed together."""

    planned: Planned
    places: tuple[Place, ...]


@dataclass
class Waiting:
    """Prompts in the order in which they get a place."""

    backend: HFBackend
    groups: Iterator[Placed]
    """Gone through when prompts are needed."""
    found: Container[Place]
    """Prompts that have their reply."""
    ahead: int | None
    """Prompts that are looked through for similar lengths, and so held at once; None: all."""
    shared: bool
    """Whether prefixes may be shared at all."""
    alone: list[tuple[Place, PreparedPrompt]] = field(default_factory=list)
    """Prompts that cannot share a cache. While there are `ahead` of them, no others are looked for."""
    broken: bool = False
    """Whether an error came while prompts were looked for, after which `groups` cannot be gone on with."""
    _units: deque[Unit] = field(default_factory=deque)
    _taken: list[Unit] = field(default_factory=list)
    _blocks: int = 0
    _exhausted: bool = False

    def any(self) -> bool:
        """Whether prompts wait, after looking for further ones."""
        while not self._units and not self._exhausted and (self.ahead is None or len(self.alone) < self.ahead):
            self._look_ahead()
        return bool(self._units)

    def take(self, prompts: int, most: int) -> list[Unit]:
        """Units that have so many prompts at least, if so many wait, and none of them more than `most`."""
        self._taken = [unit for unit in self._taken if any(place not in self.found for place in unit.places)]
        taken: list[Unit] = []
        while prompts > 0 and self.any():
            parts = _divided(self.backend, self._units[0], most)
            self._units.popleft()
            self._units.extendleft(reversed(parts[1:]))
            self._taken.append(parts[0])
            taken.append(parts[0])
            prompts -= len(parts[0].places)
        return taken

    def put_back(self) -> list[PreparedPrompt]:
        """What was taken and has no reply comes first again; its prompts."""
        back: list[Unit] = []
        for unit in self._taken:
            left = [number for number, place in enumerate(unit.places) if place not in self.found]
            if left:
                back.append(_part(self.backend, unit, left))
        self._units.extendleft(reversed(back))
        self._taken = []
        return [prompt for unit in back for prompt in unit.planned.prompts]

    def _look_ahead(self) -> None:
        self.broken = True
        found: list[Unit] = []
        prompts = 0
        while self.ahead is None or prompts < self.ahead:
            one = next(self.groups, None)
            if one is None:
                self._exhausted = True
                break
            places, group = one
            prompts += len(group)
            planned = self._planned(group)
            if planned is not None:
                found.append(Unit(planned, tuple(places)))
            else:
                self.alone += zip(places, group, strict=True)
        # The longest first, so that what does not fit fails at once; then to and fro, so that the last of a block are
        # still continued with prompts of their own length.
        found.sort(key=lambda unit: int(unit.planned.trie.depths.max()), reverse=self._blocks % 2 == 0)
        self._units += found
        self._blocks += 1
        self.broken = False

    def _planned(self, group: Sequence[PreparedPrompt]) -> Planned | None:
        """The trie of a group, or None if its prefixes are not shared."""
        if not self.shared or not group:
            return None
        try:
            return plan_prompts(self.backend, group)
        except PromptError as error:
            log.warning("item %s is continued plainly: %s", group[0].prompt.presentation.item.id, error)
            return None


@dataclass
class Places:
    """How many rows are continued at once: as asked for, or fewer where memory does not suffice."""

    asked: int
    now: int = field(init=False)
    _until_more: int = 0

    def __post_init__(self) -> None:
        self.now = self.asked

    def halve(self, used: int) -> None:
        """Memory did not suffice for so many prompts."""
        self.now = max(1, min(self.now, used) // 2)
        self._until_more = _AGAIN * self.now

    def one_ended(self) -> None:
        """A reply is there."""
        if self.now < self.asked:
            self._until_more -= 1
            if self._until_more <= 0:
                self.now = min(self.asked, 2 * self.now)
                self._until_more = _AGAIN * self.now


def plans_of(backend: HFBackend, units: Iterable[Unit]) -> list[tuple[Planned, list[Place]]]:
    """What to compute for units: single prompts in words share one plan, which has fewer passes."""
    single: list[Unit] = []
    plans: list[tuple[Planned, list[Place]]] = []
    for unit in units:
        if len(unit.places) == 1 and not unit.planned.prompts[0].prompt.images:
            single.append(unit)
        else:
            plans.append((unit.planned, list(unit.places)))
    if single:
        joined = plan_prompts(backend, [unit.planned.prompts[0] for unit in single])
        plans.append((joined, [unit.places[0] for unit in single]))
    return plans


def _divided(backend: HFBackend, unit: Unit, most: int) -> list[Unit]:
    """The same prompts in units of at most `most`; neighbours in the trie, which share most, stay together."""
    if len(unit.places) <= most:
        return [unit]
    order = unit.planned.trie.reads.argsort(kind="stable").tolist()
    return [_part(backend, unit, order[start : start + most]) for start in range(0, len(order), most)]


def _part(backend: HFBackend, unit: Unit, numbers: Sequence[int]) -> Unit:
    if len(numbers) == len(unit.places):
        return unit
    planned = plan_prompts(backend, [unit.planned.prompts[number] for number in numbers])
    return Unit(planned, tuple(unit.places[number] for number in numbers))
