"""The five empty-thinking events, and the length of the trace, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nothinking.examples import answered
from thinkgap.nothinking.etr import EmptyThinking, empty_thinking, trace_length
from thinkgap.nothinking.reading import read


@pytest.mark.parametrize(
    ("content", "response", "strict", "prefix", "leadin", "content_only"),
    [
        (r"\boxed{B}", {}, 1, 1, 1, 1),
        (r"$\boxed{B}$.", {}, 1, 1, 1, 1),
        ("**\\boxed{B}**", {}, 1, 1, 1, 1),
        ("<think>\n\n</think>\n\n\\boxed{B}", {}, 1, 1, 1, 1),
        ("B", {}, 1, 1, 1, 1),
        (r"\boxed{B} since ice floats on water", {}, 0, 1, 1, 1),
        (r"The answer is \boxed{B}", {}, 0, 0, 1, 0),
        ("### Answer\n\n\\boxed{B}", {}, 0, 0, 1, 0),
        (r"The answer is \boxed{B}, as ice floats", {}, 0, 0, 1, 0),
        (r"The answer = 121. \boxed{B}", {}, 0, 0, 0, 0),
        (r"Subtract 5 to get \boxed{B}", {}, 0, 0, 0, 0),
        (r"\boxed{B}", {"reasoning": "Ice floats."}, 0, 0, 0, 1),
        (r"<think>Ice floats.</think>\boxed{B}", {}, 0, 0, 0, 1),
        (r"The answer is \boxed{B}", {"reasoning": "Ice floats."}, 0, 0, 0, 0),
        (r"\boxed{B} since ice floats", {"reasoning": "Ice floats."}, 0, 0, 0, 1),
        ("", {}, 0, 0, 0, 0),
        ("", {"finish_reason": "length"}, 0, 0, 0, 0),
        (r"\boxed{B", {"finish_reason": "length"}, 0, 0, 0, 0),
        (r"\boxed{A or B}", {}, 0, 0, 0, 0),
        (r"\boxed{B}", {"reasoning_tokens": 9}, 1, 1, 1, 1),
    ],
)
def test_events(
    content: str, response: dict[str, Any], strict: int, prefix: int, leadin: int, content_only: int
) -> None:
    found = empty_thinking(read(answered(content, **response)))
    assert found == EmptyThinking(
        strict=bool(strict), prefix=bool(prefix), leadin=bool(leadin), all=bool(prefix), content=bool(content_only)
    )


def test_the_example_of_the_study() -> None:
    """Its own example of a bare assertion: T is "The answer is 121.", and the response is not answer-only."""
    found = empty_thinking(read(answered(r"The answer is 121. \boxed{121}", "open")))
    assert found == EmptyThinking(strict=False, prefix=False, leadin=False, all=False, content=False)


@pytest.mark.parametrize(
    ("content", "reasoning", "words", "visible"),
    [
        (r"\boxed{B}", "", 0, 0),
        (r"Subtract 5 to get \boxed{B}", "", 4, 4),  # Subtract, 5, to, get
        (r"It's \boxed{A}, no: \frac{1}{2} of __it__ \boxed{B}", "", 6, 6),  # It's no 1 2 of it
        (r"So \boxed{B}", "Ice floats.", 3, 1),
        (r"\boxed{B} since ice floats", "", 0, 0),
        ("因为冰浮 \\boxed{B}", "", 0, 0),  # words are Latin; the trace is not empty
    ],
)
def test_words(content: str, reasoning: str, words: int, visible: int) -> None:
    reading = read(answered(content, reasoning=reasoning))
    length = trace_length(reading)
    assert (length.words, length.visible_words) == (words, visible)
    assert (length.tokens, length.visible_tokens) == (None, None)


def test_tokens_are_counted_by_what_is_given() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split()) + 1

    whole = trace_length(read(answered(r"Ice floats so \boxed{B}", reasoning="Hm.")), count)
    assert (whole.tokens, whole.visible_tokens) == (5, 4)  # "Hm.\nIce floats so" + 1, "Ice floats so" + 1
    visible = trace_length(read(answered(r"Ice floats so \boxed{B}")), count)
    assert (visible.tokens, visible.visible_tokens) == (4, 4)
    hidden = trace_length(read(answered(r"\boxed{B}", reasoning="Hm.")), count)
    assert (hidden.tokens, hidden.visible_tokens) == (2, 0)
    nothing = trace_length(read(answered(r"\boxed{B}")), count)
    assert (nothing.tokens, nothing.visible_tokens) == (0, 0)
    assert counted == ["Hm.\nIce floats so", "Ice floats so", "Ice floats so", "Hm."]
