"""Replies of every wrong kind, and the forms of a right one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thinkgap.judging.request import JudgeItem, shown
from thinkgap.judging.validate import InvalidReply, Verdict, is_verbatim, read_reply
from thinkgap.schema import JudgeConfig
from thinkgap.types import Pair

CFG = JudgeConfig(name="judge")
ONE = shown(Pair("How many?", "Since 40 / 8 = 5,\n  it takes Five minutes."), CFG)
TWO = shown(Pair("Which?", "The answer is"), CFG)
GOOD: list[dict[str, Any]] = [
    {"id": ONE.id, "evidence": "40 / 8 = 5", "label": "explicit_reasoning"},
    {"id": TWO.id, "evidence": "the ANSWER  is", "label": "generic_or_off_topic"},
]
READ = {
    ONE.id: Verdict("explicit_reasoning", "40 / 8 = 5", True),
    TWO.id: Verdict("generic_or_off_topic", "the ANSWER  is", True),
}


def text(entries: Any, **fields: Any) -> str:
    return json.dumps({"labels": entries, **fields})


def read(content: str, items: list[JudgeItem] | None = None) -> dict[str, Verdict]:
    return read_reply(content, items or [ONE, TWO])


@pytest.mark.parametrize(
    "content",
    [
        text(GOOD),
        text(GOOD[::-1]),
        f"\n  {text(GOOD)}\n",
        f"```json\n{json.dumps({'labels': GOOD}, indent=2)}\n```",
        f"```\n{text(GOOD)}\n```\n",
        f"<think>Item two is {{odd}}.\n</think>\n\n{text(GOOD)}",
    ],
)
def test_a_valid_reply(content: str) -> None:
    assert read(content) == READ


def changed(number: int = 0, **fields: Any) -> list[dict[str, Any]]:
    return [{**entry, **(fields if place == number else {})} for place, entry in enumerate(GOOD)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is empty"),
        ("<think>all thought, no answer</think>", "it is empty"),
        ("The first is explicit.", "no JSON object"),
        (text(GOOD)[:-3], "no JSON object"),
        (text(GOOD) + " I hope this helps.", "no JSON object"),
        (f"Here it is:\n```json\n{text(GOOD)}\n```", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        (f'{{"labels": [], "labels": {json.dumps(GOOD)}}}', "twice"),
        (json.dumps(GOOD), "labels"),
        ("null", "labels"),
        (text(GOOD, note="done"), "labels"),
        (text({"a": 1}), "labels"),
        (text(["explicit_reasoning"]), "fields id, evidence, label"),
        (text(changed(reason="because")), "and no others"),
        (text([{name: GOOD[0][name] for name in ("id", "label")}, GOOD[1]]), "fields id, evidence, label"),
        (text(GOOD[:1]), f"no entry for {TWO.id}"),
        (text([]), f"no entry for {ONE.id}, {TWO.id}"),
        (text([*GOOD, GOOD[0]]), f"more than one entry for {ONE.id}"),
        (text([*GOOD, {**GOOD[0], "id": "000000000000"}]), "no id of these items"),
        (text(changed(id=ONE.id.upper() + " ")), "no id of these items"),
        (text(changed(label="explicit")), "none of the labels"),
        (text(changed(label="Explicit_Reasoning")), "none of the labels"),
        (text(changed(label=None)), "label must be a text"),
        (text(changed(evidence=["40"])), "evidence must be a text"),
        (text(changed(id=7)), "id must be a text"),
        (text(changed(evidence="\ud83d")), "surrogate"),
    ],
)
def test_a_reply_that_cannot_be_used(content: str, said: str) -> None:
    with pytest.raises(InvalidReply, match=said):
        read(content)


def test_what_is_told_of_a_wrong_label_is_short() -> None:
    with pytest.raises(InvalidReply) as caught:
        read(text(changed(label="x" * 100_000)))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("evidence", "there"),
    [
        ("Since 40 / 8 = 5, it takes five minutes.", True),
        ("it TAKES\tFive", True),
        ("40/8 = 5", False),
        ("Since 40 ... minutes", False),
        ("", False),
        ("  \n", False),
        ("How many?", False),
    ],
)
def test_verbatim_is_up_to_white_space_and_case(evidence: str, there: bool) -> None:
    assert is_verbatim(evidence, ONE.text) is there
    (found,) = read(text(changed(evidence=evidence)[:1]), [ONE]).values()
    assert found.verbatim is there


def test_evidence_from_the_part_that_was_left_out_is_in_the_trace() -> None:
    item = shown(Pair("Q?", "a " * 400 + "middle " + "b " * 400), JudgeConfig(name="judge", trace_chars=200))
    assert "middle" not in item.line
    assert is_verbatim("a middle b", item.text)
    assert not is_verbatim("characters left out", item.text)
