"""The cluster bootstrap: hand-computed draws, agreement with scipy and with the clustered t, degenerate cases."""

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from thinkgap.metrics import mean, standard_error
from thinkgap.metrics.bootstrap import bootstrap, bootstrap_all, bootstrap_means, bootstrap_quantile, ratio

MEAN = ratio(0, 1)


def with_ones(values: ArrayLike) -> np.ndarray:
    return np.column_stack([np.asarray(values), np.ones(len(np.asarray(values)))])


def skewed(n: int) -> np.ndarray:
    return np.random.default_rng(1).exponential(size=n)


def test_two_groups_by_hand():
    # Groups a (0, 0) and b (1): the draws are aa, ab, ba, bb with means 0, 1/3, 1/3 and 1. The quarters at both ends
    # are more than 2.5 percent, so the plain interval is [0, 1]. Jackknife: 1 without a, 0 without b; deviations -1/2
    # and 1/2, so no acceleration. Draws below 1/3, and half of those at it, are 1/4 + 1/4: no bias. BCa is the same.
    found = bootstrap(with_ones([0, 0, 1]), ["a", "a", "b"], MEAN)
    assert (found.value, found.low, found.high, found.n) == (pytest.approx(1 / 3), 0, 1, 3)


def test_groups_are_drawn_whole():
    # Three groups of rows that cancel: every draw sums to 0 over 2, 4 or 6 rows. Rows drawn one by one would spread.
    rows, groups = with_ones([1, -1] * 3), [0, 0, 1, 1, 2, 2]
    assert math.isnan(bootstrap(rows, groups, MEAN).low)
    assert bootstrap(rows, None, MEAN).low < -0.5


@pytest.mark.parametrize(("n", "method"), [(60, "BCa"), (250, "percentile")])
def test_agrees_with_scipy(n: int, method: str):
    values = skewed(n)
    result = stats.bootstrap((values,), np.mean, n_resamples=20_000, method=method, rng=np.random.default_rng(3))
    found = bootstrap(with_ones(values), None, MEAN, draws=20_000)
    width = found.high - found.low
    assert found.low == pytest.approx(result.confidence_interval.low, abs=0.04 * width)
    assert found.high == pytest.approx(result.confidence_interval.high, abs=0.04 * width)
    if method == "BCa":
        # The plain interval of skewed values is another: this test can tell them apart.
        plain = stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(3)
        )
        assert abs(plain.confidence_interval.high - found.high) > 0.06 * width


def test_bca_of_a_ratio_is_scipys():
    values, weights = skewed(40), np.random.default_rng(2).integers(1, 5, 40)
    result = stats.bootstrap(
        (values, weights),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="BCa",
        rng=np.random.default_rng(3),
    )
    found = bootstrap(np.column_stack([values, weights]), None, MEAN, draws=20_000)
    width = found.high - found.low
    assert (found.low, found.high) == pytest.approx(tuple(result.confidence_interval), abs=0.04 * width)


def test_agrees_roughly_with_the_clustered_t():
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    values = (rng.random(len(groups)) < rng.beta(1, 1, 400)[groups]).astype(float)
    expected, found = mean(values, groups), bootstrap(with_ones(values), groups, MEAN)
    assert found.value == pytest.approx(expected.value)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.1 * (found.high - found.low))
    alone = bootstrap(with_ones(values), None, MEAN)
    assert found.high - found.low > 1.3 * (alone.high - alone.low)
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * standard_error(values), rel=0.05)


def test_groups_count_and_not_the_order_of_rows():
    values, groups = skewed(90), np.arange(90) // 3
    shuffled = np.random.default_rng(0).permutation(90)
    first = bootstrap(with_ones(values), groups, MEAN)
    again = bootstrap(with_ones(values)[shuffled], groups[shuffled], MEAN)
    assert (again.low, again.high) == pytest.approx((first.low, first.high), rel=1e-9)


def test_draws_are_seeded():
    features = with_ones(skewed(50))
    first = bootstrap(features, None, MEAN, draws=500, seed=4)
    assert first == bootstrap(features, None, MEAN, draws=500, seed=4)
    assert first != bootstrap(features, None, MEAN, draws=500, seed=5)


def test_kept_draws_are_those_that_are_not_kept(monkeypatch: pytest.MonkeyPatch):
    features = with_ones(skewed(300))
    kept = bootstrap(features, None, MEAN, draws=700)
    monkeypatch.setattr("thinkgap.metrics.bootstrap._KEPT", 0)
    assert bootstrap(features, None, MEAN, draws=700) == kept


def test_several_statistics_share_their_draws():
    features = np.column_stack([skewed(50), np.arange(50), np.ones(50)])
    both = bootstrap_all(features, None, [ratio(0, 2), ratio(1, 2)], draws=500)
    assert both == [bootstrap(features, None, ratio(column, 2), draws=500) for column in (0, 1)]
    assert bootstrap_means(features[:, :2], None, draws=500) == both


def test_degenerate_cases_have_no_interval():
    for features, groups in (
        (with_ones([0.25]), None),  # one row
        (with_ones([0, 1, 1]), ["a"] * 3),  # one group
        (with_ones([0.1] * 7), None),  # no spread, up to the rounding of sums
    ):
        found = bootstrap(features, groups, MEAN, draws=200)
        assert found.value == pytest.approx(features[:, 0].mean())
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.n == len(features)
    nothing = bootstrap(np.zeros((0, 2)), None, MEAN)
    assert nothing.n == 0
    assert math.isnan(nothing.value)
    # 0 / 0 on all rows.
    assert math.isnan(bootstrap(np.zeros((5, 2)), None, MEAN, draws=200).low)


def test_undefined_draws():
    # A ratio over one row in n that counts is 0/0 in (1 - 1/n)^n of the draws, over a third: no interval.
    features = np.column_stack([np.eye(9)[0], np.eye(9)[0]])
    assert math.isnan(bootstrap(features, None, MEAN).low)
    # Five of nine rows count: without any in (4/9)^9 = 0.07% of the draws. The interval is over the others.
    some = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0.0])
    found = bootstrap(np.column_stack([some * [1, 0, 1, 0, 1, 0, 0, 0, 0], some]), None, MEAN)
    assert found.value == 0.6
    assert 0 <= found.low < 0.4
    assert 0.8 < found.high <= 1


def test_quantile_of_the_draws_by_hand():
    # Means of two groups 0 and 1 are 0, 1/2, 1/2 and 1, a quarter each.
    features = with_ones([0, 1])
    assert [bootstrap_quantile(features, None, MEAN, level) for level in (0.1, 0.5, 0.9)] == [0, 0.5, 1]
    # Unlike an interval, it is there where all draws are equal.
    assert bootstrap_quantile(with_ones([0.5, 0.5]), None, MEAN, 0.95) == 0.5
    assert math.isnan(bootstrap_quantile(with_ones([1]), None, MEAN, 0.95))
    assert math.isnan(bootstrap_quantile(np.eye(9)[:, :1].repeat(2, axis=1), None, MEAN, 0.95))


def test_rows_to_report():
    assert bootstrap(with_ones([0, 1]), None, MEAN, draws=10, n=10).n == 10


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match=r"\[n, m\]"):
        bootstrap([1, 2, 3], None, MEAN)
    with pytest.raises(ValueError, match="0 draws"):
        bootstrap(with_ones([1, 2]), None, MEAN, draws=0)
    with pytest.raises(ValueError, match="groups of shape"):
        bootstrap(with_ones([1, 2]), ["a"], MEAN)


def test_many_groups_take_seconds_and_little_memory():
    features = np.random.default_rng(0).random((20_000, 8))
    tracemalloc.start()
    start = time.perf_counter()
    bootstrap_all(features, np.arange(20_000) % 4000, [ratio(column, 7) for column in range(7)])
    elapsed, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 0.5 s and 45 MB when this was written.
    assert elapsed < 8
    assert peak < 100e6
