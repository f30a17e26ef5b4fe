"""Replies as the demo model gives them: rationales of its world that end in the answer, read in every answer space."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

import pytest

from thinkgap.demo.world.facts import Fact, facts
from thinkgap.demo.world.parts import Part
from thinkgap.responses import extract
from thinkgap.types import LETTERS

FACTS: list[Fact] = list(islice(facts("train", 0, Part(0.0, 1.0)), 200))
OPENING = "Let me think step by step. "


def spaced(text: str) -> str:
    """`text` with every mark set apart, as a tokenizer of whole words may write it."""
    return re.sub(r"\s*([.,:;])\s*", r" \1 ", text).strip()


@pytest.mark.parametrize("written", [str, spaced])
@pytest.mark.parametrize("opening", ["", OPENING])
def test_rationales_are_read_in_every_space(opening: str, written: Callable[[str], str]) -> None:
    for fact in FACTS:
        labels = tuple(LETTERS[: len(fact.choices)])
        reply = written(opening + fact.rationale(labels[fact.gold]))
        read = extract(reply, "mcq", labels=labels, options=fact.choices)
        assert (read.slot, read.rule, read.post) == (fact.gold, "statement", ""), reply
        assert read.trace.startswith(written(opening + fact.question.steps).rstrip(" .")[:20])
        told = extract(
            written(opening + fact.rationale(fact.question.answer)), "mcq", labels=labels, options=fact.choices
        )
        assert told.slot == fact.gold
        assert extract(written(opening + fact.rationale(fact.question.answer)), "open").answer == fact.question.answer
        assert extract(written(opening + fact.rationale("yes")), "bool").answer == "yes"
        steps = extract(written(opening + fact.question.steps), "mcq", labels=labels, options=fact.choices)
        assert steps.answer is None


@pytest.mark.parametrize("answer", sorted({fact.question.answer for fact in FACTS}))
def test_bare_answers_are_read(answer: str) -> None:
    assert extract(answer, "open").answer == answer
    assert extract(f"{answer} .", "open").answer == answer
