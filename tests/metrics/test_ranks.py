"""Spearman: ties by hand, what empties do, missing values, and draws that rank as scipy ranks repeated rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from thinkgap.metrics import ranks
from thinkgap.metrics.bootstrap import bootstrap_means, bootstrap_weights
from thinkgap.metrics.ranks import spearman


def reference(x: ArrayLike, y: ArrayLike) -> float:
    result: Any = stats.spearmanr(x, y)
    return float(result.statistic)


def test_ties_by_hand():
    # Ranks 1, 2.5, 2.5, 4 and 1.5, 1.5, 3, 4; deviations -1.5, 0, 0, 1.5 and -1, -1, 0.5, 1.5.
    # Products sum to 1.5 + 2.25 = 3.75, squares to 4.5 and 4.5.
    found = spearman([1, 2, 2, 3], [1, 1, 2, 3], draws=100)
    assert found.value == pytest.approx(3.75 / 4.5)
    assert found.n == 4


def test_ties_at_the_bottom_can_turn_the_sign():
    assert spearman([0.1, 0.2], [3, 2], draws=100).value == pytest.approx(-1)
    # Three more at (0, 1): ranks 2, 2, 2, 4, 5 and 2, 2, 2, 5, 4; 3 + 2 + 2 = 7 of sqrt(8 * 8).
    assert spearman([0, 0, 0, 0.1, 0.2], [1, 1, 1, 3, 2], draws=100).value == pytest.approx(7 / 8)


def test_not_determined():
    assert spearman([math.nan, 1], [1, math.nan]).n == 0
    constant = spearman([1, 1, 1], [1, 2, 3])
    assert math.isnan(constant.value)
    assert constant.n == 3
    assert math.isnan(spearman([1, 2, math.nan], [5, 5, 6]).value)
    with pytest.raises(ValueError, match="two numbers per row"):
        spearman([1, 2], [1])


def test_draws_rank_their_own_rows():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 40).astype(float)
    weights = rng.integers(0, 4, (6, 40))
    found = ranks._correlation(ranks._Ranks(x), ranks._Ranks(y), weights.astype(float))
    for one, figure in zip(weights, found, strict=True):
        assert figure == pytest.approx(reference(np.repeat(x, one), np.repeat(y, one)))


def test_interval_is_scipys():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 6, 250).astype(float)
    y = x + rng.integers(0, 6, 250)
    result = stats.bootstrap(
        (x, y),
        reference,
        paired=True,
        vectorized=False,
        n_resamples=1500,
        method="percentile",
        rng=np.random.default_rng(4),
    )
    found = spearman(x, y, draws=6000)
    width = found.high - found.low
    assert found.low == pytest.approx(result.confidence_interval.low, abs=0.1 * width)
    assert found.high == pytest.approx(result.confidence_interval.high, abs=0.1 * width)


def test_groups_are_drawn_whole():
    rng = np.random.default_rng(5)
    x = rng.random(210)
    y = x + rng.random(210)
    alone = spearman(x, y, draws=1000)
    repeated = spearman(np.repeat(x, 3), np.repeat(y, 3), np.repeat(np.arange(210), 3), draws=1000)
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))


def test_weights_of_a_mean_give_the_bootstrap_of_sums():
    values = np.random.default_rng(6).exponential(size=60)
    groups = np.repeat(np.arange(20), 3)
    found = bootstrap_weights(60, groups, lambda weights: (weights * values).sum(axis=1) / weights.sum(axis=1), 2000)
    plain = bootstrap_means(values[:, None], groups, 2000)[0]
    assert (found.value, found.low, found.high, found.n) == pytest.approx((plain.value, plain.low, plain.high, 60))
    assert bootstrap_weights(0, None, lambda weights: weights[:, 0]).n == 0
    assert math.isnan(bootstrap_weights(2, [1, 1], lambda weights: weights.sum(axis=1)).low)
    with pytest.raises(ValueError, match="ask for 1 or more"):
        bootstrap_weights(2, None, lambda weights: weights.sum(axis=1), 0)
