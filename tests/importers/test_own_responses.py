"""Our own schema: values, channels, right answers that fit or do not, and rows that are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.importers.rows import GOOD, MCQ, OPEN, one
from thinkgap.errors import ConfigError, DataError
from thinkgap.importers import load_responses
from thinkgap.responses.answered import read_answered
from thinkgap.types import Answered, Question, Response, Thinking


def reason(lines: Callable[..., Path], row: dict[str, Any] | str, **settings: Any) -> str:
    """Why `row` is bad, in a file where it stands second."""
    found = load_responses(lines([GOOD, row]), **settings)
    assert [answered.question.item_id for answered in found.answered] == ["good"]
    (bad,) = found.bad
    assert bad.reason.startswith("line 2")
    return bad.reason


def test_a_row_with_everything(lines: Callable[..., Path]) -> None:
    row = MCQ | {
        "group_id": "plants",
        "dataset": "own",
        "mode": "strict",
        "model": "m-1",
        "thinking": "disabled",
        "labels": ["1", "2"],
        "gold": "2",
        "context": "Plants make sugar.",
        "subject": "biology",
        "response": " \\boxed{2}\n",
        "reasoning": "They take in carbon.",
        "reasoning_content": "They take  in carbon.",
        "reasoning_details": [
            {"type": "reasoning.summary", "summary": "Sugar."},
            {"type": "reasoning.encrypted", "data": "zzz"},
            {"type": "reasoning.text", "text": "They take in carbon."},
        ],
        "refusal": None,
        "finish_reason": "stop",
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 7,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }
    assert one(lines, row) == Answered(
        Question(
            item_id="q1",
            group_id="plants",
            dataset="own",
            space="mcq",
            problem="Context: Plants make sugar.\nQuestion: Which gas do plants take in?\n"
            "Options:\n1. oxygen\n2. carbon dioxide",
            answer="2",
            labels=("1", "2"),
            options=("oxygen", "carbon dioxide"),
            parts=("Plants make sugar.", "Which gas do plants take in?", "oxygen", "carbon dioxide"),
            subject="biology",
            contents=(0, 1),
        ),
        "strict",
        Thinking.disabled,
        Response(
            content=" \\boxed{2}\n",
            # Each text once: the two first differ in blanks only, and the third channel holds it again.
            reasoning="They take in carbon.\n\nSugar.",
            channels={
                "reasoning": "They take in carbon.",
                "reasoning_content": "They take  in carbon.",
                "reasoning_details": "They take in carbon.\n\nSugar.",
            },
            finish_reason="stop",
            prompt_tokens=9,
            completion_tokens=7,
            reasoning_tokens=5,
            model="m-1",
        ),
    )


@pytest.mark.parametrize(
    ("change", "gold"),
    [
        ({"gold": "B"}, "B"),
        ({"gold": 1}, "B"),
        ({"gold": " carbon  dioxide"}, "B"),
        ({"gold": None}, ""),
        ({"gold": ""}, ""),
        ({"gold": "no", "space": "bool", "options": None}, "no"),
        ({"gold": "TRUE", "space": "bool", "options": None}, "yes"),
        ({"gold": False, "space": "bool", "options": None}, "no"),
        ({"gold": 24, "space": "open", "options": None}, "24"),
        ({"gold": " 3/4 ", "space": "open", "options": None}, "3/4"),
        ({"gold": "5", "options": ["5", "6"], "labels": ["1", "2"]}, "1"),
    ],
)
def test_right_answers(lines: Callable[..., Path], change: dict[str, Any], gold: str) -> None:
    assert one(lines, MCQ | change).question.answer == gold


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"gold": "C"}, "gold 'C' does not fit space mcq: it is none of A, B and no option's text"),
        ({"gold": "b"}, "does not fit space mcq"),
        ({"gold": 2}, "out of range"),
        ({"gold": -1}, "out of range"),
        ({"gold": True}, "does not fit space mcq"),
        ({"gold": 1.5}, "does not fit space mcq"),
        ({"gold": "A", "options": ["B", "A"]}, "names several options by label or text"),
        ({"options": None}, "needs 'labels' or 'options'"),
        ({"options": ["one"]}, "two or more options"),
        ({"options": ["one", " "]}, "option B is empty"),
        ({"options": "ab"}, "'options' is str"),
        ({"labels": ["A"]}, "a label for each"),
        ({"labels": ["A", "B", "C"]}, "3 labels"),
        ({"labels": ["A", "A"]}, "all different"),
        ({"gold": "maybe", "space": "bool", "options": None}, "none of yes, no, true, false"),
        ({"gold": 1, "space": "bool", "options": None}, "does not fit space bool"),
        ({"space": "bool"}, "is it mcq?"),
        ({"open_box": "yes"}, "open_box 'yes' is neither true nor false"),
        ({"gold": ["24"], "space": "open", "options": None}, "'gold' is list"),
        ({"space": "mqc"}, "did you mean 'mcq'"),
        ({"space": None}, "'space' is missing"),
        ({"question": "  "}, "the question is empty"),
        ({"question": 3}, "'question' is int 3, not text"),
        ({"response": ["B"]}, "'response' is list"),
        ({"response": "\ud800"}, "lone surrogate"),
        ({"model": "m\ud800"}, "'model' holds a lone surrogate"),
        ({"finish_reason": "\ud800"}, "'finish_reason' holds a lone surrogate"),
        ({"thinking": "off"}, "thinking 'off' is unknown"),
        ({"usage": 7}, "'usage' is int"),
        ({"usage": {"prompt_tokens": -1}}, "not a number of tokens"),
        ({"usage": {"completion_tokens": 1.5}}, "not a number of tokens"),
        ({"usage": {"completion_tokens": 2**63}}, "not a number of tokens"),
        ({"usage": {"completion_tokens": math.inf}}, "not a number of tokens"),
        ({"reasoning_details": "text"}, "not a list of objects"),
        ({"reasoning_details": [{"text": 3}]}, "where a text belongs"),
        ({"id": 1.5}, "its id is float"),
        ({"group_id": ["a"]}, "'group_id' is list"),
    ],
)
def test_refused_rows(lines: Callable[..., Path], change: dict[str, Any], complaint: str) -> None:
    assert complaint in reason(lines, MCQ | change)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"id": "q1", ', "not JSON"),
        ("[1, 2]", "list, not an object"),
        ('{"id": 1, "id": 2}', "'id' stands twice"),
        ('{"question": "Why?", "gold": "x", "space": "open"}', "'response' is missing (null stands for no visible"),
        ('{"response": "x", "gold": "x", "space": "open"}', "'question' is missing"),
    ],
)
def test_refused_lines(lines: Callable[..., Path], line: str, complaint: str) -> None:
    assert complaint in reason(lines, line)


@pytest.mark.parametrize(
    ("mode", "open_box", "rule"),
    [
        ("mine", True, "forced_prefix"),
        ("mine", False, ""),
        ("mine", None, ""),
        ("prefix", None, "forced_prefix"),
        ("prefix", False, ""),
    ],
)
def test_the_row_or_the_modes_name_says_that_a_box_was_opened(
    lines: Callable[..., Path], mode: str, open_box: bool | None, rule: str
) -> None:
    found = one(lines, MCQ | {"mode": mode, "open_box": open_box, "response": "B} since"})
    assert found.open_box is open_box
    assert read_answered(found).rule == rule


def test_a_null_response_is_an_empty_one_and_the_channel_stays(lines: Callable[..., Path]) -> None:
    response = one(lines, OPEN | {"response": None, "reasoning_content": "24", "finish_reason": "stop"}).response
    assert (response.content, response.reasoning, dict(response.channels)) == ("", "24", {"reasoning_content": "24"})
    assert response.prompt_tokens is response.completion_tokens is response.reasoning_tokens is None


@pytest.mark.parametrize(
    ("reasoning", "details", "expected"),
    [
        ("One. Two.", [{"text": "One. "}, {"text": "Two."}], "One. Two."),
        ("One.", [{"text": "One."}, {"text": "Two."}], "One.\n\nTwo."),
        ("", [{"summary": "S."}, {"text": "T."}, {"summary": "S."}], "T.\n\nS."),
        ("", [{"type": "reasoning.encrypted", "data": "zz"}], ""),
        (" ", None, ""),
    ],
)
def test_reasoning_that_comes_twice_counts_once(
    lines: Callable[..., Path], reasoning: str, details: Any, expected: str
) -> None:
    assert one(lines, OPEN | {"reasoning": reasoning, "reasoning_details": details}).response.reasoning == expected


def test_parquet_gives_what_json_lines_give(lines: Callable[..., Path], tmp_path: Path) -> None:
    rows = [
        MCQ | {"usage": {"prompt_tokens": 3, "completion_tokens": None}, "reasoning_details": [{"text": "So."}]},
        MCQ | {"id": "q2", "gold": None, "response": None, "usage": {"prompt_tokens": 4, "completion_tokens": 1}},
    ]
    file = tmp_path / "no_suffix"
    pq.write_table(pa.Table.from_pylist([row | {"vector": [0.5]} for row in rows]), file)
    found = load_responses(file)
    assert found.format == "parquet"
    assert found.answered == load_responses(lines(rows)).answered
    assert "column 'vector' is not used" in found.notes
    assert "1 row(s) without right answer" in found.notes


def test_missing_values_of_pandas(tmp_path: Path) -> None:
    table = {
        "question": ["One and one?", "Two and two?"],
        "response": ["2", None],
        "gold": ["2", "4"],
        "space": ["open", "open"],
        "id": [1.0, math.nan],
    }
    pq.write_table(pa.table(table | {"reasoning": pa.array([None, None], pa.float64())}), tmp_path / "f.parquet")
    found = load_responses(tmp_path / "f.parquet")
    # An id that became a float would not be the same in a file without gaps.
    assert [bad.reason for bad in found.bad] == ["row 1: its id is float, not text or a whole number"]
    assert [one.response.content for one in found.answered] == [""]


@pytest.mark.parametrize(
    ("row", "settings", "complaint"),
    [
        ({"question": "q", "response": "r", "space": "open"}, {}, "no column 'gold'"),
        ({"question": "q", "respons": "r", "gold": "g", "space": "open"}, {}, "did you mean 'respons'"),
        ({"question": "q", "response": "r", "gold": "g"}, {}, "no column 'space' (or give --space)"),
        ({"question": "q", "response": 3, "gold": "g"}, {"space": "open"}, "none of its 1 row(s) can be used: line 1"),
    ],
)
def test_refused_files(
    lines: Callable[..., Path], row: dict[str, Any], settings: dict[str, Any], complaint: str
) -> None:
    file = lines([row])
    with pytest.raises(DataError) as error:
        load_responses(file, **settings)
    assert complaint in str(error.value)
    assert str(file) in str(error.value)


def test_unused_columns_are_named(lines: Callable[..., Path]) -> None:
    notes = load_responses(lines([OPEN | {"finishreason": "length", "zzz": 1}])).notes
    assert "column 'finishreason' is not used; did you mean 'finish_reason' or 'reasoning' or 'response'?" in notes
    assert "column 'zzz' is not used" in notes


def test_settings_that_do_not_exist(lines: Callable[..., Path]) -> None:
    file: Any = lines([OPEN])
    with pytest.raises(ConfigError, match="did you mean 'inspect'"):
        load_responses(file, format="inspct")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="space 'number' is unknown"):
        load_responses(file, space="number")  # type: ignore[arg-type]


def test_one_bad_line_of_many_loses_no_other(lines: Callable[..., Path]) -> None:
    rows: list[Any] = [OPEN | {"id": number} for number in range(50)]
    rows[20] = json.dumps(rows[20])[:-5]
    found = load_responses(lines(rows))
    assert len(found.answered) == 49
    assert [bad.id for bad in found.bad] == ["line 21"]


def test_responses_to_perturbed_items(lines: Callable[..., Path]) -> None:
    shuffle = MCQ | {"presentation": "surface_shuffle", "contents": [1, 0]}
    bullets = MCQ | {"presentation": "surface_bullets", "contents": [0, 1], "gold": 1, "response": "\\boxed{oxygen}"}
    found = load_responses(lines([MCQ, shuffle, bullets, shuffle]))
    asked = [one.question for one in found.answered]
    assert [one.presentation for one in asked] == ["identity", "surface_shuffle", "surface_bullets"]
    assert [one.contents for one in asked] == [(0, 1), (1, 0), (0, 1)]
    assert "answers the same request as line 2" in found.bad[0].reason
    assert asked[2].problem.endswith("Options:\n- oxygen\n- carbon dioxide")
    assert asked[2].answer == "carbon dioxide"
    read = read_answered(found.answered[2])
    assert (read.answer, read.slot) == ("oxygen", 0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"contents": [0, 0]}, "does not name each of the 2 options"),
        ({"contents": [0]}, "does not name each of the 2 options"),
        ({"contents": [0, True]}, "no list of indices"),
        ({"contents": "01"}, "no list of indices"),
        ({"presentation": "surface_bullets", "labels": ["A", "B"]}, "and no 'labels'"),
        ({"presentation": "surface_bullets", "options": ["same", "same"], "gold": 0}, "options that all differ"),
        ({"contents": [0], "space": "open", "options": None}, "does not fit space open"),
    ],
)
def test_presentations_that_do_not_fit(lines: Callable[..., Path], change: dict[str, Any], complaint: str) -> None:
    assert complaint in reason(lines, MCQ | change)
