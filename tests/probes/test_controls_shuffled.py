"""Shuffled states by hand and by simulation: what is left is how often each slot is right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probes.controls.scores import hits
from probes.controls.shuffled import Shuffled, gold_histogram, refit_on_shuffled, shuffled_states
from probes.heads import rows_at
from tests.probes.fitters import FixedFitter, copies, hand_part, logistic, reads
from tests.probes.parts import made_part
from thinkgap.metrics import mean, paired_difference, rate
from thinkgap.readouts.sheet import Missing

AT = ("direct", "final_norm")


def found(*args: object, **kwargs: object) -> Shuffled:
    result = shuffled_states(*args, **kwargs)  # pyright: ignore[reportArgumentType]
    assert isinstance(result, Shuffled)
    return result


def test_three_rows_by_hand() -> None:
    """Right slots 0, 0, 1, each named by its state. On a circle of three, one of the first two rows gets the other's
    state and is right, the other two are wrong: 1/3 in every permutation, where intact states give 1.

    The row that is right and the one whose state it got are the first two, so a + b - mean is 2/3, 2/3, -1/3.
    """
    part = hand_part("test", [0, 0, 1], [2, 2, 2], np.eye(2)[[0, 0, 1]])
    one = found(part, *AT, reads(2), 5, draws=1)
    linear = mean([2 / 3, 2 / 3, -1 / 3])
    assert (one.accuracy.value, one.accuracy.low, one.accuracy.high) == pytest.approx(
        (1 / 3, linear.low, linear.high), abs=1e-12
    )
    many = found(part, *AT, reads(2), 5)
    assert (many.accuracy.value, many.above.value, many.accuracy.n) == pytest.approx((1 / 3, 2 / 3, 3))
    # Guessing 1/2; slots named as often as right: (2/3)^2 + (1/3)^2.
    assert (many.chance, many.gold_histogram) == pytest.approx((1 / 2, 5 / 9))


def test_rows_keep_their_own_options() -> None:
    """Two rows swap states. The second has two options: of 0, 0.2, 0.5, 1 it may name slot 1 at most, and is right."""
    part = hand_part("test", [3, 1], [4, 2], [[0, 0.2, 0.5, 1], [1, 0, 0, 0]])
    assert found(part, *AT, reads(4), 0).accuracy.value == pytest.approx(1 / 2)


def test_the_histogram_is_by_number_of_options() -> None:
    # Two options, slots 0, 0, 0, 1: 9/16 + 1/16 on four rows; three options, slots 2, 2: 1 on two rows.
    part = hand_part("test", [0, 0, 0, 1, 2, 2], [2, 2, 2, 2, 3, 3])
    assert gold_histogram(part) == pytest.approx((4 * 10 / 16 + 2 * 1) / 6)


def test_other_presentations_are_left_out() -> None:
    part = made_part("test", 40, seed=1, n_presentations=3)
    alone = part.shown("identity")
    probe = logistic(rows_at(alone, *AT), rows_at(alone, *AT))
    assert shuffled_states(part, *AT, probe, 2) == shuffled_states(alone, *AT, probe, 2)
    assert found(part, *AT, probe, 2).accuracy.n == 40


def test_a_good_probe_falls_to_the_prior() -> None:
    fit, test = made_part("fit", 200, seed=0), made_part("test", 300, seed=1)
    probe = logistic(rows_at(fit, *AT), rows_at(fit, *AT))
    own = hits(probe, rows_at(test, *AT)).mean()
    one = found(test, *AT, probe, 3)
    assert own > 0.8
    assert one.accuracy.low < one.gold_histogram < one.accuracy.high
    assert one.accuracy.high < 0.3
    assert one.above.value == pytest.approx(own - one.accuracy.value)
    assert one.above.low > 0.5


def test_the_interval_covers_what_other_items_would_give() -> None:
    """Slots of shares 0.6, 0.3, 0.1, named by the states: exchanged between items they meet with 0.36 + 0.09 + 0.01."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(100):
        gold = rng.choice(3, size=60, p=[0.6, 0.3, 0.1])
        one = found(hand_part("test", gold.tolist(), [3] * 60, np.eye(3)[gold]), *AT, reads(3), 0, draws=10)
        covered += one.accuracy.low <= 0.46 <= one.accuracy.high
    assert covered >= 90


def test_a_refit_sees_other_rows_states_and_its_own_labels() -> None:
    fit = hand_part("fit", [0, 1, 2, 3, 0], [4] * 5)
    select = hand_part("select", [1, 2, 3], [4] * 3)
    test = hand_part("test", [0, 1, 2], [3] * 3, np.eye(4)[[0, 2, 2]])
    fitter = FixedFitter(reads(4))
    one = refit_on_shuffled(fit, select, test, *AT, fitter, torch.tensor([0, 1, 1]), 7)
    ((fitted, selected),) = fitter.asked
    for part, rows in ((fit, fitted), (select, selected)):
        assert rows.gold.tolist() == part.gold.tolist()
        assert rows.k.tolist() == part.k.tolist()
        assert sorted(rows.states[:, 0].tolist()) == list(range(len(part)))
        assert not torch.any(rows.states[:, 0] == torch.arange(len(part)))
    # Intact test states name slots 0, 2, 2: right, wrong, right; the real probe has 0, 1, 1: right, right, wrong.
    assert not isinstance(one, Missing)
    assert one.accuracy == rate([1, 0, 1])
    assert one.above == paired_difference([1, 0, 1], [1, 1, 0]).difference


def test_a_refit_learns_nothing_about_the_states() -> None:
    fit, select, test = (made_part(role, 240, seed=seed) for seed, role in enumerate(("fit", "select", "test")))
    real = logistic(rows_at(fit, *AT), rows_at(select, *AT))
    slots = real.slots(test.state(*AT), test.k)
    one = refit_on_shuffled(fit, select, test, *AT, logistic, slots, 0)
    assert not isinstance(one, Missing)
    assert one.accuracy.value < 0.4
    assert one.above.low > 0.4


def test_one_row_has_no_other() -> None:
    one = copies("test", 1, seed=0, copies=1)
    assert isinstance(shuffled_states(one, *AT, reads(24), 0), Missing)
    assert isinstance(refit_on_shuffled(one, one, one, *AT, logistic, torch.zeros(1), 0), Missing)
