"""Slot bias: every figure by hand, missing predictions, and counts against arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinkgap.metrics import rate
from thinkgap.metrics.bootstrap import bootstrap_quantile
from thinkgap.metrics.permutation import (
    flips_to_first,
    miller_madow,
    rsd,
    rsd_of_counts,
    rstd,
    rstd_around,
    rstd_of_counts,
    slot_divergence,
    slot_entropy,
    slot_histogram,
    slot_recalls,
)

GOLD = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
PRED = [0, 0, 0, 1, 1, 0, -1, 1, 2, 0]
"""Recalls 3/4, 2/4 and 1/2: the row without a prediction is a miss."""


def test_histogram_leaves_out_missing_predictions():
    assert slot_histogram(PRED, 3).tolist() == [5, 3, 1]
    assert slot_histogram(np.reshape(PRED, (5, 2)), 4).tolist() == [5, 3, 1, 0]


def test_recall_spread_by_hand():
    assert slot_recalls(PRED, GOLD, 3) == pytest.approx([3 / 4, 1 / 2, 1 / 2])
    # Mean 7/12; deviations 2/12, -1/12, -1/12: variance (4 + 1 + 1) / 144 / 3 = 1/72.
    assert rstd(PRED, GOLD, 3) == pytest.approx(math.sqrt(1 / 72))
    assert rsd(PRED, GOLD, 3) == pytest.approx(math.sqrt(1 / 72) / (7 / 12))


def test_spread_of_counts_is_that_of_arrays():
    hits, golds = [[3, 2, 1], [4, 4, 2]], [[4, 4, 2], [4, 4, 2]]
    assert rstd_of_counts(hits, golds) == pytest.approx([rstd(PRED, GOLD, 3), 0])
    assert rsd_of_counts(hits, golds) == pytest.approx([rsd(PRED, GOLD, 3), 0])


def test_spread_around_by_hand():
    # Observed 3/4 and 1/2; resampled 1 and 1/4: differences 1/4 and -1/4, SD 1/4. The observed counts themselves: 0.
    around = rstd_around([3, 2], [4, 4])
    assert around(np.array([[4, 1], [3, 2]]), np.array([[4, 4], [4, 4]])).tolist() == [0.25, 0]


def test_chance_is_what_equal_recalls_reach():
    rng = np.random.default_rng(0)
    above = 0
    for _ in range(300):
        gold, pred = rng.integers(0, 3, (2, 150))
        golds, hits = np.eye(3)[gold], np.eye(3)[gold] * (gold == pred)[:, None]
        around = rstd_around(hits.sum(axis=0), golds.sum(axis=0))
        statistic = lambda sums, around=around: around(sums[..., :3], sums[..., 3:])  # noqa: E731
        chance = bootstrap_quantile(np.concatenate([hits, golds], axis=1), None, statistic, 0.95, draws=300)
        above += rstd(pred, gold, 3) > chance
    # 5% of 300 are 15, with a standard deviation of 3.8.
    assert 6 <= above <= 28


def test_recalls_that_are_not_there_are_missing():
    assert np.isnan(slot_recalls([0, 1], [0, 1], 3)[2])
    assert math.isnan(rstd([0, 1], [0, 1], 3))
    assert rstd([1, 0], [0, 1], 2) == 0
    assert math.isnan(rsd([1, 0], [0, 1], 2))
    assert math.isnan(rsd_of_counts([0, 0], [1, 1]))


def test_entropy_by_hand():
    # 3 and 0 of 3, smoothed: 3.5/4 and 0.5/4. H = -(7/8 ln 7/8 + 1/8 ln 1/8) = 0.116840 + 0.259930 = 0.376770 nats.
    assert slot_entropy([3, 0]) == pytest.approx(0.376770 / math.log(2), abs=1e-6)
    assert slot_divergence([3, 0]) == pytest.approx(math.log(2) - 0.376770, abs=1e-6)
    assert slot_entropy([[5, 5, 5], [3, 3, 3]]) == pytest.approx([1, 1])
    assert slot_divergence([5, 5, 5]) == pytest.approx(0)


def test_entropy_without_predictions_or_choice_is_missing():
    assert np.isnan(slot_entropy([[0, 0], [0, 1]])).tolist() == [True, False]
    assert math.isnan(slot_divergence([0, 0]))
    assert math.isnan(slot_entropy([4]))


def test_miller_madow_by_hand():
    # Three of four slots occur among 20: (3 - 1) / 40.
    assert miller_madow([10, 9, 1, 0]) == 0.05
    assert math.isnan(miller_madow([0, 0]))


def test_miller_madow_is_the_bias_of_the_plain_entropy():
    rng = np.random.default_rng(0)
    p = rng.multinomial(40, [0.25] * 4, size=20_000) / 40
    entropy = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=1)
    # (4 - 1) / 80 = 0.0375; the mean over 20,000 draws has a standard error of 0.0002.
    assert math.log(4) - entropy.mean() == pytest.approx(miller_madow([10] * 4), abs=0.0015)


def test_flips_by_hand():
    # Right before: rows 0, 1, 2, 3, 5. Wrong after, of those: 1, 2, 3, 5, with slots 0, 0, -1, 2: 2 of 4.
    before, after = [1, 1, 1, 1, 0, 1], [1, 0, 0, 0, 0, 0]
    assert flips_to_first(before, after, [1, 0, 0, -1, 0, 2]) == rate([1, 1, 0, 0])
    # Rows 1 and 2 are one group.
    found = flips_to_first(before, after, [1, 0, 0, -1, 0, 2], list("abbcde"))
    assert found == rate([1, 1, 0, 0], list("bbce"))
    assert flips_to_first([1, 0], [1, 0], [0, 0]).n == 0


def test_rows_of_another_k_are_refused():
    for call in (lambda: slot_histogram([0, 3], 3), lambda: rstd([0], [2], 2), lambda: slot_histogram([-2], 3)):
        with pytest.raises(ValueError, match="one k at a time"):
            call()
