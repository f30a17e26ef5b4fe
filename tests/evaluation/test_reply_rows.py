"""A reply as a row: what it goes on from, what it states, and the first step beside the native readout."""

from __future__ import annotations

import pytest

from tests.items import mcq
from thinkgap.data.present import identity
from thinkgap.evaluation.replies import read_reply
from thinkgap.scoring.reply import Reply
from thinkgap.types import Condition, Placement, Prompt, Request


def reply(condition: Condition) -> Reply:
    shown = identity(mcq())
    prompt = Prompt(shown, condition, "", (1, 2), tuple((n,) for n in range(shown.k)), sha256="0" * 64)
    return Reply(prompt, (7,), "stop", (-2.0, -1.0, -3.0), first_token_id=7)


@pytest.mark.parametrize(
    ("placement", "text", "slot"),
    [
        (Placement.assistant, "The answer is", 1),
        (Placement.prompt_end, "The answer is", 1),
        # There the trigger is the user's, and the model's turn says no more than the reply.
        (Placement.user, "The answer is", -1),
        (Placement.assistant, "Reasoning:", -1),
    ],
)
def test_a_reply_goes_on_from_a_trigger_before_it(placement: Placement, text: str, slot: int) -> None:
    condition = Condition("c", "trigger", Request.label, text, placement)
    record, row = read_reply(reply(condition), lambda _: " B, because it is so.", (-2.0, -1.0, -3.5))
    assert record.pred_slot == slot
    assert row["text"] == " B, because it is so."
    assert (row["forced_slot"], row["forced_difference"]) == (1, 0.5)
    assert row["status"] == ("ok" if slot >= 0 else "unparsed")


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        (Condition("c", "mode", Request.label, prefill=r"It is \boxed{"), "forced_prefix"),
        (Condition("c", "mode", Request.label, user_suffix=r" It is \boxed{"), "forced_prefix"),
        (Condition("c", "trigger", Request.label, r"It is \boxed{", Placement.assistant), "forced_prefix"),
        (Condition("c", "trigger", Request.label, r"It is \boxed{", Placement.user), ""),
        (Condition("prefix", "mode", Request.label, user_suffix=" It is"), ""),
    ],
)
def test_a_reply_goes_on_inside_a_box_that_was_opened_before_it(condition: Condition, rule: str) -> None:
    _, row = read_reply(reply(condition), lambda _: "B} since", None)
    assert row["rule"] == rule
