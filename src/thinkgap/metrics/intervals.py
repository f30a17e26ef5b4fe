"""Means and rates with 95% intervals that allow for repeated groups.

Rows that share a question, passage or image are not independent; every function takes the group of each row and
widens the interval accordingly. Which rows form a group is decided by the caller; nothing here knows records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z95 = 1.959963984540054
"""0.975 quantile of the standard normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval and the number of rows behind it.

    Without rows everything is NaN and `n` is 0: a figure that is not there is never 0. `low` and `high` alone are
    NaN when the rows do not determine an interval.
    """

    value: float
    low: float
    high: float
    n: int


MISSING = Estimate(math.nan, math.nan, math.nan, 0)
"""The estimate of anything on no rows."""


def as_values(values: ArrayLike) -> NDArray[np.float64]:
    """`values` as a float64 array of shape [n]; raises ValueError for any other number of dimensions."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one value per row (shape [n]), got shape {array.shape}")
    return array


def group_codes(n: int, groups: ArrayLike | None) -> tuple[NDArray[np.intp], int]:
    """Groups as integers 0..G-1.

    Args:
        n: Number of rows.
        groups: Group of each row, shape [n], of any comparable type; None puts every row in its own group.

    Returns:
        Codes of shape [n], and G.

    Raises:
        ValueError: `groups` does not have one entry per row.
    """
    if groups is None:
        return np.arange(n), n
    unique, codes = np.unique(np.asarray(groups), return_inverse=True)
    if codes.shape != (n,):
        raise ValueError(f"{n} rows but groups of shape {codes.shape}")
    return codes, len(unique)


def standard_error(values: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Standard error of the mean of `values`, clustered by group (Miller, arXiv 2411.00640, section 2.2).

    With e_i the deviations from the mean: sqrt( sum_i e_i^2 / (n(n-1)) + sum_c sum_{i != j in c} e_i e_j / n^2 ).
    When every row is its own group the second sum is empty and this is sd / sqrt(n).

    Args:
        values: Scores, shape [n].
        groups: Group of each row, shape [n], or None.

    Returns:
        The standard error in the unit of `values`; NaN with fewer than two groups, which say nothing about spread.
    """
    array = as_values(values)
    n = len(array)
    codes, n_groups = group_codes(n, groups)
    if n_groups < 2:
        return math.nan
    deviations = array - array.mean()
    squares = float(np.sum(deviations**2))
    variance = squares / (n * (n - 1))
    if n_groups < n:
        sums = np.bincount(codes, weights=deviations, minlength=n_groups)
        # The square of a group's sum holds each ordered pair of the group once, and the squares, which go.
        variance += (float(np.sum(sums**2)) - squares) / n**2
    return math.sqrt(max(variance, 0.0))


def effective_n(values: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Number of independent rows that would give the standard error that the grouped rows give.

    n divided by the design effect, the ratio of the clustered to the independent variance. Never above n: groups
    whose rows happen to disagree must not make an interval narrower than independent rows would. Equals n when no
    group repeats, and the number of groups when all values are equal (the ratio is then 0/0) or there is one group.

    Args:
        values: Scores, shape [n].
        groups: Group of each row, shape [n], or None.
    """
    array = as_values(values)
    n = len(array)
    codes, n_groups = group_codes(n, groups)
    if n_groups == n:
        return float(n)
    if n_groups < 2 or np.all(array == array[0]):
        return float(n_groups)
    design_effect = (standard_error(array, codes) / standard_error(array)) ** 2
    return min(float(n), n / design_effect) if design_effect > 0 else float(n)


def rate(hits: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of hits with its 95% Wilson interval (Wilson 1927), on the effective number of rows.

    Args:
        hits: 0/1 or booleans, shape [n].
        groups: Group of each row, shape [n], or None.

    Returns:
        Share in [0, 1]; `n` is the number of rows, not the effective number.

    Raises:
        ValueError: Something other than 0 and 1 in `hits`.
    """
    array = as_values(hits)
    if not np.all((array == 0) | (array == 1)):
        raise ValueError("a rate needs 0/1 values; use mean() for anything else")
    if not len(array):
        return MISSING
    from statsmodels.stats.proportion import proportion_confint  # over a second to import

    share = float(array.mean())
    size = effective_n(array, groups)
    interval: Any = proportion_confint(share * size, size, alpha=0.05, method="wilson")
    low, high = (float(bound) for bound in interval)
    # The bounds of 0 and 1 are exact, up to rounding.
    return Estimate(share, min(max(low, 0.0), share), max(min(high, 1.0), share), len(array))


def mean(values: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Mean with its 95% normal interval from the clustered standard error.

    The interval is NaN when there are fewer than two groups or all values are equal: the spread is then unknown, and
    an interval of width zero would claim certainty.

    Args:
        values: Scores, shape [n].
        groups: Group of each row, shape [n], or None.
    """
    array = as_values(values)
    if not len(array):
        return MISSING
    value = float(array.mean())
    error = standard_error(array, groups)
    if not error > 0 or np.all(array == array[0]):
        return Estimate(value, math.nan, math.nan, len(array))
    return Estimate(value, value - Z95 * error, value + Z95 * error, len(array))
