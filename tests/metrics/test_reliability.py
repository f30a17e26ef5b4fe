"""Krippendorff's alpha: by hand, missing ratings, one value only, and the draws' formula against the package."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest

from thinkgap.metrics import reliability
from thinkgap.metrics.reliability import Level, krippendorff_alpha

NONE = math.nan


def test_nominal_by_hand_with_missing_raters():
    # Units (0, 0), (0, 1), (1, 1, 1), and one that a single rater rated, which says nothing.
    ratings = [[0, 0, 1, 2], [0, NONE, 1, NONE], [NONE, 1, 1, NONE]]
    found = krippendorff_alpha(ratings, "nominal", draws=200)
    # Coincidences: 00 is 2, 01 and 10 are 1, 11 is 3 * 2 / 2 = 3; totals 3 and 4 of 7. Observed 2 unequal pairs,
    # by chance 2 * 3 * 4 / 6 = 4. Alpha = 1 - 2/4.
    assert found.value == pytest.approx(1 / 2)
    assert found.n == 3


def test_ordinal_by_hand():
    ratings = [[1, 1, 3, 2], [1, 2, 3, 3]]
    # Coincidences: 11 is 2, 33 is 2, 12 and 21 and 23 and 32 are 1; totals 3, 2, 3 of 8, middles 1.5, 4, 6.5.
    # Differences: 12 and 23 are 2.5^2 = 6.25, 13 is 5^2 = 25. Observed 4 * 6.25 = 25; by chance
    # 2 * (3*2*6.25 + 2*3*6.25 + 3*3*25) / 7 = 600/7. Alpha = 1 - 25 * 7 / 600 = 17/24.
    assert krippendorff_alpha(ratings, "ordinal", draws=200).value == pytest.approx(17 / 24)
    # Nominal: observed 4, by chance 2 * (6 + 6 + 9) / 7 = 6.
    assert krippendorff_alpha(ratings, "nominal", draws=200).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_not_determined(level: Level):
    one_value = krippendorff_alpha([[1, 1, 2], [1, 1, NONE]], level)
    assert math.isnan(one_value.value)  # the 2 has no partner
    assert one_value.n == 2
    assert krippendorff_alpha([[1, NONE], [NONE, 2]], level).n == 0
    assert krippendorff_alpha(np.zeros((3, 0)), level).n == 0
    with pytest.raises(ValueError, match="raters, units"):
        krippendorff_alpha([1.0, 2.0], level)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_draws_take_the_formula_of_the_package(level: Level):
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 80)
    ratings = np.clip(truth + rng.integers(-1, 2, (4, 80)), 1, 5).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = NONE
    paired = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    values = np.unique(paired[~np.isnan(paired)])
    counts = (paired.T[:, :, None] == values).sum(axis=1)
    for units in (np.arange(len(counts)), rng.integers(0, len(counts), len(counts))):
        expected = krippendorff.alpha(value_counts=counts[units], value_domain=values, level_of_measurement=level)
        sums = reliability._coincidences(counts)[units].sum(axis=0)
        assert float(reliability._alpha(sums, level)) == pytest.approx(expected)
    found = krippendorff_alpha(ratings, level, draws=500)
    assert found.low < found.value < found.high


def test_groups_are_drawn_whole():
    rng = np.random.default_rng(2)
    ratings = rng.integers(0, 3, (2, 220)).astype(float)
    ratings[1] = np.where(rng.random(220) < 0.6, ratings[0], ratings[1])
    alone = krippendorff_alpha(ratings, "nominal", draws=500)
    twice = krippendorff_alpha(np.repeat(ratings, 2, axis=1), "nominal", np.repeat(np.arange(220), 2), draws=500)
    assert twice.high - twice.low == pytest.approx(alone.high - alone.low, rel=0.02)
