"""PriDe by hand, labels without probability, and the draw of the items that give the prior."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinkgap.metrics.pride import debiased_slots, over_labels, prior_items, slot_prior


def test_log_probabilities_over_labels():
    assert np.exp(over_labels(np.log([0.03, 0.01]))) == pytest.approx([0.75, 0.25])
    assert over_labels([0.0, -math.inf]).tolist() == [0, -math.inf]
    assert np.isnan(over_labels([-math.inf, -math.inf])).all()


def test_prior_by_hand():
    # Item 1 in two orders: (0.8, 0.2) and (0.5, 0.5); geometric means sqrt(0.4) and sqrt(0.1), in ratio 2 : 1. Item 2:
    # (0.5, 0.5) twice. Mean of (2/3, 1/3) and (1/2, 1/2): (7/12, 5/12). Scaling an order's labels changes nothing.
    logprobs = np.log([[[0.8, 0.2], [0.05, 0.05]], [[0.5, 0.5], [0.5, 0.5]]])
    assert slot_prior(logprobs) == pytest.approx([7 / 12, 5 / 12])


def test_debiased_slots_by_hand():
    # 0.6 / 0.8 = 0.75 against 0.4 / 0.2 = 2: slot 1. 0.9 / 0.8 against 0.1 / 0.2: slot 0.
    logprobs = np.log([[0.6, 0.4], [0.9, 0.1], [0.006, 0.004]])
    assert debiased_slots(logprobs, [0.8, 0.2]).tolist() == [1, 0, 1]


def test_labels_without_probability():
    zero = -math.inf
    # The first item says nothing finite of slot 1 and is left out of the prior; the second has (3/4, 1/4).
    logprobs = np.array([[[0, zero]], np.log([[0.3, 0.1]])])
    assert slot_prior(logprobs) == pytest.approx([3 / 4, 1 / 4])
    assert np.isnan(slot_prior(logprobs[:1])).all()
    assert np.isnan(slot_prior(np.zeros((0, 2, 3)))).all()
    assert debiased_slots([[zero, -5], [zero, zero]], [0.1, 0.9]).tolist() == [1, -1]
    with pytest.raises(ValueError, match="without a prior"):
        debiased_slots([[0, 0]], [1, 0])


def test_items_of_the_prior_are_drawn_by_seed_and_id():
    items = [f"q{i}" for i in range(50)]
    drawn = prior_items(items, 0.1, 0)
    assert drawn.sum() == 5
    assert drawn[::-1].tolist() == prior_items(items[::-1], 0.1, 0).tolist()
    assert drawn.tolist() != prior_items(items, 0.1, 1).tolist()
    # One at least, and never all; of one item none, as its accuracy is wanted too.
    assert [int(prior_items(items[:n], share, 0).sum()) for n, share in ((5, 0.01), (2, 0.9), (1, 0.5), (0, 0.5))] == [
        1,
        1,
        0,
        0,
    ]
    for share in (0, 1):
        with pytest.raises(ValueError, match="some of the items"):
            prior_items(items, share, 0)
