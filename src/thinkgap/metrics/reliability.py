"""Krippendorff's alpha: how far several raters agree, some of whom may have left units out.

Value and interval, which resamples units, are one formula; tests hold it against the `krippendorff` package, whose
licence (GPL) is not this project's. Knows nothing of what was rated.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.bootstrap import DRAWS, bootstrap
from thinkgap.metrics.intervals import MISSING, Estimate

Array = NDArray[np.float64]
Level = Literal["nominal", "ordinal"]
"""`nominal`: two values are equal or not; `ordinal`: values differ by the ratings that lie between them."""


def krippendorff_alpha(
    ratings: ArrayLike, level: Level, groups: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Alpha = 1 - D_o / D_e (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    D_o is the mean difference of two ratings of one unit, D_e that of any two ratings; 1 is full agreement, 0 what
    ratings dealt out at random would give. Units with fewer than two ratings say nothing and are left out. NaN where
    only one value occurs in the rest (0/0).

    Args:
        ratings: Numbers of shape [raters, units], in their order if `level` is ordinal; NaN is no rating.
        level: What a difference is.
        groups: Group of each unit, shape [units], or None.
        draws: Number of draws of the bootstrap over units.
        seed: Of the draws.

    Returns:
        `n` is the number of units with two ratings or more; without any, everything is NaN.

    Raises:
        ValueError: `ratings` has another number of dimensions.
    """
    array = np.asarray(ratings, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"expected ratings of shape [raters, units], got shape {array.shape}")
    paired = (~np.isnan(array)).sum(axis=0) > 1
    array = array[:, paired]
    n = array.shape[1]
    if not n:
        return MISSING
    values = np.unique(array[~np.isnan(array)])
    if len(values) < 2:
        return Estimate(math.nan, math.nan, math.nan, n)
    counts = (array.T[:, :, None] == values).sum(axis=1)
    own = None if groups is None else np.asarray(groups)[paired]
    coincidences = _coincidences(counts)
    found = bootstrap(coincidences, own, partial(_alpha, level=level), draws, seed)
    return dataclasses.replace(found, value=float(_alpha(coincidences.sum(axis=0), level)))


def _coincidences(counts: NDArray[np.int64]) -> Array:
    """Pairs of values within each unit, each unit weighing as many as it has ratings: [units, V] to [units, V * V]."""
    width = counts.shape[1]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(width)
    return (pairs / (counts.sum(axis=1) - 1)[:, None, None]).reshape(len(counts), width * width)


def _alpha(sums: Array, level: Level) -> Array:
    """Alpha from summed coincidences, shape [..., V * V]."""
    width = math.isqrt(sums.shape[-1])
    observed = sums.reshape(*sums.shape[:-1], width, width)
    totals = observed.sum(axis=-1)
    if level == "nominal":
        differences = 1 - np.eye(width)
    else:
        # Ratings up to the middle of each value: their distance counts those between two values, ends as halves.
        middles = totals.cumsum(axis=-1) - totals / 2
        differences = (middles[..., :, None] - middles[..., None, :]) ** 2
    n = totals.sum(axis=-1)
    chance = totals[..., :, None] * totals[..., None, :]
    disagreement = (observed * differences).sum(axis=(-2, -1))
    expected = (chance * differences).sum(axis=(-2, -1)) / (n - 1)
    return 1 - disagreement / expected
