"""Samples of lm-evaluation-harness, as version 0.4.13 wrote them for SmolLM2 and tasks of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkgap.errors import DataError
from thinkgap.importers import load_responses


def samples(files: Path, task: str) -> tuple[Path, list[dict[str, Any]]]:
    (file,) = files.glob(f"samples_own_{task}_*.jsonl")
    return file, [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_each_reply_is_read_once_whatever_the_filters(files: Path) -> None:
    file, rows = samples(files, "open")
    assert {row["filter"] for row in rows} == {"strict-match", "flexible-extract"}
    found = load_responses(file)
    first = [row for row in rows if row["filter"] == rows[0]["filter"]]
    assert len(rows) == 2 * len(first) == 8
    assert [one.response.content for one in found.answered] == [row["resps"][0][0] for row in first]
    assert [one.question.item_id for one in found.answered] == ["k1", "k2", "k3", "k4"]
    assert found.bad == ()
    assert "4 row(s): a further filter of the same reply, left out" in found.notes


def test_questions_golds_and_what_is_not_recorded(files: Path) -> None:
    found = load_responses(samples(files, "open")[0])
    first = found.answered[0]
    assert first.question.problem == "Question: A baker fills 3 trays with 4 rolls each. How many rolls are there?"
    assert (first.question.dataset, first.question.space, first.mode) == ("own_open", "open", "")
    assert first.response.finish_reason == ""
    assert any("does not record why a reply ended" in note for note in found.notes)
    # The target of the last document is a worked solution that ends in "#### 5".
    assert [one.question.answer for one in found.answered] == ["12", "4", "orange", "5"]
    assert any(note.startswith("1 row(s): a worked solution as target") for note in found.notes)


def test_repeats_are_responses_of_one_group(files: Path) -> None:
    file, rows = samples(files, "choice")
    found = load_responses(file)
    assert [one.response.content for one in found.answered] == [text for row in rows for text in row["resps"][0]]
    ids = [one.question.item_id for one in found.answered]
    assert ids == ["1", "1#2", "2", "2#2", "3", "3#2", "4", "4#2"]
    groups = [one.question.group_id for one in found.answered]
    assert groups[0::2] == groups[1::2]
    assert len(set(groups)) == 4
    question = found.answered[0].question
    assert (question.space, question.labels, question.answer) == ("mcq", ("A", "B", "C", "D"), "A")
    assert question.options == ("scissors", "spoon", "pillow", "kettle")


def test_log_likelihoods_are_no_text(files: Path) -> None:
    with pytest.raises(DataError, match="log-likelihoods of answer strings.*run a generate_until task"):
        load_responses(samples(files, "labels")[0])


def test_log_likelihoods_among_texts_are_bad_rows(files: Path, lines: Callable[..., Path]) -> None:
    mixed = lines([*samples(files, "open")[1][:2], samples(files, "labels")[1][3] | {"doc_id": 99}])
    found = load_responses(mixed)
    assert len(found.answered) == 2
    (bad,) = found.bad
    assert bad.reason.startswith("line 3: it holds log-likelihoods")


@pytest.mark.parametrize("resps", [[["-12.5"]], [[-12.5]]])
def test_rolling_log_likelihoods_are_no_text(files: Path, lines: Callable[..., Path], resps: Any) -> None:
    row = samples(files, "open")[1][0] | {"arguments": {"gen_args_0": {"arg_0": "Some text"}}, "resps": resps}
    with pytest.raises(DataError, match="log-likelihoods"):
        load_responses(lines([row]))


def changed(files: Path, **doc: Any) -> dict[str, Any]:
    row = samples(files, "open")[1][0]
    return row | {"doc": doc}


def test_a_document_without_question_is_its_prompt(files: Path, lines: Callable[..., Path]) -> None:
    found = load_responses(lines([changed(files, text="x")]))
    question = found.answered[0].question
    assert question.problem.startswith("<|im_start|>system")
    assert (question.item_id, question.parts) == ("0", ())
    assert any("the whole prompt stands for it" in note for note in found.notes)


def test_a_chat_request_without_question_is_its_last_turn(files: Path, lines: Callable[..., Path]) -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    row = changed(files, text="x") | {"arguments": {"gen_args_0": {"arg_0": [json.dumps(turns)], "arg_1": {}}}}
    assert load_responses(lines([row])).answered[0].question.problem == "Why?"


def test_lists_of_arguments_of_older_versions(files: Path, lines: Callable[..., Path]) -> None:
    row = changed(files, text="x") | {"arguments": [["Why?", {"until": ["."]}]]}
    assert load_responses(lines([row])).answered[0].question.problem == "Why?"


def test_layouts_of_options(files: Path, lines: Callable[..., Path]) -> None:
    choices = {"text": ["red", "blue"], "label": ["1", "2"]}
    row = changed(files, question="Which?", choices=choices) | {"target": "2"}
    question = load_responses(lines([row])).answered[0].question
    assert (question.labels, question.options, question.answer) == (("1", "2"), ("red", "blue"), "2")
    row = changed(files, question="Which?", options=["red", "blue"], passage="Skies.") | {"target": "blue"}
    question = load_responses(lines([row])).answered[0].question
    assert (question.labels, question.answer, question.parts[0]) == (("A", "B"), "B", "Skies.")


def test_spaces_are_told_by_options_and_right_answers(files: Path, lines: Callable[..., Path]) -> None:
    rows = [
        changed(files, question=f"{number}?", id=number) | {"doc_id": number, "target": target}
        for number, target in enumerate(["yes", "False", " no"])
    ]
    found = load_responses(lines(rows))
    assert [(one.question.space, one.question.answer) for one in found.answered] == [
        ("bool", "yes"),
        ("bool", "no"),
        ("bool", "no"),
    ]
    assert "answer spaces are told by options and right answers: 3 bool" in found.notes
    rows[1]["target"] = "perhaps"
    assert {one.question.space for one in load_responses(lines(rows)).answered} == {"open"}
    assert {one.question.space for one in load_responses(lines(rows[:1]), space="open").answered} == {"open"}
    letters = [row | {"target": "B"} for row in rows]
    assert {one.question.space for one in load_responses(lines(letters), labels="AB").answered} == {"mcq"}


def test_ids_that_are_not_unique_give_way_to_document_numbers(files: Path, lines: Callable[..., Path]) -> None:
    rows = [changed(files, question=f"{number}?", id=1) | {"doc_id": number} for number in (0, 1)]
    assert [one.question.item_id for one in load_responses(lines(rows)).answered] == ["0", "1"]


def test_several_targets(files: Path, lines: Callable[..., Path]) -> None:
    found = load_responses(lines([changed(files, question="?") | {"target": ["12", "twelve"]}]))
    assert found.answered[0].question.answer == "12"
    assert "1 row(s): several right answers, of which the first is kept" in found.notes


def test_a_broken_line_and_a_line_without_text(files: Path, lines: Callable[..., Path]) -> None:
    rows = samples(files, "open")[1][:3]
    rows[1]["resps"] = [[None]]
    found = load_responses(lines([*rows, json.dumps(rows[0])[:100]]))
    assert len(found.answered) == 2
    assert [bad.id for bad in found.bad] == ["k2", "line 4"]
    assert found.bad[0].reason == "line 2: 'resps' holds no text"
