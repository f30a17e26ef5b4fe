"""Online code length by hand with fixed probabilities, and with states that say something or nothing."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
import torch

from probes.controls.draws import question_order, rows_of
from probes.controls.online_code import OnlineCode, block_ends, online_code
from probes.heads import Fitter
from probes.part import Part
from tests.probes.fitters import FixedFitter, hand_part, logistic, named
from tests.probes.parts import made_part
from thinkgap.errors import DataError
from thinkgap.readouts.sheet import Missing

AT = ("direct", "final_norm")


def code(fit: Part, select: Part, fitter: Fitter, seed: int = 0, draws: int = 200) -> OnlineCode:
    found = online_code(fit, select, *AT, fitter, seed, draws)
    assert isinstance(found, OnlineCode)
    return found


def test_blocks_grow_as_published() -> None:
    assert block_ends(10_000, 5) == [10, 20, 40, 80, 160, 320, 625, 1250, 2500, 5000, 10_000]
    # Of 1,000 the first blocks would end at 1, 2, 4: fewer questions than slots. 62.5 is rounded up.
    assert block_ends(1000, 5) == [8, 16, 32, 63, 125, 250, 500, 1000]
    # Ends at 1 (eight times), 2, 4, 8.
    assert block_ends(8, 2) == [2, 4, 8]
    assert block_ends(8, 4) == [4, 8]
    # The last block would have 3 questions, fewer than slots, and joins the one before: nothing is left to fit.
    assert block_ends(7, 4) == [7]
    assert block_ends(3, 4) == [3]
    assert block_ends(0, 4) == []


def test_two_options_by_hand() -> None:
    """Eight questions, always slot 0; blocks of 2, 2 and 4. Probabilities 3/4 and 1/4, so log2(4/3) bits each.

    2 rows of 1 bit, 6 of 0.4150: 4.490 bits where the uniform code takes 8.
    """
    fit = hand_part("fit", [0] * 8, [2] * 8)
    fitter = FixedFitter(named(log(3), 0.0))
    found = code(fit, fit, fitter)
    assert len(fitter.asked) == 2
    assert [(block.questions, block.rows) for block in found.blocks] == [(2, 2), (4, 2), (8, 4)]
    assert [block.bits for block in found.blocks] == pytest.approx([2, 2 * log2(4 / 3), 4 * log2(4 / 3)], abs=1e-6)
    assert found.bits == pytest.approx(2 + 6 * log2(4 / 3), abs=1e-6)
    assert (found.uniform_bits, found.compression.n) == (8, 8)
    assert found.compression.value == pytest.approx(8 / 4.490225, abs=1e-5)
    assert found.compression.low < found.compression.value < found.compression.high


def test_absent_slots_take_no_probability() -> None:
    """Probabilities 1/2, 1/4, 1/8, 1/8 of four options are 2/3, 1/3 of two; always slot 1: 2 bits and log2(3).

    The first block, of four questions, takes 2 bits and 1 bit.
    """
    fit = hand_part("fit", [1] * 8, [4, 2] * 4)
    found = code(fit, fit, FixedFitter(named(log(4), log(2), 0.0, 0.0)), seed=1)
    first = set(question_order(fit, 1, "online code")[:4])
    expected = sum(
        (2 if k == 4 else 1) if item in first else (2 if k == 4 else log2(3))
        for item, k in zip(fit.item_id.tolist(), fit.k.tolist(), strict=True)
    )
    assert found.bits == pytest.approx(expected, abs=1e-6)
    assert found.uniform_bits == 4 * 2 + 4 * 1


def test_a_probe_has_seen_the_blocks_before_and_nothing_else() -> None:
    fit = made_part("fit", 20, seed=0, n_presentations=3)
    select = made_part("select", 5, seed=1)
    fitter = FixedFitter(named(0.0, 0.0, 0.0, 0.0, d=8))
    found = code(fit, select, fitter, seed=2)
    order = question_order(fit, 2, "online code")
    # Shares of 20 end at 1 (six times), 2, 3, 5, 10, 20: from 5 on, with at least four questions each.
    assert [block.questions for block in found.blocks] == [5, 10, 20]
    for (fitted, selected), sent in zip(fitter.asked, (5, 10), strict=True):
        mask = torch.from_numpy(rows_of(fit, order[:sent]))
        assert int(mask.sum()) == 3 * sent
        assert torch.equal(fitted.states, fit.state(*AT)[mask])
        assert torch.equal(fitted.gold, fit.gold[mask])
        assert torch.equal(selected.states, select.state(*AT))
    # All probabilities are 1/4.
    assert found.bits == pytest.approx(2 * 60)
    assert found.compression.value == pytest.approx(1)


def test_over_confidence_costs_bits_but_stays_finite() -> None:
    # p(slot 0) = e^-1000: 1000 nats a row.
    fit = hand_part("fit", [0] * 4, [2] * 4)
    found = code(fit, fit, FixedFitter(named(0.0, 1000.0)))
    assert found.bits == pytest.approx(2 + 2 * 1000 / log(2))
    assert np.isfinite(found.compression.value)


def test_a_probe_without_probabilities_is_refused() -> None:
    fit = hand_part("fit", [0] * 4, [2] * 4)
    with pytest.raises(DataError, match="condition direct, state final_norm: a probe of the first 2"):
        code(fit, fit, FixedFitter(named(float("nan"), 0.0)))


def test_too_few_questions_have_no_code() -> None:
    fit = hand_part("fit", [0] * 3, [2] * 3)
    missing = online_code(fit, fit, *AT, logistic, 0)
    assert isinstance(missing, Missing)
    assert "3 training questions" in missing.reason


def test_states_that_hold_the_answer_compress() -> None:
    fit, select = made_part("fit", 400, seed=0), made_part("select", 200, seed=1)
    assert code(fit, select, logistic).compression.low > 1.5


def test_states_that_hold_nothing_do_not() -> None:
    fit, select = made_part("fit", 400, seed=0, signal=0.0), made_part("select", 200, seed=1, signal=0.0)
    assert code(fit, select, logistic).compression.value == pytest.approx(1, abs=0.1)
