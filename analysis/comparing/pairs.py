"""The same figure of two runs on the items that both have: difference, interval, McNemar's counts, flips. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.comparing.scores import Kind, Scores
from thinkgap import metrics
from thinkgap.metrics import Estimate


@dataclass(frozen=True)
class Compared:
    """One figure at one place, B minus A."""

    figure: str
    place: str
    kind: Kind
    first: float
    """Of A, over the items that both have; NaN without any."""
    second: float
    """Of B."""
    difference: Estimate
    """Mean of the differences by item with its 95% interval, clustered by group; `n` counts the items."""
    p_value: float
    """McNemar's p of a rate; NaN for other kinds."""
    b: int
    """Items with 1 in A and 0 in B; of rates, as the next."""
    c: int
    only_first: int
    """Items that the figure counts in A alone."""
    only_second: int
    lost: tuple[str, ...]
    """The `b` items, and the `c` items, by name."""
    gained: tuple[str, ...]
    other_gold: int
    """Items whose right answer differs; they are compared all the same."""

    @property
    def key(self) -> tuple[str, str]:
        """Figure and place."""
        return (self.figure, self.place)

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes 0.

        Where all items differ by the same amount, no interval is determined: a difference other than 0 then counts by
        McNemar's p below 0.05 if it is of a rate, and always if it is not, so that a check does not pass for want of
        an interval.
        """
        value, low, high = self.difference.value, self.difference.low, self.difference.high
        if not math.isnan(low):
            return low > 0 or high < 0
        if math.isnan(value) or value == 0:
            return False
        return self.kind != "rate" or self.p_value < 0.05


def compare(first: Scores, second: Scores) -> Compared:
    """The figure of `second` minus that of `first`, paired by item.

    Args:
        first: of run A.
        second: the same figure and place of run B.
    """
    own, other = _counted(first), _counted(second)
    # In one order whichever run comes first, so that the figures of B minus A are minus those of A minus B.
    shared = sorted(own.keys() & other.keys())
    at, to = np.array([own[item] for item in shared], int), np.array([other[item] for item in shared], int)
    before, after, groups = first.value[at], second.value[to], first.group[at]
    difference, p_value, lost, gained = _difference(before, after, groups, first.kind)
    return Compared(
        first.figure,
        first.place,
        first.kind,
        float(before.mean()) if len(shared) else math.nan,
        float(after.mean()) if len(shared) else math.nan,
        difference,
        p_value,
        len(lost),
        len(gained),
        len(own) - len(shared),
        len(other) - len(shared),
        tuple(shared[place] for place in lost),
        tuple(shared[place] for place in gained),
        int(np.sum(first.gold[at] != second.gold[to])),
    )


def compare_all(
    first: Mapping[tuple[str, str], Scores], second: Mapping[tuple[str, str], Scores]
) -> tuple[list[Compared], list[tuple[str, str]], list[tuple[str, str]]]:
    """Figures that both runs have, in A's order; then the keys that only A, and only B, has."""
    both = [compare(one, second[key]) for key, one in first.items() if key in second]
    return both, [key for key in first if key not in second], [key for key in second if key not in first]


def _counted(scores: Scores) -> dict[str, int]:
    """Item -> its row, of the rows that the figure counts."""
    return {item: place for place, item in enumerate(scores.item) if not math.isnan(scores.value[place])}


def _difference(
    before: NDArray[np.float64], after: NDArray[np.float64], groups: NDArray[np.object_], kind: Kind
) -> tuple[Estimate, float, NDArray[np.intp], NDArray[np.intp]]:
    none = np.empty(0, dtype=np.intp)
    if kind != "rate":
        return metrics.mean(after - before, groups), math.nan, none, none
    paired = metrics.paired_difference(before, after, groups)
    return paired.difference, paired.p_value, np.flatnonzero(before > after), np.flatnonzero(after > before)
