"""Answers without states, by counting."""

from __future__ import annotations

import pytest
import torch

from probes.controls.priors import priors
from tests.probes.fitters import hand_part
from thinkgap.metrics import paired_difference, rate


def test_by_counting() -> None:
    """Fit: two options 1, 1, 0; four options 3, 3, 0, 3. Slots 0 to 3 are right 2, 2, 0, 3 times."""
    fit = hand_part("fit", [1, 1, 0, 3, 3, 0, 3], [2, 2, 2, 4, 4, 4, 4])
    test = hand_part("test", [1, 1, 0, 3, 0], [2, 2, 2, 4, 3])
    one = priors(fit, test, torch.tensor([1, 1, 0, 3, 1]))
    assert (one.majority_slot, dict(one.slot_by_k)) == (3, {2: 1, 4: 3})
    # Slot 3 where there is one, else the first of slots 0 and 1, which are as frequent: 0, 0, 0, 3, 0.
    assert one.majority.accuracy == rate([0, 0, 1, 1, 1])
    # Slot 1 of two, slot 3 of four; no fit row has three options, so as above: 1, 1, 1, 3, 0.
    assert one.by_k.accuracy == rate([1, 1, 0, 1, 1])
    assert one.first.accuracy == rate([0, 0, 1, 0, 1])
    # (3 * 1/2 + 1/4 + 1/3) / 5
    assert one.chance == pytest.approx((3 / 2 + 1 / 4 + 1 / 3) / 5)
    # The probe is wrong on the last row only.
    assert one.by_k.above == paired_difference([1, 1, 0, 1, 1], [1, 1, 1, 1, 0]).difference
    assert one.majority.above.value == pytest.approx(1 / 5)


def test_the_test_split_teaches_nothing_and_groups_count_once() -> None:
    fit = hand_part("fit", [1], [2])
    test = hand_part("test", [0, 0, 1, 1], [2] * 4, groups=["x", "x", "y", "y"])
    one = priors(fit, test, torch.tensor([0, 0, 1, 1]))
    assert one.majority.accuracy == rate([0, 0, 1, 1], ["x", "x", "y", "y"])


def test_only_the_source_order_is_reported() -> None:
    names = ["identity", "permutation_1"]
    test = hand_part("test", [0, 1], [2, 2], items=["a", "a"], presentations=names)
    one = priors(hand_part("fit", [0], [2]), test, torch.tensor([0, 0]))
    assert one.majority.accuracy == rate([1])
