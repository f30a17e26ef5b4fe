"""A rate as an imperfect judge sees it, corrected for the judge's known errors. Knows nothing of judges or labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinkgap.metrics.bootstrap import DRAWS, MOST_UNDEFINED
from thinkgap.metrics.intervals import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Corrected:
    """A corrected rate."""

    rate: Estimate
    """NaN where it is not determined."""
    clipped: bool
    """Whether the formula left [0, 1], and the end that it passed was taken: sampling alone can do that."""


def rogan_gladen(
    seen: Estimate,
    sensitivity: Estimate,
    specificity: Estimate,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    effective: float | None = None,
) -> Corrected:
    """The rate that would show as `seen` under such errors (Rogan and Gladen 1978).

    (seen + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1]. The interval propagates all three
    uncertainties: each share is drawn from its Beta(hits + 1/2, misses + 1/2) distribution (Jeffreys), independently,
    and the 2.5 to 97.5 percentiles of the clipped result are kept, widened to hold the value. There is none where more
    than `MOST_UNDEFINED` of the draws have sensitivity + specificity <= 1, or where nearly all lie beyond the same end.

    Args:
        seen: Share that the judge calls positive.
        sensitivity: Of the judge; its `n` is the number of positives that it was measured on.
        specificity: Of the judge; its `n` is the number of negatives.
        draws: Number of draws.
        seed: Of the draws.
        effective: Number of independent rows that `seen` is worth where rows share groups; None is `seen.n`.

    Returns:
        NaN where one of the three is unknown, or sensitivity + specificity <= 1: the judge then says nothing about the
        rate. `n` is that of `seen`.

    Raises:
        ValueError: No draws.
    """
    if draws < 1:
        raise ValueError(f"{draws} draws give no interval: ask for 1 or more")
    shares = (seen, sensitivity, specificity)
    informative = sensitivity.value + specificity.value - 1
    if not all(share.n for share in shares) or not informative > 0:
        return Corrected(Estimate(math.nan, math.nan, math.nan, seen.n), False)
    plain = (seen.value + specificity.value - 1) / informative
    value = min(max(plain, 0.0), 1.0)
    rng = np.random.default_rng(seed)
    sizes = (seen.n if effective is None else effective, sensitivity.n, specificity.n)
    apparent, hit, spared = (
        rng.beta(share.value * n + 0.5, (1 - share.value) * n + 0.5, draws)
        for share, n in zip(shares, sizes, strict=True)
    )
    made = hit + spared > 1
    if not made.mean() >= 1 - MOST_UNDEFINED:
        return Corrected(Estimate(value, math.nan, math.nan, seen.n), plain != value)
    drawn = np.clip((apparent + spared - 1)[made] / (hit + spared - 1)[made], 0, 1)
    low, high = (float(bound) for bound in np.quantile(drawn, [0.025, 0.975]))
    if low == high:
        return Corrected(Estimate(value, math.nan, math.nan, seen.n), plain != value)
    return Corrected(Estimate(value, min(low, value), max(high, value), seen.n), plain != value)
