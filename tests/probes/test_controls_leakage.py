"""Why questions and not rows are split: random labels per question are learnt from their other presentations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from probes.controls.draws import question_order, rows_of
from probes.controls.scores import hits
from probes.heads import rows_at
from probes.part import Part
from tests.probes.fitters import copies, logistic
from thinkgap.metrics import Estimate, rate

AT = ("direct", "final_norm")


def split_accuracy(part: Part, fitted: NDArray[np.bool_]) -> Estimate:
    """Accuracy on the other rows of a probe of the fitted ones; its settings are chosen on the fitted ones too."""
    fit, test = part.chosen(fitted), part.chosen(~fitted)
    probe = logistic(rows_at(fit, *AT), rows_at(fit, *AT))
    return rate(hits(probe, rows_at(test, *AT)), test.group_id)


def test_random_labels_are_at_chance_by_question_and_above_it_by_row() -> None:
    """300 questions in 5 noisy copies, random labels of four slots, 70% fitted on: nothing but questions to learn."""
    part = copies("fit", 300, seed=0, d=64)
    order = question_order(part, 0, "split")
    by_question = split_accuracy(part, rows_of(part, order[:210]))
    by_row = split_accuracy(part, np.random.default_rng(0).random(len(part)) < 0.7)
    assert by_question.low < 0.25 < by_question.high
    assert by_row.low > 0.35


def test_the_split_of_questions_shares_none() -> None:
    part = copies("fit", 20, seed=0)
    fitted = rows_of(part, question_order(part, 0, "split")[:14])
    assert fitted.sum() == 70
    assert not set(part.item_id[fitted].tolist()) & set(part.item_id[~fitted].tolist())
