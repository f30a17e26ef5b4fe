"""Answers without states, by counting."""

from __future__ import annotations

import pytest
import torch

from probes.controls.priors import priors
from probes.heads import rows_at
from tests.probes.fitters import hand_part, logistic
from thinkgap.metrics import paired_difference, rate


def test_by_counting() -> None:
    """Fit: two options 1, 1, 0; four options 3 (5 times), 2 (4), 0 (2). Slots 0 to 3 are right 3, 2, 4, 5 times."""
    fit = hand_part("fit", [1, 1, 0, *[3] * 5, *[2] * 4, 0, 0], [2] * 3 + [4] * 11)
    test = hand_part("test", [1, 1, 0, 3, 2], [2, 2, 2, 4, 3])
    one = priors(fit, test, torch.tensor([1, 1, 0, 3, 1]))
    assert (one.majority_slot, dict(one.slot_by_k)) == (3, {2: 1, 4: 3})
    # Slot 3 where there is one, else slot 2, else slot 0: 0, 0, 0, 3, 2.
    assert one.majority.accuracy == rate([0, 0, 1, 1, 1])
    # Slot 1 of two, slot 3 of four; no fit row has three options, so as above: 1, 1, 1, 3, 2.
    assert one.by_k.accuracy == rate([1, 1, 0, 1, 1])
    assert one.first.accuracy == rate([0, 0, 1, 0, 0])
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


def test_a_probe_of_constant_states_is_the_prior() -> None:
    """As embeddings are where the token at the read position is the same for all items."""
    gold = [0, 1, 1, 1, 2, 3, 1]
    part = hand_part("fit", gold, [4] * 7, [[0.3, -2.0]] * 7)
    rows = rows_at(part, "direct", "final_norm")
    slots = logistic(rows, rows).slots(rows.states, rows.k)
    one = priors(part, part, slots)
    assert slots.tolist() == [1] * 7
    assert one.by_k.accuracy == rate([int(slot == 1) for slot in gold])
    assert one.by_k.above.value == 0
