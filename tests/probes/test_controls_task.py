"""The control task: random slots that stay with their question, a division without overlap, selectivity by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probes.controls.control_task import ControlTask, Division, control_slots, control_task, divide
from probes.controls.scores import difference
from probes.heads import Fitter
from probes.part import Part
from tests.probes.fitters import FixedFitter, copies, hand_part, logistic, named
from tests.probes.parts import made_part
from thinkgap.metrics import rate
from thinkgap.readouts.sheet import Missing

AT = ("direct", "final_norm")


def task(fit: Part, test: Part, fitter: Fitter, slots: torch.Tensor, seed: int = 0) -> ControlTask:
    found = control_task(fit, test, *AT, fitter, slots, seed)
    assert isinstance(found, ControlTask)
    return found


def division(part: Part, seed: int) -> Division:
    found = divide(part, seed)
    assert isinstance(found, Division)
    return found


def test_a_slot_stays_with_its_question() -> None:
    part = made_part("fit", 400, seed=0, n_options=(2, 4), n_presentations=3)
    slots = control_slots(part, 1)
    assert torch.all(slots < part.k)
    by_item = slots.reshape(400, 3)
    assert torch.equal(by_item, by_item[:, :1].expand(-1, 3))
    four = slots[part.k == 4][::3]
    # A quarter each of about 200; standard deviation sqrt(200 * 3/16) = 6.
    assert torch.all((torch.bincount(four, minlength=4) - len(four) / 4).abs() < 25)
    turned = part.chosen(np.arange(len(part))[::-1])
    assert torch.equal(control_slots(turned, 1), slots.flip(0))
    assert not torch.equal(control_slots(part, 2), slots)


def test_one_presentation_of_each_question_is_held_out() -> None:
    part = made_part("fit", 10, seed=0, n_presentations=3)
    one = division(part, 4)
    assert not one.in_sample
    # Ten held-out rows, two of which (0.2) choose settings.
    assert [int(mask.sum()) for mask in (one.fit, one.select, one.seen)] == [20, 2, 8]
    assert np.all(one.fit.astype(int) + one.select + one.seen == 1)
    assert sorted(part.item_id[~one.fit].tolist()) == sorted(set(part.item_id.tolist()))
    # Not always the same presentation.
    assert len(set(part.presentation[~one.fit].tolist())) == 3


def test_the_division_does_not_depend_on_the_order_of_rows() -> None:
    part = made_part("fit", 10, seed=0, n_presentations=3)
    order = np.random.default_rng(0).permutation(len(part))
    one, turned = division(part, 4), division(part.chosen(order), 4)
    assert np.array_equal(one.fit[order], turned.fit)
    assert np.array_equal(one.seen[order], turned.seen)


def test_questions_with_one_presentation_are_all_fitted() -> None:
    items, names = ["a", "b", "b", "c", "c"], ["identity", "identity", "seed_1", "identity", "seed_1"]
    one = division(hand_part("fit", [0] * 5, [2] * 5, items=items, presentations=names), 0)
    assert (one.fit.sum(), one.select.sum(), one.seen.sum(), one.fit[0]) == (3, 1, 1, True)
    lone = hand_part("fit", [0] * 3, [2] * 3, items=items[:3], presentations=names[:3])
    assert isinstance(divide(lone, 0), Missing)


def test_one_presentation_is_in_sample() -> None:
    part = made_part("fit", 6, seed=0)
    one = division(part, 0)
    assert one.in_sample
    assert one.fit.all()
    assert one.select.all()
    assert one.seen.all()


def test_figures_by_hand() -> None:
    """A probe that always says slot 0, on the control slots of 10 questions of two presentations and of 4 test rows.

    The real probe is right on 3 of 4: selectivity is 3/4 minus the share of slot 0 among the 8 reported rows.
    """
    fit = made_part("fit", 10, seed=0, d=4, n_presentations=2)
    test = hand_part("test", [0, 1, 2, 3], [4] * 4, np.zeros((4, 4)))
    fitter = FixedFitter(named(1.0, 0.0, 0.0, 0.0, d=4))
    found = task(fit, test, fitter, torch.tensor([0, 1, 2, 0]), seed=4)
    labels, one = control_slots(fit, 4), division(fit, 4)
    seen = rate((labels == 0).numpy()[one.seen])
    assert 0 < seen.value < 1
    assert found.seen == seen
    assert found.selectivity.value == pytest.approx(3 / 4 - seen.value)
    assert found.selectivity == difference(rate([1, 1, 1, 0]), seen)
    assert found.unseen == rate((control_slots(test, 4) == 0).numpy())
    assert found.chance == 1 / 4
    # What was fitted, and what chose: control labels of rows that are not reported.
    ((fitted, selected),) = fitter.asked
    states = fit.state(*AT)
    assert torch.equal(fitted.states, states[torch.from_numpy(one.fit)])
    assert torch.equal(fitted.gold, labels[torch.from_numpy(one.fit)])
    assert torch.equal(selected.states, states[torch.from_numpy(one.select)])
    assert torch.equal(selected.gold, labels[torch.from_numpy(one.select)])


def test_memory_is_seen_and_does_not_reach_other_questions() -> None:
    """States that name their question: its random slot is recalled in a new presentation, not on new questions."""
    fit, test = copies("fit", 60, seed=0, d=64, noise=0.3), copies("test", 300, seed=1, d=64, noise=0.3)
    found = task(fit, test, logistic, test.gold)
    assert found.seen.value > 0.8
    assert found.unseen.low < found.chance < found.unseen.high
    assert found.selectivity.value == pytest.approx(1 - found.seen.value)


def test_a_question_in_both_splits_shows() -> None:
    fit = copies("fit", 60, seed=0, d=64, noise=0.3)
    assert task(fit, fit, logistic, fit.gold).unseen.low > 0.5


def test_states_that_hold_the_answer_alone_are_selective() -> None:
    fit, test = made_part("fit", 200, seed=0, n_presentations=3), made_part("test", 200, seed=1)
    found = task(fit, test, logistic, test.gold)
    assert found.seen.high < 0.4
    assert found.selectivity.low > 0.5
    assert found.unseen.low < 0.25 < found.unseen.high


def test_in_sample_memory_is_an_upper_bound() -> None:
    fit, test = copies("fit", 20, seed=0, copies=1, d=64), copies("test", 200, seed=1, copies=1, d=64)
    found = task(fit, test, logistic, test.gold)
    assert found.in_sample
    assert found.seen.value == 1
    assert found.unseen.low < 0.25 < found.unseen.high
