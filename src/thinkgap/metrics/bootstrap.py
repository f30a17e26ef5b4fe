"""Cluster bootstrap of statistics that are functions of sums over rows: means, ratios, spreads of rates, entropies.

It serves figures for which no formula of an interval is at hand; those that are no function of sums, such as rank
correlations, take the weights of the rows. It knows neither what is summed nor how rows come to share a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.intervals import MISSING, Estimate, group_codes

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""From sums of shape [..., m] to figures of shape [...]; NaN where the sums do not determine one."""

DRAWS = 10_000
BCA_BELOW = 200
"""Groups below which intervals are bias-corrected and accelerated."""
MOST_UNDEFINED = 0.05
"""Share of draws without a figure above which there is no interval: it would be as large as what an interval omits."""

_LEVELS = np.array([0.025, 0.975])
_CHUNK = 65_536
"""Resampled counts that are held at a time; more do not fit a processor's cache and are slower."""
_KEPT = 50_000_000
"""Counts, one byte each, up to which those of all draws are kept for the next statistic."""


def ratio(numerator: int, denominator: int) -> Statistic:
    """The statistic `sums[numerator] / sums[denominator]`: a mean, where the denominator is a feature of ones."""
    return lambda sums: sums[..., numerator] / sums[..., denominator]


def bootstrap(
    features: ArrayLike,
    groups: ArrayLike | None,
    statistic: Statistic,
    draws: int = DRAWS,
    seed: int = 0,
    *,
    n: int | None = None,
) -> Estimate:
    """A statistic of sums with its 95% interval over resampled groups.

    Groups are drawn with replacement, as many as there are, each with all of its rows: the sum of a draw is the sums of
    the groups weighted by multinomial counts. The interval holds the 2.5 to 97.5 percentiles of the draws; below
    `BCA_BELOW` groups it is the BCa interval (Efron 1987) with acceleration from leaving out each group, where the bias
    correction and the acceleration are finite.

    Without rows everything is NaN. The interval alone is NaN with fewer than two groups, where all draws are equal (the
    spread is then unknown), where the statistic of all rows is undefined, and where it is undefined in more than
    `MOST_UNDEFINED` of the draws; up to that share, it is over the draws that have a figure.

    Args:
        features: What is summed, shape [n, m]. For a mean, the values and a column of ones.
        groups: Group of each row, shape [n], or None.
        statistic: From sums [..., m] to figures [...]; it is called on the sums of all rows [m] and on those of many
            draws [draws, m].
        draws: Number of draws.
        seed: Of the draws; the same seed and number of groups give the same draws.
        n: Number of rows to report; None is the number of rows of `features`.

    Raises:
        ValueError: Wrong shapes, or no draws.
    """
    return bootstrap_all(features, groups, (statistic,), draws, seed, n=n)[0]


def bootstrap_all(
    features: ArrayLike,
    groups: ArrayLike | None,
    statistics: Sequence[Statistic],
    draws: int = DRAWS,
    seed: int = 0,
    *,
    n: int | None = None,
) -> list[Estimate]:
    """`bootstrap` of several statistics on one set of draws, which takes the time of one; the same arguments."""
    sums = _group_sums(features, groups, draws)
    if not len(sums):
        return [MISSING] * len(statistics)
    rows, n_groups, total = np.shape(features)[0] if n is None else n, len(sums), sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [float(statistic(total)) for statistic in statistics]
        if n_groups < 2:
            return [Estimate(value, math.nan, math.nan, rows) for value in values]
        drawn = _resampled(sums, draws, seed)
        left_out = total - sums if n_groups < BCA_BELOW else None
        found = []
        for statistic, value in zip(statistics, values, strict=True):
            jackknife = None if left_out is None else statistic(left_out)
            found.append(Estimate(value, *_interval(value, statistic(drawn), jackknife), rows))
    return found


def bootstrap_means(
    values: ArrayLike, groups: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> list[Estimate]:
    """The mean of each column of `values`, shape [n, m], as `bootstrap_all` gives it; the same arguments."""
    array = np.asarray(values, dtype=np.float64)
    ones = array.shape[1]
    features = np.column_stack([array, np.ones(len(array))])
    return bootstrap_all(features, groups, [ratio(column, ones) for column in range(ones)], draws, seed)


def bootstrap_weights(
    n: int, groups: ArrayLike | None, statistic: Statistic, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """`bootstrap` of a statistic that is no function of sums, from how often each row is drawn.

    Args:
        n: Number of rows.
        groups: Group of each row, shape [n], or None.
        statistic: From weights of the rows, shape [draws, n], to figures [draws]; NaN where a draw has none.
        draws: Number of draws.
        seed: Of the draws, which are those of `bootstrap`.

    Raises:
        ValueError: Wrong shapes, or no draws.
    """
    _check_draws(draws)
    codes, n_groups = group_codes(n, groups)
    if not n:
        return MISSING
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(np.ones((1, n)))[0])
        if n_groups < 2:
            return Estimate(value, math.nan, math.nan, n)
        drawn = [statistic(counts[:, codes].astype(np.float64)) for counts in _drawn(n_groups, draws, seed)]
        jackknife = None
        if n_groups < BCA_BELOW:
            jackknife = statistic((codes != np.arange(n_groups)[:, None]).astype(np.float64))
    return Estimate(value, *_interval(value, np.concatenate(drawn), jackknife), n)


def drawn_means(values: ArrayLike, groups: ArrayLike | None, draws: int = DRAWS, seed: int = 0) -> Array:
    """The mean of each column of `values`, shape [n, m], in each draw of `bootstrap`, shape [draws, m].

    For statistics over several samples, which take seeds of their own. The same arguments as `bootstrap_means`.
    """
    array = np.asarray(values, dtype=np.float64)
    sums = _resampled(_group_sums(np.column_stack([array, np.ones(len(array))]), groups, draws), draws, seed)
    return sums[:, :-1] / sums[:, -1:]


def bootstrap_quantile(
    features: ArrayLike,
    groups: ArrayLike | None,
    statistic: Statistic,
    level: float,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """The plain quantile, at `level` in [0, 1], of a statistic over the draws of `bootstrap`; the same arguments.

    For a distance between what is drawn and what was observed, it is what chance alone reaches. NaN with fewer than two
    groups, and where the statistic is undefined in more than `MOST_UNDEFINED` of the draws.
    """
    sums = _group_sums(features, groups, draws)
    if len(sums) < 2:
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = _defined(statistic(_resampled(sums, draws, seed)))
    return math.nan if figures is None else float(np.quantile(figures, level))


def _group_sums(features: ArrayLike, groups: ArrayLike | None, draws: int) -> Array:
    """Sums of the rows of each group, shape [groups, m]; checks the arguments."""
    array = np.asarray(features, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"expected features of shape [n, m], got shape {array.shape}")
    _check_draws(draws)
    codes, n_groups = group_codes(len(array), groups)
    sums = np.zeros((n_groups, array.shape[1]))
    np.add.at(sums, codes, array)
    return sums


def _check_draws(draws: int) -> None:
    if draws < 1:
        raise ValueError(f"{draws} draws give no interval: ask for 1 or more")


def _defined(drawn: Array) -> Array | None:
    """The draws that have a figure; None if too many have not."""
    figures = drawn[np.isfinite(drawn)]
    return figures if len(figures) >= (1 - MOST_UNDEFINED) * len(drawn) else None


def _resampled(sums: Array, draws: int, seed: int) -> Array:
    """Sums of `draws` resamples of the groups, shape [draws, m]."""
    return np.concatenate([counts @ sums for counts in _drawn(len(sums), draws, seed)])


def _drawn(n_groups: int, draws: int, seed: int) -> Iterable[NDArray[np.uint8]]:
    return (_kept_counts if n_groups * draws <= _KEPT else _counts)(n_groups, draws, seed)


def _counts(n_groups: int, draws: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """How often each group is drawn, shape [some of the draws, groups]; more than 255 times is out of reach."""
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // n_groups)
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        # Counts of uniform draws are multinomial, and ten times as fast as numpy's sampler of many categories.
        chosen = rng.integers(0, n_groups, (size, n_groups)) + np.arange(size)[:, None] * n_groups
        counts = np.bincount(chosen.ravel(), minlength=size * n_groups)
        yield counts.reshape(size, n_groups).astype(np.uint8)


@lru_cache(maxsize=2)
def _kept_counts(n_groups: int, draws: int, seed: int) -> tuple[NDArray[np.uint8], ...]:
    """`_counts`, kept for the other conditions of a run, which have the same items: most of the time goes into them."""
    return tuple(_counts(n_groups, draws, seed))


def _interval(value: float, drawn: Array, jackknife: Array | None) -> tuple[float, float]:
    figures = _defined(drawn)
    if figures is None or not math.isfinite(value):
        return math.nan, math.nan
    # Equal up to the rounding of sums.
    if np.ptp(figures) <= 1e-12 * max(1.0, abs(value)):
        return math.nan, math.nan
    low, high = np.quantile(figures, _LEVELS if jackknife is None else _bca_levels(value, figures, jackknife))
    return float(low), float(high)


def _bca_levels(value: float, figures: Array, jackknife: Array) -> Array:
    """Percentiles of the BCa interval; the plain ones where it is not defined."""
    from scipy.special import ndtr, ndtri

    # Draws that equal the value count half, as in scipy.
    below = (np.mean(figures < value) + np.mean(figures <= value)) / 2
    deviations = jackknife.mean() - jackknife
    spread = float(np.sum(deviations**2))
    if not 0 < below < 1 or not np.all(np.isfinite(jackknife)) or not spread > 0:
        return _LEVELS
    bias = ndtri(below)
    acceleration = float(np.sum(deviations**3)) / (6 * spread**1.5)
    shifted = bias + ndtri(_LEVELS)
    levels = ndtr(bias + shifted / (1 - acceleration * shifted))
    # Beyond a shift of 1 / acceleration the transformation turns back.
    return levels if np.all(acceleration * shifted < 1) else _LEVELS
