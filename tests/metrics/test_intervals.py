"""Rates and means: hand-computed examples, and agreement with statsmodels and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from thinkgap.metrics import effective_n, mean, rate, standard_error


def clustered_scores() -> tuple[np.ndarray, np.ndarray]:
    """600 groups of 1 to 5 rows that share a group effect."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(600), rng.integers(1, 6, 600))
    lean = rng.beta(1, 1, 600)[groups]
    return (rng.random(len(groups)) < lean).astype(float), groups


def test_rate_is_the_wilson_interval_by_hand():
    # 8 of 10: centre (0.8 + z^2/20) / (1 + z^2/10) = 0.992073 / 1.384146 = 0.716740;
    # half width z sqrt(0.8 * 0.2 / 10 + z^2/400) / 1.384146 = 1.959964 * 0.160011 / 1.384146 = 0.226577.
    found = rate([1] * 8 + [0] * 2)
    assert found.value == 0.8
    assert found.n == 10
    assert found.low == pytest.approx(0.490163, abs=2e-6)
    assert found.high == pytest.approx(0.943318, abs=2e-6)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (20, 20), (1, 1), (37, 101)])
def test_rate_without_repeated_groups_is_plain_wilson(hits: int, n: int):
    low, high = proportion_confint(hits, n, method="wilson")
    for groups in (None, [f"item-{i}" for i in range(n)]):
        found = rate([1] * hits + [0] * (n - hits), groups)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_no_rows_is_missing_and_not_zero():
    for found in (rate([]), mean([])):
        assert found.n == 0
        assert all(math.isnan(x) for x in (found.value, found.low, found.high))


def test_clustered_standard_error_by_hand():
    # Deviations 0.5, 0.5, -0.5, -0.5. Independent: 1 / (4 * 3) = 1/12. Group sums 1 and -1, squared 2 together, over
    # n^2 = 16, times G / (G - 1) = 2: 1/4.
    assert standard_error([1, 1, 0, 0]) == pytest.approx(math.sqrt(1 / 12))
    assert standard_error([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(0.5)
    # Design effect (1/4) / (1/12) = 3.
    assert effective_n([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(4 / 3)
    # Group sums 0: never below the independent error.
    assert standard_error([1, 0, 1, 0], ["a", "a", "b", "b"]) == pytest.approx(math.sqrt(1 / 12))


def test_clustered_rate_by_hand():
    # 1, 1, 1, 0, 0, 0 in three groups of two: group sums 1, 0, -1; 3/2 * 2 / 36 = 1/12 clustered, 1.5 / 30 = 1/20
    # independent; effective n 6 * (1/20) / (1/12) = 3.6. t with 2 degrees 4.302653, squared 18.512821;
    # a = 18.512821 / 3.6 = 5.142450; half width 0.5 sqrt(a / (1 + a)) = 0.5 sqrt(0.837199) = 0.457493.
    found = rate([1, 1, 1, 0, 0, 0], ["a", "a", "b", "b", "c", "c"])
    assert (found.value, found.n) == (0.5, 6)
    assert (found.low, found.high) == pytest.approx((0.042507, 0.957493), abs=2e-6)
    # One group leaves no degrees of freedom.
    found = rate([1, 1, 0], ["a", "a", "a"])
    assert (found.value, found.low, found.high) == (2 / 3, 0, 1)


def test_independent_standard_error_is_scipys():
    scores, _ = clustered_scores()
    assert standard_error(scores) == pytest.approx(stats.sem(scores), rel=1e-12)


def test_clustered_standard_error_is_that_of_statsmodels():
    scores, groups = clustered_scores()
    n, ours = len(scores), standard_error(scores, groups)
    fit = sm.OLS(scores, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert ours == pytest.approx(fit.bse[0], rel=1e-9)
    assert ours > 1.3 * standard_error(scores)


def test_clustered_rate_is_wider_and_does_not_depend_on_row_order():
    scores, groups = clustered_scores()
    shuffled = np.random.default_rng(0).permutation(len(scores))
    wide, narrow = rate(scores, groups), rate(scores)
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)
    assert wide.n == len(scores)
    other = rate(scores[shuffled], groups[shuffled])
    assert (other.low, other.high) == pytest.approx((wide.low, wide.high), rel=1e-9)


def test_all_right_or_all_wrong_counts_groups():
    # Both errors are 0 there; five groups of four rows count as five rows. t with 4 degrees 2.776445, squared
    # 7.708647: 5 / (5 + 7.708647) = 0.393433.
    groups = np.repeat(np.arange(5), 4)
    found = rate(np.ones(20), groups)
    assert (found.low, found.high) == pytest.approx((0.393433, 1), abs=1e-6)
    found = rate(np.zeros(20), groups)
    assert (found.low, found.high) == pytest.approx((0, 1 - 0.393433), abs=1e-6)


def test_effective_n_is_bounded():
    # Rows of a group that always disagree are still no more than n rows.
    assert effective_n([1, 0, 1, 0], ["a", "a", "b", "b"]) == 4
    assert effective_n([1, 0, 1], ["a", "a", "a"]) == 1


def test_mean_by_hand():
    # 1, 2, 3, 6: mean 3; squares 4 + 1 + 0 + 9 = 14; sqrt(14 / 12) = 1.080123; t with 3 degrees 3.182446: 3.437435.
    found = mean([1, 2, 3, 6])
    assert (found.value, found.n) == (3, 4)
    assert (found.low, found.high) == pytest.approx((-0.437435, 6.437435), abs=2e-6)
    # Groups a (1, 2) and b (3, 6): sums -3 and 3; sqrt(2 * 18 / 16) = 1.5; t with one degree 12.706205: 19.059307.
    found = mean([1, 2, 3, 6], ["a", "a", "b", "b"])
    assert (found.low, found.high) == pytest.approx((-16.059307, 22.059307), abs=2e-6)


def test_mean_has_no_interval_without_spread():
    for values, groups in (([0.5], None), ([0.1, 0.1, 0.1], None), ([1, 2, 3], ["a"] * 3)):
        found = mean(values, groups)
        assert not math.isnan(found.value)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="0/1"):
        rate([0.5, 1])
    with pytest.raises(ValueError, match="0/1"):
        rate([math.nan])
    with pytest.raises(ValueError, match="groups of shape"):
        rate([1, 0], ["a"])
    with pytest.raises(ValueError, match="shape"):
        mean([[1, 2]])
