"""Means and rates with 95% intervals that allow for repeated groups.

Rows that share a question, passage or image are not independent; every function takes the group of each row and
widens the interval accordingly. Which rows form a group is decided by the caller; nothing here knows records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


@cache
def t_quantile(degrees: int) -> float:
    """0.975 quantile of Student's t; a group is one observation, so the degrees of freedom are the groups less one."""
    from scipy import stats  # slow to import

    return float(stats.t.ppf(0.975, degrees))


def standard_error(values: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Standard error of the mean of `values`, clustered by group (Cameron and Miller 2015, section II).

    With e_i the deviations from the mean, S_c the sum of e_i over group c, and G groups, the larger root of
    G / (G-1) * sum_c S_c^2 / n^2 (clustered) and sum_i e_i^2 / (n(n-1)) (independent): groups whose rows happen to
    disagree must not make an interval narrower than independent rows would. When every row is its own group the two
    are equal, and this is sd / sqrt(n).

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
    variance = float(np.sum(deviations**2)) / (n * (n - 1))
    if n_groups < n:
        sums = np.bincount(codes, weights=deviations, minlength=n_groups)
        variance = max(variance, n_groups / (n_groups - 1) * float(np.sum(sums**2)) / n**2)
    return math.sqrt(variance)


def effective_n(values: ArrayLike, groups: ArrayLike | None = None) -> float:
    """Number of independent rows that would give the standard error that the grouped rows give.

    n divided by the design effect, the ratio of the clustered to the independent variance, which is never below 1.
    Equals n when no group repeats, and the number of groups when all values are equal (the ratio is then 0/0) or
    there is one group.

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
    return n * (standard_error(array) / standard_error(array, codes)) ** 2


def rate(hits: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of hits with its 95% Wilson interval (Wilson 1927).

    Where groups repeat, the interval is taken on the effective number of rows and with the quantile of Student's t in
    place of the normal one. A single group of several rows gives the whole range, [0, 1].

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
    from scipy import stats  # slow to import, as is the next
    from statsmodels.stats.proportion import proportion_confint

    share = float(array.mean())
    codes, n_groups = group_codes(len(array), groups)
    alpha = 0.05
    if n_groups < len(array):
        if n_groups < 2:
            return Estimate(share, 0.0, 1.0, len(array))
        # statsmodels takes a level and not a quantile: the level at which the normal quantile is that of t.
        alpha = 2 * float(stats.norm.sf(t_quantile(n_groups - 1)))
    size = effective_n(array, codes)
    interval: Any = proportion_confint(share * size, size, alpha=alpha, method="wilson")
    low, high = (float(bound) for bound in interval)
    # The bounds of 0 and 1 are exact, up to rounding.
    return Estimate(share, min(max(low, 0.0), share), max(min(high, 1.0), share), len(array))


def mean(values: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Mean with its 95% interval: Student's t with G - 1 degrees of freedom times the clustered standard error.

    G is the number of groups, which is n where none repeats.

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
    codes, n_groups = group_codes(len(array), groups)
    error = standard_error(array, codes)
    if not error > 0 or np.all(array == array[0]):
        return Estimate(value, math.nan, math.nan, len(array))
    half = t_quantile(n_groups - 1) * error
    return Estimate(value, value - half, value + half, len(array))
