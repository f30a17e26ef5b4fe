"""Losses of adapters by hand: labels of several tokens, rows of fewer labels."""

from __future__ import annotations

from math import log

import pytest
import torch

from probes.targets import adapter_loss, label_table, log_sum
from tests.store.examples import record
from thinkgap.schema import AdapterLoss

ROWS = [
    record("a", label_token_ids=((0, 4), (1,), (2,)), gold_slot=0, k=3, order=(0, 1, 2), labels=("A", "B", "C")),
    record("b", label_token_ids=((3,), (1,)), gold_slot=1, k=2, order=(0, 1), labels=("A", "B")),
]
# Probabilities 0.1, 0.2, 0.3, 0.25, 0.15 and 0.2 each; any constant may be added to logits.
LOGITS = torch.tensor([[0.1, 0.2, 0.3, 0.25, 0.15], [0.2] * 5]).log() + torch.tensor([[3.0], [-2.0]])


def test_tables_are_filled_up() -> None:
    labels, gold = label_table(ROWS)
    assert labels.tolist() == [[[0, 4], [1, -1], [2, -1]], [[3, -1], [1, -1], [-1, -1]]]
    assert gold.tolist() == [[0, 4], [1, -1]]


def test_a_label_of_several_tokens_is_their_sum() -> None:
    _, gold = label_table(ROWS)
    # Row 0: 0.1 + 0.15, times e^3; row 1: 0.2 times e^-2.
    expected = [log(0.25) + 3, log(0.2) - 2]
    assert log_sum(LOGITS, gold).tolist() == pytest.approx(expected, abs=1e-6)


def test_the_loss_over_the_vocabulary_and_over_the_labels() -> None:
    labels, gold = label_table(ROWS)
    # Vocabulary: -log(0.1 + 0.15) and -log(0.2).
    expected = (-log(0.25) - log(0.2)) / 2
    assert float(adapter_loss(AdapterLoss.vocabulary, LOGITS, gold, labels)) == pytest.approx(expected, abs=1e-6)
    # Labels: 0.25 of 0.1 + 0.15 + 0.2 + 0.3 = 0.75, and 0.2 of the 0.4 of two labels.
    expected = (-log(0.25 / 0.75) - log(0.2 / 0.4)) / 2
    assert float(adapter_loss(AdapterLoss.labels, LOGITS, gold, labels)) == pytest.approx(expected, abs=1e-6)


def test_the_gradient_is_that_of_the_formula() -> None:
    """Of the loss over the vocabulary: p_v - 1[v is the label's] p_v / p(label), over the rows."""
    labels, gold = label_table(ROWS[:1])
    logits = LOGITS[:1].clone().requires_grad_()
    adapter_loss(AdapterLoss.vocabulary, logits, gold, labels).backward()
    p = [0.1, 0.2, 0.3, 0.25, 0.15]
    assert logits.grad is not None
    expected = [p[0] - 0.1 / 0.25, p[1], p[2], p[3], p[4] - 0.15 / 0.25]
    assert logits.grad[0].tolist() == pytest.approx(expected, abs=1e-6)
