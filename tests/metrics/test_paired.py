"""Paired differences: hand-computed examples, and agreement with scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from thinkgap.metrics import mcnemar_p, paired_difference, standard_error


def test_difference_by_hand():
    # d = -1, -1, 0, 1: mean -0.25; squared deviations 0.5625 + 0.5625 + 0.0625 + 1.5625 = 2.75;
    # sd sqrt(2.75 / 3) = 0.957427, over sqrt(4): 0.478714; t with 3 degrees 3.182446: 1.523480.
    found = paired_difference([1, 1, 1, 0], [0, 0, 1, 1])
    assert (found.difference.value, found.difference.n) == (-0.25, 4)
    assert (found.difference.low, found.difference.high) == pytest.approx((-1.773480, 1.273480), abs=2e-6)
    assert (found.b, found.c) == (2, 1)
    # Exact: 2 P(X <= 1 | 3, 1/2) = 2 (1 + 3) / 8 = 1.
    assert found.p_value == 1.0


def test_mcnemar_by_hand():
    # 2 (1 + 9) / 2^9 = 0.0390625, exact below 25 discordant pairs.
    assert mcnemar_p(8, 1) == pytest.approx(0.0390625)
    assert mcnemar_p(1, 8) == mcnemar_p(8, 1)
    # (|30 - 10| - 1)^2 / 40 = 9.025; upper tail of chi-square with one degree: 0.002663.
    assert mcnemar_p(30, 10) == pytest.approx(0.002663, abs=1e-6)
    # (|20 - 15| - 1)^2 / 35 = 16/35 = 0.457143: 0.498962. At b = c and at a difference of one the statistic is 0.
    assert mcnemar_p(20, 15) == pytest.approx(0.498962, abs=1e-6)
    for b, c in ((0, 0), (12, 12), (13, 13), (13, 14), (500, 500)):
        assert mcnemar_p(b, c) == mcnemar_p(c, b) == 1.0


def test_the_switch_to_chi_square_is_at_25():
    assert mcnemar_p(4, 20) == pytest.approx(stats.binomtest(4, 24).pvalue)
    assert mcnemar_p(4, 21) == pytest.approx(stats.chi2.sf((17 - 1) ** 2 / 25, 1))
    assert mcnemar_p(4, 21) != pytest.approx(stats.binomtest(4, 25).pvalue, rel=1e-3)


def test_error_is_sd_of_the_differences():
    rng = np.random.default_rng(1)
    first, second = rng.random(500) < 0.8, rng.random(500) < 0.4
    found = paired_difference(first, second)
    d = second.astype(int) - first.astype(int)
    low, high = stats.t.interval(0.95, 499, d.mean(), stats.sem(d))
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high))


def test_clusters_widen_the_interval_as_in_statsmodels():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(500), 5)
    first = np.repeat(rng.random(500) < 0.8, 5)
    second = np.repeat(rng.random(500) < 0.4, 5) ^ (rng.random(2500) < 0.05)
    found = paired_difference(first, second, groups)
    d = second.astype(float) - first.astype(float)
    fit = sm.OLS(d, np.ones(2500)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    half = (found.difference.high - found.difference.low) / 2
    quantile = stats.t.ppf(0.975, 499)
    assert half == pytest.approx(quantile * fit.bse[0], rel=1e-9)
    assert half > 1.8 * quantile * standard_error(d)


def test_equal_rows_have_no_interval_and_p_one():
    found = paired_difference([1, 0, 1], [1, 0, 1])
    assert (found.difference.value, found.p_value, found.b, found.c) == (0.0, 1.0, 0, 0)
    assert math.isnan(found.difference.low)


def test_no_pairs_is_missing():
    found = paired_difference([], [])
    assert found.difference.n == 0
    assert math.isnan(found.difference.value)
    assert math.isnan(found.p_value)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="pair them by key"):
        paired_difference([1, 0], [1])
    with pytest.raises(ValueError, match="0/1"):
        paired_difference([1, 2], [1, 0])
