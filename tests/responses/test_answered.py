"""Statuses of whole responses: finish reasons as servers name them, refusals, and reasoning channels."""

from __future__ import annotations

import pytest

from thinkgap.responses.answered import read_answered
from thinkgap.responses.finish import is_cut, is_filtered, is_refusal
from thinkgap.types import Answered, Question, Response, Thinking


def answered(content: str, finish_reason: str = "", reasoning: str = "", refusal: str = "") -> Answered:
    question = Question("1", "1", "", "open", "?", "7")
    response = Response(content, reasoning, finish_reason=finish_reason, refusal=refusal)
    return Answered(question, "think_off", Thinking.disabled, response)


@pytest.mark.parametrize(
    ("content", "reason", "status", "answer"),
    [
        ("\\boxed{7}", "stop", "ok", "7"),
        ("\\boxed{7} so", "length", "ok", "7"),
        ("\\boxed{7} so", "content_filter", "ok", "7"),
        ("The answer is 7", "", "ok", "7"),
        ("The answer is 7", "MAX_TOKENS", "truncated", None),
        ("The answer is 7", "max_output_tokens", "truncated", None),
        ("The answer is 7", "model_length", "truncated", None),
        ("The answer is 7", "SAFETY", "content_filtered", None),
        ("", "content_filter", "content_filtered", None),
        ("", "refusal", "refused", None),
        ("I cannot.", "refusal", "refused", None),
        ("I cannot.", "stop", "unparsed", None),
        ("", "stop", "empty", None),
        ("", "tool_calls", "empty", None),
    ],
)
def test_statuses_by_finish_reason(content: str, reason: str, status: str, answer: str | None) -> None:
    read = read_answered(answered(content, reason))
    assert (read.status, read.answer) == (status, answer)


def test_a_refusal_channel_and_a_swapped_channel() -> None:
    assert read_answered(answered("", refusal="I cannot help.")).status == "refused"
    assert read_answered(answered("\\boxed{7}", refusal="I cannot help.")).status == "ok"
    swapped = read_answered(answered("", "stop", reasoning="\\boxed{7}"))
    assert (swapped.status, swapped.flags) == ("empty", ("channel_swap",))
    for reason in ("stop", "", "tool_calls"):
        assert [is_cut(reason), is_filtered(reason), is_refusal(reason)] == [False] * 3
