"""Position figures by hand."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from thinkgap.metrics import first_slot_rate, gold_first_rate, mean_reciprocal_k


def test_rates_count_slot_zero():
    # Slots 0, 0, 0, 2: three of four; slots 1, 0, 3, 2: one of four.
    first, gold = first_slot_rate([0, 0, 0, 2]), gold_first_rate([1, 0, 3, 2])
    assert (first.value, first.n) == (0.75, 4)
    assert (gold.value, gold.n) == (0.25, 4)
    assert (first.low, first.high) == pytest.approx(proportion_confint(3, 4, method="wilson"))


def test_rates_cluster_by_group():
    slots, groups = [0, 0, 0, 0, 1, 1, 1, 1], ["a"] * 4 + ["b"] * 4
    wide, narrow = first_slot_rate(slots, groups), first_slot_rate(slots)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_mean_reciprocal_k():
    # (1/2 + 1/2 + 1/4 + 1/5) / 4 = 1.45 / 4 = 0.3625
    assert mean_reciprocal_k([2, 2, 4, 5]) == pytest.approx(0.3625)
    assert math.isnan(mean_reciprocal_k([]))
    with pytest.raises(ValueError, match="0 options"):
        mean_reciprocal_k([2, 0])
