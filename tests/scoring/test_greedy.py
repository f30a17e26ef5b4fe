"""When rows get and leave their places, on a cache that only counts: reply lengths are given, no model is run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from thinkgap.scoring import greedy
from thinkgap.scoring.greedy import Batch, Greedy, Row
from thinkgap.scoring.waiting import Places

STOP, GO = 0, 1


@dataclass
class CountedCache:
    """Per row its tokens so far, and how many it still writes before its stop token."""

    lengths: list[int]
    left: list[int]
    log: list[list[int]]
    """Lengths of the rows of every step."""

    @property
    def logits(self) -> torch.Tensor:
        return torch.nn.functional.one_hot(torch.tensor([GO if left > 0 else STOP for left in self.left]), 2).float()

    def step(self, tokens: Sequence[int]) -> None:
        assert len(tokens) == len(self.lengths)
        self.log.append(list(self.lengths))
        self.lengths = [one + 1 for one in self.lengths]
        self.left = [one - 1 for one in self.left]

    def keep(self, rows: Sequence[int]) -> None:
        self.lengths, self.left = [self.lengths[row] for row in rows], [self.left[row] for row in rows]

    def split(self, rows: Collection[int]) -> CountedCache:
        apart = CountedCache(self.lengths, self.left, self.log)
        apart.keep(sorted(rows))
        self.keep([row for row in range(len(self.left)) if row not in rows])
        return apart

    def join(self, other: CountedCache) -> None:
        self.lengths, self.left = self.lengths + other.lengths, self.left + other.left


@dataclass
class Given:
    """Prompts of one length whose replies have these lengths, in units of so many."""

    replies: list[int]
    size: int
    unit: int = 1
    prompt: int = 10
    taken: int = 0
    log: list[list[int]] = field(default_factory=list)

    def waiting(self) -> bool:
        return self.taken < len(self.replies)

    def take(self, rows: int) -> Batch[int]:
        stop = min(self.taken + -(-rows // self.unit) * self.unit, len(self.replies))
        own, self.taken = range(self.taken, stop), stop
        cache: Any = CountedCache([self.prompt] * len(own), [self.replies[one] for one in own], self.log)
        prompt: Any = None
        return Batch(cache, [Row(prompt, one) for one in own])


def written(given: Given, cap: int = 10_000) -> list[int]:
    """Numbers of the prompts in the order in which they end; each reply is what was given."""
    found = []
    for row, one in Greedy(given, cap, {STOP}):
        asked = given.replies[row.of]
        assert one.tokens == (GO,) * min(asked, cap)
        assert one.finish == ("stop" if asked < cap else "length")
        assert one.first == (GO if asked else STOP)
        found.append(row.of)
    assert sorted(found) == list(range(len(given.replies)))
    return found


def test_places_are_taken_as_they_get_free() -> None:
    """Two places, replies of 1, 4, 2, 1 and 0 tokens.

    A reply of n tokens and its stop token needs n steps. Steps 1: rows 0, 1; then 2 takes the place of 0. Steps 2, 3:
    1, 2; then 3. Step 4: 1, 3, which end together: 1 has had its 4 steps. The last needs none.
    """
    given = Given([1, 4, 2, 1, 0], size=2)
    assert written(given) == [0, 2, 1, 3, 4]
    assert given.log == [[10, 10], [11, 10], [12, 11], [13, 10]]


def test_one_long_reply_does_not_hold_the_batch() -> None:
    """Four places; one reply of 60 tokens and 57 of 3: 57 x 3 = 171 steps of a row fit beside the long one's in 60."""
    given = Given([60] + [3] * 57, size=4)
    assert written(given)[-1] == 0
    assert len(given.log) == 60
    assert [len(one) for one in given.log[:57]] == [4] * 57, "19 threes on three places"


def test_several_rows_are_replaced_at_once() -> None:
    """Of 32 places, four have to be free: each takes a token longer than the one before."""
    given = Given([1 + one for one in range(32)] + [1] * 32, size=32)
    takes: list[int] = []
    take = given.take
    given.take = lambda rows: takes.append(rows) or take(rows)
    written(given)
    assert takes[:2] == [32, 4]
    assert min(takes) >= 4


def test_prompts_that_belong_together_are_computed_together() -> None:
    """Units of three on four places: the places are full although no multiple of three is four."""
    given = Given([5] * 12, size=4, unit=3)
    written(given)
    assert [len(one) for one in given.log] == [4] * 15
    # The first call takes two units, of which two rows wait for the next round.
    assert given.log[5] == [10] * 4


@pytest.mark.parametrize("size", [1, 3])
def test_the_cap(size: int) -> None:
    given = Given([9, 1, 0, 4, 3], size=size)
    written(given, cap=4)
    assert max(map(max, given.log)) == 10 + 2, "four tokens need three steps, the first with ten in the cache"


def test_long_rows_are_set_aside_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four places, one long reply, then many short ones; without this all rows would be as wide as the long one.

    Beside three rows of 10 to 12 tokens it is more than twice the mean from 31 to 37 on: L > 2 (L + 3 x 12) / 4.
    """
    monkeypatch.setattr(greedy, "_LONG_FROM", 20)
    given = Given([200] + [2] * 399, size=4)
    assert written(given)[-1] == 0
    beside = [max(one) for one in given.log if len(one) > 1]
    assert 30 < max(beside[:260]) < 40
    # 200 + 399 x 2 = 998 steps of rows. The long one has few that are its own: those after all others have ended.
    assert sum(map(len, given.log)) == 998
    assert 998 / 4 <= len(given.log) <= 998 / 4 + 3 / 4 * 200
    assert max(map(len, given.log)) == 4


def test_long_rows_take_their_turn_when_they_fill_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reply of 25 is long: four of those are a batch of their own, until half of them have ended."""
    monkeypatch.setattr(greedy, "_LONG_FROM", 20)
    given = Given(([100] + [2] * 24) * 16, size=4)
    order = written(given)
    assert order.index(0) < len(order) / 2, "long before the end"
    assert any(len(one) == 4 and min(one) > 40 for one in given.log)

    def held(log: Sequence[Sequence[int]]) -> int:
        return sum(max(one) * len(one) for one in log)

    assert held(given.log) < 2 * sum(map(sum, given.log)), "with padding, and without"
    monkeypatch.setattr(greedy, "_LONG_FROM", 10_000)
    beside = Given(given.replies, size=4)
    written(beside)
    assert held(beside.log) > 1.2 * held(given.log)


def test_fewer_places_where_memory_does_not_suffice() -> None:
    """Of 8, 7 are used when it fails: 3; after 8 x 3 replies 6, after 8 x 6 all that were asked for."""
    places = Places(8)
    places.halve(7)
    seen = [places.now]
    for _ in range(24 + 48):
        places.one_ended()
        seen.append(places.now)
    assert seen == [3] * 24 + [6] * 48 + [8]
    for wanted in (4, 2, 1, 1):
        places.halve(8)
        assert places.now == wanted
