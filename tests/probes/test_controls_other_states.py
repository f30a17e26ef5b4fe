"""Probes of other states beside the real one, paired by item."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probes.controls.other_states import OtherStates, other_states
from probes.heads import rows_at
from tests.probes.fitters import FixedFitter, hand_part, logistic, reads
from tests.probes.parts import made_part
from thinkgap.errors import DataError
from thinkgap.metrics import paired_difference, rate
from thinkgap.readouts.sheet import Missing

AT = ("direct", "final_norm")
FIT = hand_part("fit", [0, 1], [2, 2], np.eye(2))
REFERENCE = hand_part(
    "test",
    [0, 0, 1, 1, 0],
    [2] * 5,
    items=["a", "b", "b", "c", "d"],
    presentations=["identity", "identity", "permutation_1", "identity", "identity"],
)
# Right on a and b, wrong on c and d; the other order of b is wrong and counts nowhere.
REAL = torch.tensor([0, 0, 0, 0, 1])


def test_pairs_by_hand() -> None:
    """Without images: e, d, b, a, right on e and a. Pairs (other, real): d (0, 0), b (0, 1), a (1, 1)."""
    text = hand_part(
        "test",
        [1, 0, 0, 0],
        [2] * 4,
        np.eye(2)[[1, 1, 1, 0]],
        items=["e", "d", "b", "a"],
        presentations=["control_text_only"] * 4,
    )
    fitter = FixedFitter(reads(2))
    found = other_states(FIT, FIT, text, *AT, fitter, REFERENCE, REAL)
    assert isinstance(found, OtherStates)
    assert len(fitter.asked) == 1
    assert found.accuracy == rate([1, 0, 0, 1])
    expected = paired_difference([0, 0, 1], [0, 1, 1])
    assert (found.above, found.p_value) == (expected.difference, expected.p_value)
    assert found.above.value == pytest.approx(1 / 3)


def test_another_order_is_no_pair() -> None:
    other = hand_part("test", [1], [2], np.eye(2)[[1]], items=["b"])
    with pytest.raises(DataError, match="item b is shown in another order"):
        other_states(FIT, FIT, other, *AT, FixedFitter(reads(2)), REFERENCE, REAL)


def test_without_common_items_or_training_rows_it_is_missing() -> None:
    other = hand_part("test", [1], [2], np.eye(2)[[1]], items=["z"])
    assert isinstance(other_states(FIT, FIT, other, *AT, FixedFitter(reads(2)), REFERENCE, REAL), Missing)
    assert isinstance(
        other_states(FIT.chosen([False, False]), FIT, REFERENCE, *AT, FixedFitter(reads(2)), REFERENCE, REAL), Missing
    )


def test_states_without_the_answer_are_below() -> None:
    """The first of two states holds nothing; so stands for random weights."""
    fit, select, test = (made_part(role, 200, seed=seed) for seed, role in enumerate(("fit", "select", "test")))
    real = logistic(rows_at(fit, *AT), rows_at(select, *AT)).slots(test.state(*AT), test.k)
    found = other_states(fit, select, test, "direct", "layer_0", logistic, test, real)
    assert isinstance(found, OtherStates)
    assert found.accuracy.low < 0.25 < found.accuracy.high
    assert found.above.low > 0.4
    assert found.p_value < 0.001
