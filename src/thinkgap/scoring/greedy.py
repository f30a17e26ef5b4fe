"""The most probable token, again and again, for the rows of a cache; a row that ends makes room for the next prompt.

Rows come from a source, a few at a time, and are computed there. Knows no group, no image, and not where a prompt is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.readings import not_finite
from thinkgap.scoring.reply import Finish
from thinkgap.types import Prompt

# Rows that have ended are computed on until so large a share of the places is theirs: replacing them copies the others,
# which takes half as long as a step, and passes over few prompts waste an accelerator.
_REPLACED_AT = 1 / 8
# Every row is as wide as the longest. While prompts wait, a row that is so many times as long as the mean is continued
# later, with others like it; up to so many tokens the padding costs less than a step's fixed part.
_LONG = 2
_LONG_FROM = 512

Of = TypeVar("Of")


@dataclass(frozen=True)
class Written:
    """What a row came to."""

    tokens: tuple[int, ...]
    """Without the stop token."""
    finish: Finish
    first: int
    """The first token, also if it is a stop token."""


@dataclass
class Row(Generic[Of]):
    """A row of a cache, and what was written behind its prompt."""

    prompt: Prompt
    """For messages."""
    of: Of
    """Whatever the source wants to know it by."""
    tokens: list[int] = field(default_factory=list)
    """The last of them is not in the cache yet."""
    ended: bool = False


@dataclass
class Batch(Generic[Of]):
    """Rows that go on together."""

    cache: Continued
    rows: list[Row[Of]]

    @property
    def live(self) -> list[int]:
        """Places of rows that have not ended."""
        return [place for place, row in enumerate(self.rows) if not row.ended]

    def choose(self, max_new_tokens: int, stop_ids: Collection[int]) -> Iterator[tuple[Row[Of], Written]]:
        """Give every row its next token; those that end with it."""
        for row, token in zip(self.rows, _most_probable(self.cache.logits), strict=True):
            if row.ended:
                continue
            if token < 0:
                raise not_finite(row.prompt, f" after {len(row.tokens)} tokens of its reply")
            row.tokens.append(token)
            end = ending(row.tokens, max_new_tokens, stop_ids)
            if end is not None:
                row.ended = True
                yield row, Written(*end, row.tokens[0])

    def step(self) -> None:
        """Compute the logits behind the last token of every row."""
        self.cache.step([row.tokens[-1] for row in self.rows])

    def keep(self, places: Sequence[int]) -> Batch[Of] | None:
        """These rows only; None without any."""
        if not places:
            return None
        if len(places) < len(self.rows):
            self.cache.keep(places)
            self.rows = [self.rows[place] for place in places]
        return self

    def split(self, places: Collection[int]) -> Batch[Of]:
        """These rows by themselves; the others stay."""
        apart = Batch(self.cache.split(places), [self.rows[place] for place in sorted(places)])
        self.rows = [row for place, row in enumerate(self.rows) if place not in places]
        return apart


class Source(Protocol[Of]):
    """Where rows come from."""

    @property
    def size(self) -> int:
        """Rows that are continued at once; may change."""
        ...

    def waiting(self) -> bool:
        """Whether prompts wait."""
        ...

    def take(self, rows: int) -> Batch[Of]:
        """Prompts that wait, computed: so many rows, fewer of the last, or more of prompts that belong together."""
        ...


@dataclass
class Greedy(Generic[Of]):
    """Writes behind all rows of a source; iterate it once."""

    source: Source[Of]
    max_new_tokens: int
    stop_ids: Collection[int]
    _batch: Batch[Of] | None = None
    _ready: Batch[Of] | None = None
    """Computed with others, without a place yet."""
    _long: Batch[Of] | None = None
    """Set aside until there are enough for a batch, or nothing else is left."""
    _interrupted: Batch[Of] | None = None
    """What the batch was before long rows had their turn."""

    def __iter__(self) -> Iterator[tuple[Row[Of], Written]]:
        """Each row as soon as it has ended.

        Raises:
            ModelError: logits that are not finite.
        """
        while True:
            yield from self._refill()
            if self._batch is None:
                return
            self._batch.step()
            yield from self._batch.choose(self.max_new_tokens, self.stop_ids)

    def _refill(self) -> Iterator[tuple[Row[Of], Written]]:
        """Replace rows that ended, if they are enough."""
        live = self._batch.live if self._batch else []
        waits = self._interrupted is None and (self._ready is not None or self.source.waiting())
        places = self.source.size if waits or self._batch is None else len(self._batch.rows)
        if live and places - len(live) < _REPLACED_AT * places:
            return
        if self._batch is not None:
            if waits:
                self._set_aside(self._batch)
            self._batch = self._batch.keep(self._batch.live)
        if self._interrupted is not None:
            if len(live) > self.source.size // 2:
                return
            self._long, self._batch, self._interrupted = self._batch, self._interrupted, None
        while (vacant := self.source.size - self._used) > 0 and (new := self._next(vacant)) is not None:
            yield from new.choose(self.max_new_tokens, self.stop_ids)
            if (begun := new.keep(new.live)) is not None:
                self._batch = _joined(self._batch, begun)
        self._turn()

    def _next(self, rows: int) -> Batch[Of] | None:
        """At most so many rows that have no token yet; None if nothing waits."""
        if self._ready is None:
            if not self.source.waiting():
                return None
            self._ready = self.source.take(rows)
        if len(self._ready.rows) > rows:
            return self._ready.split(range(rows))
        new, self._ready = self._ready, None
        return new

    def _set_aside(self, batch: Batch[Of]) -> None:
        """Rows that are far longer than the others, those that have just ended among them."""
        lengths = batch.cache.lengths
        bound = max(_LONG_FROM, _LONG * sum(lengths) / len(lengths))
        long = {place for place in batch.live if lengths[place] > bound}
        if long:
            self._long = _joined(self._long, batch.split(long))

    def _turn(self) -> None:
        """Long rows go on if they fill a batch, or if nothing waits and they have room beside or after the others."""
        if self._long is None:
            return
        waits = self._ready is not None or self.source.waiting()
        if len(self._long.rows) >= self.source.size:
            self._interrupted, self._batch, self._long = self._batch, self._long, None
        elif not waits and self._used + len(self._long.rows) <= self.source.size:
            self._batch, self._long = _joined(self._batch, self._long), None

    @property
    def _used(self) -> int:
        return len(self._batch.rows) if self._batch else 0


def ending(
    tokens: Sequence[int], max_new_tokens: int, stop_ids: Collection[int]
) -> tuple[tuple[int, ...], Finish] | None:
    """A reply without its stop token, and how it ends; None while it goes on. No token but the last may be a stop."""
    if tokens[-1] in stop_ids:
        return tuple(tokens[:-1]), "stop"
    return (tuple(tokens), "length") if len(tokens) == max_new_tokens else None


def _joined(one: Batch[Of] | None, other: Batch[Of]) -> Batch[Of]:
    if one is None:
        return other
    one.cache.join(other.cache)
    return Batch(one.cache, one.rows + other.rows)


def _most_probable(logits: Tensor) -> list[int]:
    """Per row the most probable token, of equal ones the first; -1 where the logits are not finite."""
    tokens = logits.argmax(-1)
    # NaN and +inf are what argmax finds, so the row needs no look of its own.
    best = logits.gather(-1, tokens[:, None])[:, 0]
    return torch.where(best.isfinite(), tokens, -1).tolist()
