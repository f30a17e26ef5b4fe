"""Standardising, masking and the loss of a linear probe, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from probes.linear_probe import LinearProbe, Standard, cross_entropy, mask_absent
from tests.probes.parts import made_part


def test_the_standard_is_of_the_fit_split_and_a_constant_feature_becomes_zero() -> None:
    states = torch.tensor([[1.0, 7.0], [3.0, 7.0]])
    standard = Standard.of(states)
    assert standard.mean.tolist() == [2.0, 7.0]
    assert standard.scale.tolist() == [1.0, 1.0], "the population SD of 1 and 3 is 1; a constant one is left alone"
    assert standard(states).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert standard(torch.tensor([[4.0, 9.0]])).tolist() == [[2.0, 2.0]]


def test_slots_that_an_item_lacks_are_never_predicted() -> None:
    probe = LinearProbe(Standard(torch.zeros(3), torch.ones(3)), torch.eye(3), torch.zeros(3))
    states = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [5.0, 5.0, 1.0]])
    assert probe.slots(states, torch.tensor([3, 2, 3])).tolist() == [2, 1, 0]
    assert probe.logits(states, torch.tensor([3, 2, 5]))[:2].tolist() == [[1, 2, 3], [1, 2, -math.inf]]


def test_the_loss_is_minus_log_p_over_the_slots_that_are_there() -> None:
    logits = mask_absent(torch.tensor([[0.0, 0.0, 0.0], [0.0, math.log(3), 9.0]]), torch.tensor([3, 2]))
    found = cross_entropy(logits, torch.tensor([1, 1]))
    assert found.tolist() == pytest.approx([math.log(3), math.log(4 / 3)])  # p = 1/3, and 3 / (1 + 3)
    both = cross_entropy(torch.stack([logits, logits]), torch.tensor([1, 1]))
    assert torch.equal(both, torch.stack([found, found])), "over leading dimensions"
    assert cross_entropy(logits, torch.tensor([3, 0])).tolist() == pytest.approx([math.inf, math.log(4)])


def test_directions_are_per_unit_of_the_raw_state_and_centred_over_slots() -> None:
    probe = LinearProbe(
        Standard(torch.zeros(2), torch.tensor([2.0, 1.0])), torch.tensor([[4.0, 0.0], [1.0, 3.0]]), torch.zeros(2)
    )
    # Slot 0: (4/2, 1), slot 1: (0/2, 3); their mean is (1, 2).
    assert probe.directions().tolist() == [[1.0, -1.0], [-1.0, 1.0]]


def test_no_rows_of_a_part_are_a_part() -> None:
    part = made_part("fit", 5, seed=0)
    assert len(part.chosen([])) == 0
    assert part.chosen([3, 1]).item_id.tolist() == ["fit-3", "fit-1"]
    assert len(part.chosen(part.item_id == "fit-2")) == 1
