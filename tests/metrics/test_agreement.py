"""Agreement over orders: every figure by hand, missing predictions, rotations."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from thinkgap.metrics.agreement import (
    all_agree,
    all_correct,
    circular_eval,
    fleiss_kappa,
    has_all_rotations,
    is_circular,
    modal_share,
    pairwise_agreement,
)

CONTENTS = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [3, 1, 2, 0], [2, 2, -1, -1], [-1] * 4]


def test_agreement_by_hand():
    # Six pairs each: all; the three of the zeros; one of each; none; one, as missing predictions agree with nothing.
    assert pairwise_agreement(CONTENTS) == pytest.approx([1, 3 / 6, 2 / 6, 0, 1 / 6, 0])
    assert all_agree(CONTENTS).tolist() == [1, 0, 0, 0, 0, 0]
    assert modal_share(CONTENTS) == pytest.approx([1, 3 / 4, 2 / 4, 1 / 4, 2 / 4, 0])


@pytest.mark.parametrize("figure", [pairwise_agreement, all_agree, modal_share])
def test_items_with_a_missing_prediction_can_be_left_out(figure):
    found = figure(CONTENTS, "leave_out")
    assert np.isnan(found).tolist() == [False] * 4 + [True] * 2
    assert found[:4].tolist() == figure(CONTENTS)[:4].tolist()


@pytest.mark.parametrize("figure", [pairwise_agreement, all_agree, modal_share])
def test_one_order_has_no_agreement(figure):
    assert np.isnan(figure([[1], [2]])).all()
    assert figure(np.zeros((0, 3))).shape == (0,)
    with pytest.raises(ValueError, match="items, orders"):
        figure([1, 2])


def test_kappa_by_hand():
    # Agreement of the items 1, 1, 0: mean 2/3. Each content has a share of 1/2: by chance 1/2. (2/3 - 1/2) / (1/2).
    assert fleiss_kappa([[0, 0], [1, 1], [0, 1]], 2) == pytest.approx(1 / 3)
    # Only that content 2 is never predicted, and an item that could not be read, does not change it.
    assert fleiss_kappa([[0, 0], [1, 1], [0, 1], [0, -1]], 3) == pytest.approx(1 / 3)


@pytest.mark.parametrize("contents", [[[1, 1], [1, 1]], [[0], [1]], [[0, -1], [-1, 1]], np.zeros((0, 3))])
def test_kappa_that_is_not_determined_is_missing(contents):
    assert math.isnan(fleiss_kappa(contents, 3))


def test_all_correct_by_hand():
    assert all_correct([[1, 1, 1], [1, 0, 1]]).tolist() == [True, False]


def test_rotations():
    orders = list(permutations(range(3)))
    # 012, 120 and 201 rotate; 021, 102 and 210 do not.
    assert [order for order, turned in zip(orders, is_circular(orders), strict=True) if turned] == [
        (0, 1, 2),
        (1, 2, 0),
        (2, 0, 1),
    ]
    assert has_all_rotations([orders, [orders[0]] * 6]).tolist() == [True, False]


def test_circular_eval_by_hand():
    orders = [[(0, 1, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)]] * 3
    # The third order is no rotation: being wrong there does not count. The mean over rotations of the last is 2/3.
    correct = [[1, 1, 1, 1], [1, 1, 0, 1], [1, 0, 1, 1]]
    assert circular_eval(correct, orders).tolist() == [True, True, False]
    with pytest.raises(ValueError, match="row 1 is not shown in all rotations"):
        circular_eval([[1, 1], [1, 1]], [[(0, 1), (1, 0)], [(0, 1), (0, 1)]])
