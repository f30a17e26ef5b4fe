"""Spearman's rank correlation with ties and an interval over resampled groups. Knows nothing of what is ranked."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.bootstrap import DRAWS, bootstrap_weights
from thinkgap.metrics.intervals import MISSING, Estimate, as_values

Array = NDArray[np.float64]


def spearman(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Spearman's correlation: Pearson's of the ranks, equal values sharing the mean of theirs.

    The value is scipy's; each draw of the cluster bootstrap ranks its own rows. NaN where all x or all y are equal.

    Args:
        x: Numbers, shape [n]; rows with NaN on either side are left out.
        y: Numbers, shape [n].
        groups: Group of each row, shape [n], or None.
        draws: Number of draws.
        seed: Of the draws.

    Returns:
        `n` is the number of rows with both numbers.

    Raises:
        ValueError: Shapes that differ.
    """
    one, other = as_values(x), as_values(y)
    if one.shape != other.shape:
        raise ValueError(f"expected two numbers per row, got shapes {one.shape} and {other.shape}")
    there = ~(np.isnan(one) | np.isnan(other))
    one, other = one[there], other[there]
    if not len(one):
        return MISSING
    if np.all(one == one[0]) or np.all(other == other[0]):
        return Estimate(math.nan, math.nan, math.nan, len(one))
    from scipy import stats  # slow to import

    own = None if groups is None else np.asarray(groups)[there]
    found = bootstrap_weights(len(one), own, partial(_correlation, _Ranks(one), _Ranks(other)), draws, seed)
    result: Any = stats.spearmanr(one, other)
    return dataclasses.replace(found, value=float(result.statistic))


class _Ranks:
    """Ranks of fixed values among rows that are repeated as weights say."""

    def __init__(self, values: Array) -> None:
        _, self.place, counts = np.unique(values, return_inverse=True, return_counts=True)
        self.order = np.argsort(self.place, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

    def of(self, weights: Array) -> Array:
        """Mid-ranks less one half, shape [draws, n], of weights of that shape."""
        totals = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        return (totals.cumsum(axis=1) - totals / 2)[:, self.place]


def _correlation(first: _Ranks, second: _Ranks, weights: Array) -> Array:
    """Weighted Pearson correlation of the ranks under each row of weights, shape [draws]."""
    n = weights.sum(axis=1, keepdims=True)
    x, y = first.of(weights), second.of(weights)
    x = x - (weights * x).sum(axis=1, keepdims=True) / n
    y = y - (weights * y).sum(axis=1, keepdims=True) / n
    spread = (weights * x**2).sum(axis=1) * (weights * y**2).sum(axis=1)
    return (weights * x * y).sum(axis=1) / np.sqrt(spread)
