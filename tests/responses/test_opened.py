"""Answers to a statement that the prompt has begun."""

from __future__ import annotations

import pytest

from thinkgap.responses.opened import extract_opened

OPTIONS = {"labels": ("A", "B", "C", "D"), "options": ("the sun", "the moon", "a star", "a comet")}


@pytest.mark.parametrize(
    ("opening", "reply", "answer"),
    [
        ("The answer is", " B. The moon. It orbits the earth.", "B"),
        ("The answer is", "B, because it orbits.", "B"),
        ("Answer:", " B.\n\nThe moon orbits the earth.", "B"),
        ("The correct option is:", " (D). It has a tail.", "D"),
        ("The answer is (", "B). It orbits the earth.", "B"),
        # By itself it says more than with the opening.
        ("The answer is", " not obvious. So the answer is C.", "C"),
        ("The answer is", " B. No, wait. The answer is C.", "C"),
        ("Answer with the letter only.", " B", "B"),
        # No statement.
        ("The answer is", " A red digit that I see.", None),
        ("The answer is", " not B, which is a planet.", None),
        ("The answer is", "", None),
        ("Let me think step by step.", " B orbits the earth.", None),
        ("Reasoning:", " B orbits the earth.", None),
        ("", " B orbits the earth.", None),
        # What the opening states by itself is the prompt's own.
        ("The answer is B.", " I am sure of it.", None),
        ("The answer is", r" B, or rather \boxed{", None),
    ],
)
def test_statements_across_the_joint(opening: str, reply: str, answer: str | None) -> None:
    assert extract_opened(opening, reply, "mcq", **OPTIONS).answer == answer


def test_yes_and_no() -> None:
    assert extract_opened("The answer is", " yes. Cats are mammals.", "bool").answer == "yes"
    assert extract_opened("Let me think.", " yes. Cats are mammals.", "bool").answer is None


def test_a_cut_answer_is_none() -> None:
    cut = extract_opened("The answer is", " B", "mcq", truncated=True, **OPTIONS)
    assert cut.answer == "B"  # the whole reply is a label, which no further token changes
    assert extract_opened("The answer is", " the moo", "mcq", truncated=True, **OPTIONS).status == "truncated"
