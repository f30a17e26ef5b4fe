"""What rows leave open: settings of the call, ids, groups, and second responses to the same request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.importers.rows import MCQ, OPEN, one
from thinkgap.importers import load_responses
from thinkgap.types import Thinking


def test_what_rows_do_not_say_is_taken_from_the_call(lines: Callable[..., Path]) -> None:
    row = {key: value for key, value in MCQ.items() if key not in ("space", "options")}
    settings: dict[str, Any] = {"space": "mcq", "mode": "strict", "model": "m", "dataset": "d", "labels": "ABCD"}
    answered = one(lines, row, thinking=Thinking.enabled, **settings)
    assert (answered.mode, answered.thinking, answered.response.model) == ("strict", Thinking.enabled, "m")
    assert (answered.question.dataset, answered.question.labels) == ("d", ("A", "B", "C", "D"))
    # Its options stand somewhere in the question, so the parts are not known apart.
    assert answered.question.parts == ()
    own = {"mode": "soft", "model": "n", "dataset": "e", "thinking": False}
    answered = one(lines, MCQ | own, thinking=Thinking.enabled, **settings)
    assert (answered.mode, answered.thinking, answered.response.model) == ("soft", Thinking.disabled, "n")
    assert (answered.question.dataset, answered.question.labels) == ("e", ("A", "B"))


def test_ids_of_the_text_are_the_same_in_every_file(lines: Callable[..., Path]) -> None:
    rows = [{key: value for key, value in row.items() if key != "id"} for row in (MCQ, OPEN)]
    first = load_responses(lines(rows), mode="strict")
    second = load_responses(lines(rows[::-1], "other.jsonl"), mode="soft")
    assert {one.question.item_id for one in first.answered} == {one.question.item_id for one in second.answered}
    assert "2 row(s) without id: it is made of the question's text" in first.notes
    shuffled = load_responses(lines([rows[0] | {"options": ["carbon", "oxygen"]}]))
    assert shuffled.answered[0].question.item_id != first.answered[0].question.item_id


def test_a_second_response_to_the_same_request_is_bad_and_both_are_named(lines: Callable[..., Path]) -> None:
    again = OPEN | {"response": "25"}
    found = load_responses(lines([OPEN, "", again, OPEN | {"mode": "soft"}, OPEN | {"model": "m"}]))
    assert [one.response.content for one in found.answered] == ["24", "24", "24"]
    (bad,) = found.bad
    assert bad.id == "q2"
    assert bad.reason == "line 3: it answers the same request as line 1 (id 'q2'), which is kept"


def test_groups(lines: Callable[..., Path]) -> None:
    passage = {"context": "Ice floats.", "space": "open", "gold": "x", "response": "x"}
    rows = [
        passage | {"id": "a", "question": "Why?"},
        passage | {"id": "b", "question": "Where?"},
        OPEN | {"id": "c"},
        OPEN | {"id": "d", "mode": "soft"},
        OPEN | {"id": "e", "question": "Other?", "group_id": 7},
        OPEN | {"id": "f", "question": "Another?"},
    ]
    groups = {one.question.item_id: one.question.group_id for one in load_responses(lines(rows)).answered}
    assert groups["a"] == groups["b"]  # one passage
    assert groups["c"] == groups["d"]  # one question
    assert groups["e"] == "7"  # its own word
    assert len(set(groups.values())) == 4
