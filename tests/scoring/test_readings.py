"""Readings of logits whose probabilities are known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from tests.items import mcq, shown
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.readouts.native import native_record
from thinkgap.scoring.plain import score_plain
from thinkgap.scoring.readings import read_labels
from thinkgap.types import Condition, Prompt, Request

DIRECT = Condition("direct", "trigger", Request.label)


def prompt(label_ids: tuple[tuple[int, ...], ...], item_id: str = "i0", order: tuple[int, ...] | None = None) -> Prompt:
    choices = tuple(f"content {n}" for n in range(len(label_ids)))
    return Prompt(shown(mcq(item_id, choices=choices, gold=0), order), DIRECT, "text", (1, 2, 3), label_ids)


def test_a_two_token_vocabulary() -> None:
    """Logits log 3 and log 1 are probabilities 3/4 and 1/4 (trap 41: log-likelihoods, not losses)."""
    (reading,) = read_labels(torch.tensor([[math.log(3.0), 0.0]]), [prompt(((0,), (1,)))])
    assert reading.label_logprobs == pytest.approx((math.log(0.75), math.log(0.25)))
    assert reading.label_mass == pytest.approx(1.0)
    assert (reading.top_token_id, reading.top_logprob) == (0, pytest.approx(math.log(0.75)))


def test_mass_is_over_the_full_vocabulary_and_variants_are_summed() -> None:
    """Trap 7. Probabilities 1/8, 1/8, 2/8, 4/8; label A is tokens 0 and 2, label B is token 1."""
    logits = torch.log(torch.tensor([[1.0, 1.0, 2.0, 4.0]]))
    (reading,) = read_labels(logits, [prompt(((0, 2), (1,)))])
    assert reading.label_logprobs == pytest.approx((math.log(3 / 8), math.log(1 / 8)))
    assert reading.label_mass == pytest.approx(0.5)
    assert reading.top_token_id == 3


def test_softmax_is_float32_whatever_comes_in() -> None:
    logits = torch.tensor([[10.0, 9.0, 0.0]])
    (full,) = read_labels(logits, [prompt(((0,), (1,)))])
    (half,) = read_labels(logits.bfloat16(), [prompt(((0,), (1,)))])
    assert half == full, "these logits are exact in bfloat16, so only the softmax could differ"


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_not_finite_name_the_item(bad: float) -> None:
    logits = torch.tensor([[0.0, 0.0], [0.0, bad]])
    with pytest.raises(ModelError, match="item i7, condition direct: .*not finite"):
        read_labels(logits, [prompt(((0,), (1,))), prompt(((0,), (1,)), "i7")])


class TwoTokens:
    """Says that token 0 has odds `len(item id)` to one, and notes its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> torch.Tensor:
        ids = [prepared.prompt.presentation.item.id for prepared in prompts]
        self.batches.append(ids)
        return torch.tensor([[math.log(len(item_id)), 0.0] for item_id in ids])


def test_readings_come_back_in_the_order_of_the_prompts() -> None:
    """Batches are sorted by length inside; nothing is aligned by position outside."""
    prompts = [
        PreparedPrompt(Prompt(shown(mcq("i" * n, choices=("a", "b"))), DIRECT, "", tuple(range(30 - n)), ((0,), (1,))))
        for n in (1, 5, 2, 4, 3)
    ]
    model = TwoTokens()
    readings = score_plain(model, prompts, 2)
    assert [round(math.exp(one.label_logprobs[0]) * 60) for one in readings] == [30, 50, 40, 48, 45]
    assert model.batches == [["iiiii", "iiii"], ["iii", "ii"], ["i"]]


def test_out_of_memory_names_the_setting() -> None:
    class Full:
        def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> torch.Tensor:
            raise torch.OutOfMemoryError("no memory")

    with pytest.raises(ModelError, match=r"out of memory on 1 prompts of up to 3 tokens: .*batch_size below 8"):
        score_plain(Full(), [PreparedPrompt(prompt(((0,), (1,))))], 8)


def test_the_record_keeps_slot_and_content_apart() -> None:
    """Contents shown as 2, 0, 1; the most probable label is slot 1, so the prediction is content 0, which is gold."""
    asked = prompt(((0,), (1,), (2,)), order=(2, 0, 1))
    (reading,) = read_labels(torch.tensor([[0.0, 2.0, 1.0]]), [asked])
    record = native_record(asked, reading, "B")
    assert (record.pred_slot, record.pred_content) == (1, 0)
    assert (record.gold_slot, record.gold_content) == (1, 0)
    assert record.correct
    assert not record.tied


def test_ties_are_marked_and_not_given_to_the_first_slot() -> None:
    """Trap 17: half-precision logits tie; over many items each of four tied slots is drawn about equally often."""
    slots = []
    for n in range(400):
        asked = prompt(((0,), (1,), (2,), (3,)), f"item {n}")
        (reading,) = read_labels(torch.zeros(1, 5), [asked])
        record = native_record(asked, reading, "")
        assert record.tied
        assert record == native_record(asked, reading, ""), "the draw is stable"
        slots.append(record.pred_slot)
    assert all(70 <= slots.count(slot) <= 130 for slot in range(4)), slots
