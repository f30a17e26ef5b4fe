"""Readings of logits whose probabilities are known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.plain import score_plain
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.readouts.native import native_record
from thinkgap.scoring.engine import Scored
from thinkgap.scoring.readings import ReadOptions, read_labels
from thinkgap.scoring.vocabulary import ReasoningTokens, reasoning_tokens
from thinkgap.types import AMBIGUOUS_WORDS, REASONING_WORDS, Condition, Prompt, Request

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


class Small(TwoTokens):
    """Has memory for `room` prompts at a time."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> torch.Tensor:
        if len(prompts) > self.room:
            raise torch.OutOfMemoryError("no memory")
        return super().next_token_logits(prompts)


def test_out_of_memory_goes_on_with_halves() -> None:
    prompts = [PreparedPrompt(prompt(((0,), (1,)), "i" * n)) for n in (1, 5, 2, 4, 3)]
    roomy, small = TwoTokens(), Small(2)
    assert score_plain(small, prompts, 5) == score_plain(roomy, prompts, 5)
    assert [len(batch) for batch in small.batches] == [2, 1, 2]


def test_out_of_memory_on_one_prompt_names_the_settings() -> None:
    with pytest.raises(ModelError, match=r"out of memory on one prompt of 3 tokens \(item i0\): set model.max_length"):
        score_plain(Small(0), [PreparedPrompt(prompt(((0,), (1,))))], 8)


def test_other_errors_are_not_taken_for_full_memory() -> None:
    class Broken:
        def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> torch.Tensor:
            raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        score_plain(Broken(), [PreparedPrompt(prompt(((0,), (1,))))] * 2, 8)


def test_rank_entropy_masses_and_top_tokens() -> None:
    """Probabilities 1/16, 4/16, 8/16, 3/16; gold is slot 0, read as tokens 0 and 3."""
    logits = torch.log(torch.tensor([[1.0, 4.0, 8.0, 3.0]])) + 5
    options = ReadOptions(ReasoningTokens((1, 2), (2,)), top_k=2)
    (reading,) = read_labels(logits, [prompt(((0, 3), (1,)))], options)
    assert reading.gold_rank == 3, "the better of its two tokens, with 8/16 and 4/16 before it"
    shares = [1 / 16, 4 / 16, 8 / 16, 3 / 16]
    assert reading.entropy == pytest.approx(-sum(share * math.log(share) for share in shares))
    assert reading.reasoning_mass == pytest.approx(12 / 16)
    assert reading.reasoning_mass_strict == pytest.approx(8 / 16)
    assert [token for token, _ in reading.top_tokens] == [2, 1]
    assert reading.top_tokens[0][1] == reading.top_logprob
    (plain,) = read_labels(logits, [prompt(((0, 3), (1,)))])
    assert (plain.reasoning_mass, plain.top_tokens) == (None, ())


def test_prompts_of_unequal_numbers_of_options_and_tokens_of_probability_zero() -> None:
    logits = torch.log(torch.tensor([[1.0, 1.0, 2.0, 0.0], [2.0, 1.0, 1.0, 0.0]]))
    first, second = read_labels(logits, [prompt(((0,), (1,), (2, 3))), prompt(((0, 1), (3,)))])
    assert first.label_logprobs == pytest.approx((math.log(1 / 4), math.log(1 / 4), math.log(1 / 2)))
    assert second.label_logprobs == pytest.approx((math.log(3 / 4), -math.inf))
    assert (first.label_mass, second.label_mass) == (pytest.approx(1.0), pytest.approx(0.75))
    assert math.isfinite(first.entropy)


def test_open_questions_have_no_labels_and_no_rank() -> None:
    asked = Prompt(shown(mcq(choices=(), gold=None, answer_space="open")), DIRECT, "text", (1,), ())
    (reading,) = read_labels(torch.zeros(1, 4), [asked], ReadOptions(ReasoningTokens((0,), ())))
    assert (reading.label_logprobs, reading.label_mass, reading.gold_rank) == ((), 0.0, None)
    assert reading.reasoning_mass == pytest.approx(0.25)
    assert reading.reasoning_mass_strict == 0.0


def test_reasoning_tokens_are_single_tokens(smollm2_tokenizer: Any) -> None:
    def tokenize(text: str) -> list[int]:
        return smollm2_tokenizer(text, add_special_tokens=False).input_ids

    tokens = reasoning_tokens(tokenize)
    texts = {smollm2_tokenizer.decode([token]) for token in tokens.all}
    assert {"First", " First", "Let", "The", " The"} <= texts
    assert {text.strip() for text in texts} <= set(REASONING_WORDS)
    removed = {smollm2_tokenizer.decode([token]).strip() for token in set(tokens.all) - set(tokens.strict)}
    assert removed == set(AMBIGUOUS_WORDS)


def test_the_record_keeps_slot_and_content_apart() -> None:
    """Contents shown as 2, 0, 1; the most probable label is slot 1, so the prediction is content 0, which is gold."""
    asked = prompt(((0,), (1,), (2,)), order=(2, 0, 1))
    (reading,) = read_labels(torch.tensor([[0.0, 2.0, 1.0]]), [asked])
    record = native_record(Scored(asked, reading), "abcde".__getitem__)
    assert record.top_token == "b"
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
        record = native_record(Scored(asked, reading), str)
        assert record.tied
        assert record == native_record(Scored(asked, reading), str), "the draw is stable"
        slots.append(record.pred_slot)
    assert all(70 <= slots.count(slot) <= 130 for slot in range(4)), slots
