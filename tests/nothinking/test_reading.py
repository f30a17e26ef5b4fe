"""Responses read as a whole: status, trace over all channels, flags, and whether the answer is right."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.nothinking.examples import answered
from tests.responses.test_required_readings import CASES
from thinkgap.errors import DataError
from thinkgap.nothinking.reading import read
from thinkgap.types import Thinking


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_required_readings_hold_for_whole_responses(case: dict[str, Any]) -> None:
    expect, space = case["expect"], case["space"]
    found = read(
        answered(
            case["content"] or "",
            space,
            mode=case.get("mode", ""),
            thinking=Thinking.disabled if "mode" in case else Thinking.default,
            gold="",
            labels=tuple(case.get("labels", "ABCD")),
            options=tuple(case.get("options", ())),
            reasoning=case.get("reasoning", ""),
            finish_reason=case.get("finish_reason", "stop"),
        )
    )
    assert (found.status, found.answer) == (expect["status"], expect["answer"])
    if expect["trace"] is not None:
        assert found.visible_trace == found.trace == expect["trace"]
    if expect["post"] is not None:
        assert found.post == expect["post"]
    for flag in ("leadin_only", "answer_first", "channel_swap"):
        if flag in expect:
            assert getattr(found, flag) is expect[flag]
    if "trace_visible" in expect:
        assert found.visible_trace == expect["trace_visible"]
    if "permissive" in expect:
        assert found.permissive == expect["permissive"]
    for key, text in (
        ("trace_nonempty", found.trace),
        ("post_nonempty", found.post),
        ("reasoning_nonempty", found.reasoning),
    ):
        if key in expect:
            assert bool(text) is expect[key]
    assert found.correct is None, "no right answer was given"


@pytest.mark.parametrize(
    ("content", "response", "status", "flags"),
    [
        (r"\boxed{B}", {}, "ok", set()),
        (r"\boxed{B}", {"finish_reason": "length"}, "ok", {"truncated"}),
        (r"\boxed{B} and then", {"finish_reason": "content_filter"}, "ok", {"content_filtered"}),
        ("I would weigh", {"finish_reason": "length"}, "truncated", {"truncated"}),
        ("I would weigh", {"finish_reason": "max_tokens"}, "truncated", {"truncated"}),
        ("I would weigh", {"finish_reason": "MAX_TOKENS"}, "truncated", {"truncated"}),
        ("I would weigh", {"finish_reason": "FinishReason.MAX_TOKENS"}, "truncated", {"truncated"}),
        ("I would weigh", {"finish_reason": "incomplete: max_output_tokens"}, "truncated", {"truncated"}),
        ("I would weigh", {"finish_reason": "eos"}, "unparsed", set()),
        ("I would weigh", {"finish_reason": ""}, "unparsed", set()),
        ("", {}, "empty", {"empty"}),
        (" \n**\n", {}, "empty", {"empty"}),
        ("", {"finish_reason": "length"}, "truncated", {"truncated", "empty"}),
        ("", {"finish_reason": "content_filter"}, "content_filtered", {"content_filtered", "empty"}),
        ("", {"finish_reason": "Content-Filter"}, "content_filtered", {"content_filtered", "empty"}),
        ("", {"finish_reason": "SAFETY"}, "content_filtered", {"content_filtered", "empty"}),
        ("", {"finish_reason": "data_inspection_failed"}, "content_filtered", {"content_filtered", "empty"}),
        ("The answ", {"finish_reason": "RECITATION"}, "content_filtered", {"content_filtered"}),
        ("", {"refusal": "I can't help with that."}, "refused", {"refused", "empty"}),
        ("", {"refusal": " \n"}, "empty", {"empty"}),
        ("Sorry.", {"finish_reason": "refusal"}, "refused", {"refused"}),
        (
            "",
            {"refusal": "No.", "finish_reason": "content_filter"},
            "content_filtered",
            {"content_filtered", "refused", "empty"},
        ),
        (
            "<think>7*8",
            {"finish_reason": "length"},
            "truncated",
            {"truncated", "empty", "think_unclosed", "control_leak"},
        ),
        ("<think>7*8", {}, "unparsed", {"empty", "think_unclosed", "control_leak"}),
        (r"So \boxed{3}. Then \boxed{12", {"finish_reason": "length"}, "truncated", {"truncated", "box_unclosed"}),
        (r"\boxed{}", {}, "unparsed", {"box_empty"}),
        (r"\boxed{A or B}", {}, "unparsed", {"boxed", "two_labels"}),
        (r"\boxed{maybe}", {}, "unparsed", {"boxed", "box_unread"}),
        (r"\boxed{B} since ice floats on water", {}, "ok", {"answer_first"}),
        (
            "The answer is B",
            {"finish_reason": "content_filter"},
            "content_filtered",
            {"content_filtered", "cut_at_answer"},
        ),
        (r"The answer is \boxed{B}", {}, "ok", {"leadin_only"}),
    ],
)
def test_status_and_flags(content: str, response: dict[str, Any], status: str, flags: set[str]) -> None:
    found = read(answered(content, **response))
    names = {name for name, value in vars(found).items() if value is True}
    expected = flags | ({"boxed"} if status == "ok" else set())
    assert found.status == status
    assert names - {"correct", "correct_permissive"} == expected
    assert (found.answer is not None) == (status == "ok")


def test_the_trace_holds_every_channel_once() -> None:
    """Reasoning channel, think block and visible text; a think block that a channel repeats stands there once."""
    content = "<think>Ice  floats.</think>\nSo it is **light**: \\boxed{B}. It floats."
    found = read(answered(content, reasoning="Water is denser."))
    assert found.reasoning == "Water is denser.\nIce  floats."
    assert found.visible_trace == "So it is light:"
    assert found.trace == "Water is denser.\nIce  floats.\nSo it is light:"
    assert found.post == "It floats."
    again = read(answered(content, reasoning="Ice floats."))
    assert again.trace == "Ice floats.\nSo it is light:"


def test_visible_text_that_a_channel_holds_among_other_text_is_visible_all_the_same() -> None:
    found = read(answered(r"Ice floats, so \boxed{B}", reasoning="Ice floats, so it is light."))
    assert found.trace == "Ice floats, so it is light.\nIce floats, so"
    assert read(answered(r"Ice  floats, so \boxed{B}", reasoning="Ice floats, so")).trace == "Ice floats, so"


def test_the_slot_of_a_yes_no_answer_is_that_of_its_label_as_shown() -> None:
    asked = answered(r"\boxed{no}", "bool", gold="no")
    assert read(asked).slot is None
    shown = replace(asked, question=replace(asked.question, labels=("No", "Yes")))
    assert (read(shown).answer, read(shown).slot) == ("no", 0)


def test_channels_stand_in_for_a_text_that_nobody_joined() -> None:
    channels = {"reasoning": "Ice floats.", "reasoning_content": "Ice floats.", "reasoning_details": "It is light."}
    assert read(answered(r"\boxed{B}", channels=channels)).trace == "Ice floats.\nIt is light."
    assert read(answered(r"\boxed{B}", reasoning="All.", channels=channels)).trace == "All."


@pytest.mark.parametrize("reasoning", ["", " \n", "<think>\n\n</think>", "---\n***", "```\n```", "\u200b"])
def test_a_channel_of_formatting_is_empty(reasoning: str) -> None:
    found = read(answered(r"\boxed{B}", reasoning=reasoning))
    assert (found.trace, found.reasoning, found.control_leak) == ("", "", False)


def test_tags_within_a_channel_are_no_text() -> None:
    assert read(answered(r"\boxed{B}", reasoning="<think>\nIce floats.\n</think>")).trace == "Ice floats."


@pytest.mark.parametrize(
    ("thinking", "content", "response", "leak", "hidden"),
    [
        (Thinking.disabled, r"\boxed{B}", {}, False, False),
        (Thinking.disabled, r"\boxed{B}", {"reasoning_tokens": 0}, False, False),
        (Thinking.disabled, r"\boxed{B}", {"reasoning_tokens": 1}, True, True),
        (Thinking.disabled, r"\boxed{B}", {"reasoning": "Ice floats.", "reasoning_tokens": 3}, True, False),
        (Thinking.disabled, r"<think>Ice floats.</think>\boxed{B}", {}, True, False),
        (Thinking.disabled, "<think>\n\n</think>\n\\boxed{B}", {}, False, False),
        (Thinking.disabled, r"Ice floats: \boxed{B}", {}, False, False),
        (Thinking.disabled, r"\boxed{B}", {"channels": {"output.reasoning.encrypted": "gAAB"}}, True, True),
        (Thinking.enabled, r"\boxed{B}", {"channels": {"output.reasoning.encrypted": "gAAB"}}, False, True),
        (Thinking.enabled, r"\boxed{B}", {"reasoning": "Ice floats.", "reasoning_tokens": 3}, False, False),
        (Thinking.enabled, r"\boxed{B}", {"reasoning_tokens": 3}, False, True),
        (Thinking.default, r"\boxed{B}", {"reasoning": "Ice floats."}, False, False),
    ],
)
def test_control_leak(thinking: Thinking, content: str, response: dict[str, Any], leak: bool, hidden: bool) -> None:
    found = read(answered(content, thinking=thinking, **response))
    assert (found.control_leak, found.hidden_reasoning) == (leak, hidden)


@pytest.mark.parametrize(
    ("mode", "thinking", "content", "response", "swap"),
    [
        ("strict", Thinking.disabled, "", {}, True),
        ("strict", Thinking.default, "", {}, True),
        ("", Thinking.disabled, "", {}, True),
        ("", Thinking.default, "", {}, False),
        ("think_on", Thinking.enabled, "", {}, False),
        ("mine", Thinking.enabled, "", {}, False),
        ("strict", Thinking.disabled, "B would sink", {}, False),
        ("strict", Thinking.disabled, "", {"finish_reason": "length"}, False),
        ("strict", Thinking.disabled, "", {"finish_reason": "content_filter"}, False),
        ("strict", Thinking.disabled, "", {"refusal": "No."}, False),
        ("strict", Thinking.disabled, "<think>hm", {}, False),
        ("strict", Thinking.disabled, "<think>hm</think>", {}, False),
        ("strict", Thinking.disabled, "<think>", {}, False),
        ("strict", Thinking.disabled, "<think></think>\n**", {}, True),
    ],
)
def test_channel_swap(mode: str, thinking: Thinking, content: str, response: dict[str, Any], swap: bool) -> None:
    asked = answered(content, mode=mode, thinking=thinking, reasoning=r"So \boxed{B}", **response)
    found = read(asked)
    assert (found.channel_swap, found.swap_read, found.answer) == (swap, False, None)
    other = read(asked, read_swapped=True)
    assert (other.channel_swap, other.swap_read) == (swap, swap)
    if swap:
        assert (other.status, other.answer, other.correct) == ("ok", "B", True)
        assert (other.trace, other.visible_trace, other.reasoning) == ("So", "So", "")
        assert other.empty, "nothing visible came all the same"
    else:
        assert other == found


@pytest.mark.parametrize(
    ("content", "space", "gold", "options", "correct", "permissive"),
    [
        (r"\boxed{B}", "mcq", "B", (), True, True),
        (r"\boxed{A}", "mcq", "B", (), False, False),
        ("osmosis", "mcq", "D", ("a", "b", "c", "osmosis"), True, True),
        ("B would sink, D never", "mcq", "D", (), False, True),
        ("", "mcq", "B", (), False, False),
        (r"\boxed{B}", "mcq", "", (), None, None),
        ("True.", "bool", "yes", (), True, True),
        ("True.", "bool", "Yes", (), True, True),
        ("True.", "bool", "no", (), False, False),
        ("Well, no one knows, yes", "bool", "yes", (), False, True),
        (r"\boxed{72}", "open", "72", (), None, None),
        ("", "open", "72", (), False, False),
        ("", "open", "", (), None, None),
    ],
)
def test_correct(
    content: str, space: Any, gold: str, options: tuple[str, ...], correct: bool | None, permissive: bool | None
) -> None:
    found = read(answered(content, space, gold=gold, options=options))
    assert (found.correct, found.correct_permissive) == (correct, permissive)
    assert not found.undecided


def test_open_answers_are_compared_by_what_is_given() -> None:
    asked: list[tuple[str, str]] = []

    def equal(gold: str, said: str) -> bool | None:
        asked.append((gold, said))
        return None if said == "hard" else gold == said

    right, hard = (read(answered(rf"\boxed{{{said}}}", "open"), equal=equal) for said in ("72", "hard"))
    assert (right.correct, right.undecided) == (True, False)
    assert (hard.correct, hard.undecided, hard.correct_permissive, hard.undecided_permissive) == (
        None,
        True,
        None,
        True,
    )
    loose = read(answered("It comes to 72 bottles, altogether.", "open"), equal=equal)
    assert (loose.correct, loose.correct_permissive, loose.undecided) == (False, True, False)
    assert asked == [("72", "72"), ("72", "hard"), ("72", "72")]
    unknown = read(answered(r"\boxed{72}", "open", gold=""), equal=equal)
    assert (unknown.correct, unknown.undecided) == (None, False)


@pytest.mark.parametrize(("space", "gold"), [("mcq", "E"), ("mcq", "photosynthesis"), ("bool", "maybe"), ("bool", "1")])
def test_a_right_answer_that_cannot_be_is_an_error(space: Any, gold: str) -> None:
    with pytest.raises(DataError, match=r"item q1 of made_up: the right answer '" + gold):
        read(answered("B", space, gold=gold))


def test_no_text_raises_anything() -> None:
    texts = [
        "\ud83d",
        "\x00",
        "}" * 50,
        "\\boxed{" * 50,
        "<think>" * 50,
        "</think>" * 3,
        json.dumps({"a": "\\boxed{B}"}),
        "ﬁ½²",
    ]
    for text in texts:
        for space in ("mcq", "bool", "open"):
            read(answered(text, space, reasoning=text))  # pyright: ignore[reportArgumentType]
