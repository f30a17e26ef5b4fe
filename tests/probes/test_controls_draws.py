"""Seeded draws: uniform, nested, independent of the order of rows."""

from __future__ import annotations

import numpy as np
import pytest

from probes.controls.draws import digest, givers, question_order, rows_of
from probes.controls.scores import difference, source_order
from tests.probes.fitters import hand_part
from tests.probes.parts import made_part
from thinkgap.errors import DataError
from thinkgap.metrics import rate


def test_a_question_of_most_options_comes_first() -> None:
    part = hand_part("fit", [0] * 30, [2] * 20 + [5] * 2 + [3] * 8)
    for seed in range(5):
        order = question_order(part, seed, "x")
        assert sorted(order) == sorted(part.item_id.tolist())
        assert order[0] in {"fit-20", "fit-21"}
        # The others come by digest.
        assert order[1:] == sorted(order[1:], key=lambda item, seed=seed: digest(seed, "x", item))
    assert question_order(part, 0, "x") != question_order(part, 1, "x")
    assert question_order(part, 0, "x") != question_order(part, 0, "y")


def test_the_order_of_rows_changes_nothing() -> None:
    part = made_part("fit", 12, seed=0, n_presentations=3)
    turned = part.chosen(np.random.default_rng(0).permutation(len(part)))
    assert question_order(part, 4, "x") == question_order(turned, 4, "x")
    order = question_order(part, 4, "x")
    assert len(order) == 12
    chosen = turned.item_id[rows_of(turned, order[:5])].tolist()
    assert sorted(chosen) == sorted(order[:5] * 3)


@pytest.mark.parametrize("n", [2, 3, 50])
def test_every_row_gets_the_state_of_another(n: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = givers(n, rng)
        assert sorted(found.tolist()) == list(range(n))
        assert not np.any(found == np.arange(n))


def test_each_other_row_is_as_likely() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount([givers(4, rng)[0] for _ in range(3000)], minlength=4)
    # 1000 each, standard deviation sqrt(3000 * 2/9) = 26.
    assert counts[0] == 0
    assert np.all(np.abs(counts[1:] - 1000) < 104)


def test_rows_in_the_source_order() -> None:
    names = ["identity", "permutation_1", "control_text_only"]
    part = hand_part("test", [0] * 3, [2] * 3, items=["a"] * 3, presentations=names)
    assert source_order(part).tolist() == [True, False, False]
    # Without the images there is no identity.
    assert source_order(part.chosen([2])).tolist() == [True]
    with pytest.raises(DataError, match="item a has 2 test rows"):
        source_order(part.chosen([0, 0]))


def test_the_difference_of_independent_rates_is_newcombes() -> None:
    from statsmodels.stats.proportion import confint_proportions_2indep

    # Newcombe (1998), table II, example (a): 56/70 - 48/80 = 0.2, method 10: 0.0524 to 0.3339.
    found = difference(rate([1] * 56 + [0] * 14), rate([1] * 48 + [0] * 32))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    assert found.n == 150
    # (h): 10/10 - 0/10, where normal intervals have no width: 0.6075 to 1.
    edge = difference(rate([1] * 10), rate([0] * 10))
    assert (edge.value, edge.low, edge.high) == pytest.approx((1.0, 0.6075, 1.0), abs=1e-4)
    expected = confint_proportions_2indep(9, 10, 3, 10, method="newcomb", compare="diff")
    ours = difference(rate([1] * 9 + [0]), rate([1] * 3 + [0] * 7))
    assert (ours.low, ours.high) == pytest.approx(expected, abs=1e-9)
