"""Differences between two conditions on the same rows.

The rows must already be paired; joining them by key is the caller's work (`readouts.table`), and an array position
means nothing beyond "same row in both arrays".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkgap.metrics.intervals import Estimate, as_values, mean

EXACT_BELOW = 25
"""Discordant pairs below which McNemar's test is exact."""


@dataclass(frozen=True)
class PairedDifference:
    """Accuracy of a condition minus that of the reference, on the same rows."""

    difference: Estimate
    """Mean of the per-row differences (shares, in [-1, 1]), its 95% interval, and the number of pairs."""
    p_value: float
    """McNemar's p, two-sided; NaN without pairs. It takes pairs as independent, also where groups repeat."""
    b: int
    """Pairs right under the reference and wrong under the condition."""
    c: int
    """Pairs wrong under the reference and right under the condition."""


def mcnemar_p(b: int, c: int) -> float:
    """Two-sided p of McNemar's test (1947) from the counts of discordant pairs.

    Exact binomial below 25 discordant pairs, else chi-square with continuity correction, max(|b - c| - 1, 0)^2 over
    b + c. Where b = c nothing speaks against equality and p is 1.

    Args:
        b: Pairs right first and wrong second.
        c: Pairs wrong first and right second.
    """
    if b == c:
        return 1.0
    if b + c >= EXACT_BELOW:
        from scipy import stats  # slow to import

        # Not by statsmodels, whose correction turns a difference of 0 into one of -1.
        return float(stats.chi2.sf(max(abs(b - c) - 1, 0) ** 2 / (b + c), 1))
    from statsmodels.stats.contingency_tables import mcnemar  # over a second to import

    # Concordant pairs do not enter the statistic.
    result = mcnemar([[0, b], [c, 0]], exact=True)
    return float(result.pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def paired_difference(reference: ArrayLike, other: ArrayLike, groups: ArrayLike | None = None) -> PairedDifference:
    """Mean difference `other - reference` of 0/1 scores on the same rows.

    Args:
        reference: 0/1 or booleans under the reference, shape [n].
        other: The same rows under the condition, shape [n].
        groups: Group of each row, shape [n], or None.

    Returns:
        Difference with the 95% interval of `mean` on the per-row differences: Student's t times their standard error,
        sd(d) / sqrt(n) or its clustered version (Miller, arXiv 2411.00640, section 4.2). McNemar's p and counts.

    Raises:
        ValueError: The arrays differ in length, or hold something other than 0 and 1.
    """
    first, second = as_values(reference), as_values(other)
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} reference rows but {len(second)} others: pair them by key first")
    for array in (first, second):
        if not np.all((array == 0) | (array == 1)):
            raise ValueError("paired differences are of 0/1 scores")
    if not len(first):
        return PairedDifference(mean([]), float("nan"), 0, 0)
    b = int(np.sum((first == 1) & (second == 0)))
    c = int(np.sum((first == 0) & (second == 1)))
    return PairedDifference(mean(second - first, groups), mcnemar_p(b, c), b, c)
