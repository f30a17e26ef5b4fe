"""Rows of answers: what is not read is missing, and ties are drawn as they always were."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Any

import pytest

from tests.items import mcq, shown
from thinkgap.readouts.rows import answer_record, best_slot, drawn
from thinkgap.store.records import to_records, to_table
from thinkgap.types import Condition, Presentation, Prompt, Request

DIRECT = Condition("direct", "trigger", Request.label)


def prompt(order: tuple[int, ...] = (2, 0, 1), **fields: Any) -> Prompt:
    return Prompt(shown(mcq(**fields), order), DIRECT, "text", (1, 2, 3, 4), ((5,), (6,), (7,)), n_image_tokens=2)


def test_an_answer_maps_its_slot_to_a_content() -> None:
    """Contents 2, 0, 1 are shown; gold is content 1, in slot 2."""
    right = answer_record(prompt(), "r", 2, scores=(-3.0, -2.0, -1.0))
    assert (right.pred_slot, right.pred_content, right.gold_slot, right.gold_content, right.correct) == (
        2,
        1,
        2,
        1,
        True,
    )
    assert right.key == ("i0", "identity", "direct", "r")
    assert right.label_logprobs == (-3.0, -2.0, -1.0)
    assert (right.n_tokens, right.n_image_tokens) == (4, 2)
    wrong = answer_record(prompt(), "r", 0, tied=True)
    assert (wrong.pred_slot, wrong.pred_content, wrong.correct, wrong.tied) == (0, 2, False, True)


def test_no_answer_is_wrong_and_what_was_not_read_is_missing() -> None:
    none = answer_record(prompt(), "r", None)
    assert (none.pred_slot, none.pred_content, none.correct, none.tied) == (-1, -1, False, False)
    absent = {
        field.name
        for field in dataclasses.fields(none)
        if (value := getattr(none, field.name)) in (-1, "", ()) or (isinstance(value, float) and math.isnan(value))
    }
    assert absent == {
        "pred_slot", "pred_content", "subject", "label_logprobs", "label_mass", "label_token_ids", "top_token_id",
        "top_token", "top_logprob", "entropy", "gold_rank", "reasoning_mass", "reasoning_mass_strict", "top_ids",
        "top_tokens", "top_logprobs", "lens_label_logprobs", "lens_label_mass", "prompt_sha256",
    }  # fmt: skip
    (again,) = to_records(to_table([none]))
    assert repr(again) == repr(none)


def test_an_open_question_has_no_row() -> None:
    item = mcq(choices=(), gold=None, answer_space="open")
    with pytest.raises(ValueError, match="i0 is open"):
        answer_record(Prompt(Presentation(item, (), ()), DIRECT, "", (1,), ()), "r", None)


def test_ties_are_drawn_by_a_digest_of_item_and_presentation() -> None:
    assert best_slot(shown(mcq()), (-1.0, -0.5, -2.0)) == (1, False)
    found = set()
    for number in range(40):
        item_id = f"i{number}"
        slot, tied = best_slot(shown(mcq(item_id)), (-0.5, -2.0, -0.5))
        digest = hashlib.sha256(f"{item_id}\0identity".encode()).digest()
        assert (slot, tied) == ((0, 2)[int.from_bytes(digest[:8], "big") % 2], True)
        assert slot == drawn(item_id, "identity", [0, 2])
        found.add(slot)
    assert found == {0, 2}, "not always the first"
