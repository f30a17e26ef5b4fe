"""How far two raters agree, and how far one agrees with a reference: shares, Cohen's kappa, errors in common.

A rating is a category as an integer; -1 is no rating, and rows without both ratings are left out. Nothing here knows
what was rated or who rated it. Agreement over orders of an item's options is `metrics.agreement`'s.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.bootstrap import DRAWS, bootstrap, ratio
from thinkgap.metrics.intervals import MISSING, Estimate, group_codes, rate

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


def rated_by_both(first: ArrayLike, second: ArrayLike, groups: ArrayLike | None = None) -> tuple[Codes, Codes, Codes]:
    """Ratings and groups (as integers) of the rows that both raters rated, each of shape [n of them].

    Args:
        first: Ratings of shape [n]; -1 is none.
        second: The other rater's, shape [n].
        groups: Group of each row, shape [n], or None.

    Raises:
        ValueError: Shapes that differ.
    """
    one, other = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"expected two ratings per row, got shapes {one.shape} and {other.shape}")
    both = (one >= 0) & (other >= 0)
    return one[both], other[both], group_codes(len(one), groups)[0].astype(np.int64)[both]


def raw_agreement(first: ArrayLike, second: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of the rows rated by both to which both give one category, with its Wilson interval (`metrics.rate`).

    Of a rater and a reference it is the rater's accuracy. Arguments as in `rated_by_both`.
    """
    one, other, codes = rated_by_both(first, second, groups)
    return rate(one == other, codes)


def cohens_kappa(
    first: ArrayLike, second: ArrayLike, groups: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Cohen's kappa (Cohen 1960) with its interval by cluster bootstrap.

    (p_o - p_e) / (1 - p_e), with p_o the raw agreement and p_e = sum over categories of the product of the two raters'
    shares: 1 is full agreement, 0 what these shares alone would give. The value is statsmodels'; each draw takes the
    same formula on its sums. NaN where both raters give one and the same category throughout (0/0).

    Args:
        first: Ratings of shape [n]; -1 is none.
        second: The other rater's, shape [n].
        groups: Group of each row, shape [n], or None.
        draws: Number of draws.
        seed: Of the draws.

    Returns:
        `n` is the number of rows rated by both.
    """
    one, other, codes = rated_by_both(first, second, groups)
    if not len(one):
        return MISSING
    categories = np.union1d(one, other)
    if len(categories) < 2:
        return Estimate(math.nan, math.nan, math.nan, len(one))
    from statsmodels.stats import inter_rater  # slow to import

    by_first, by_second = one[:, None] == categories, other[:, None] == categories
    table = by_first.T.astype(np.int64) @ by_second.astype(np.int64)
    value: Any = inter_rater.cohens_kappa(table, return_results=False)
    features = np.column_stack([one == other, by_first, by_second])
    found = bootstrap(features, codes, _kappa, draws, seed)
    return dataclasses.replace(found, value=float(value))


def _kappa(sums: Array) -> Array:
    """Kappa from sums [..., 1 + 2C]: agreeing rows, then rows in each category by the first and by the second rater."""
    width = (sums.shape[-1] - 1) // 2
    first, second = sums[..., 1 : 1 + width], sums[..., 1 + width :]
    n = first.sum(axis=-1)
    expected = (first * second).sum(axis=-1) / n**2
    return (sums[..., 0] / n - expected) / (1 - expected)


def recall(judged: ArrayLike, reference: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of the reference's positives that are judged positive (sensitivity), with its Wilson interval.

    Args:
        judged: 1 or 0 per row, -1 for no rating, shape [n].
        reference: The same, by the reference.
        groups: Group of each row, shape [n], or None.

    Returns:
        `n` is the number of positives of the reference; without any, everything is NaN.
    """
    one, other, codes = rated_by_both(judged, reference, groups)
    return rate(one[other == 1] == 1, codes[other == 1])


def precision(judged: ArrayLike, reference: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of those judged positive that are the reference's positives; arguments as in `recall`."""
    return recall(reference, judged, groups)


def specificity(judged: ArrayLike, reference: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of the reference's negatives that are judged negative; arguments as in `recall`."""
    one, other, codes = rated_by_both(judged, reference, groups)
    return rate(one[other == 0] == 0, codes[other == 0])


@dataclass(frozen=True)
class CommonErrors:
    """Where two raters err, over rows that both and the reference rate."""

    first: Estimate
    """Share of the rows in which the first rater departs from the reference."""
    second: Estimate
    both: Estimate
    """Share of the rows in which both do."""
    expected: float
    """Product of the two shares: what independent errors would give for `both`; NaN without rows."""
    phi: Estimate
    """Correlation of the two indicators of an error; NaN where one rater never errs, or always."""


def common_errors(
    first: ArrayLike,
    second: ArrayLike,
    reference: ArrayLike,
    groups: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> CommonErrors:
    """Whether two raters err on the same rows.

    With e and f the indicators of an error, phi = (mean(ef) - mean(e) mean(f)) / sqrt(var(e) var(f)), with its interval
    by cluster bootstrap. An error is any departure from the reference, whichever category is given instead.

    Args:
        first: Ratings of shape [n]; -1 is none.
        second: The other rater's.
        reference: The reference's.
        groups: Group of each row, shape [n], or None.
        draws: Number of draws.
        seed: Of the draws.
    """
    ratings = np.stack([np.asarray(one, dtype=np.int64) for one in (first, second, reference)])
    rated = (ratings >= 0).all(axis=0)
    codes = group_codes(ratings.shape[1], groups)[0][rated]
    one, other, truth = ratings[:, rated]
    if not len(truth):
        return CommonErrors(MISSING, MISSING, MISSING, math.nan, MISSING)
    wrong, also = (one != truth).astype(np.float64), (other != truth).astype(np.float64)
    features = np.column_stack([wrong, also, wrong * also, np.ones(len(truth))])
    return CommonErrors(
        rate(wrong, codes),
        rate(also, codes),
        rate(wrong * also, codes),
        float(wrong.mean() * also.mean()),
        bootstrap(features, codes, _phi, draws, seed),
    )


def _phi(sums: Array) -> Array:
    """Correlation of two indicators from sums [..., 4]: of the first, the second, their product, and rows."""
    first, second, both = (ratio(column, 3)(sums) for column in range(3))
    return (both - first * second) / np.sqrt(first * (1 - first) * second * (1 - second))
