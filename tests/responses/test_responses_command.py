"""The command line of the extractor: files of cases, files of responses, and what it prints on a terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import ROOT
from thinkgap.printable import printable
from thinkgap.responses.__main__ import check, main

REQUIRED = Path(os.environ.get("THINKGAP_SHARED", ROOT.parent / "shared")) / "cases" / "extraction.jsonl"
BOX = {"id": "box", "space": "mcq", "content": "So \\boxed{C}.", "expect": {"status": "ok", "answer": "C"}}
ROWS = (
    {"id": 1, "question": "3 + 4?", "gold": "7", "space": "open", "response": "\\boxed{7}"},
    {"id": 2, "question": "3 + 5?", "gold": "8", "space": "open", "response": "It is \x1b[31m", "reasoning": "Hm."},
    {"id": 3, "question": "3 + 6?", "gold": "9", "space": "open", "response": "9", "finish_reason": "length"},
)


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: Sequence[Mapping[str, Any] | str], name: str = "file.jsonl") -> Path:
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return tmp_path / name

    return write


def expecting(**expect: Any) -> dict[str, Any]:
    return BOX | {"expect": BOX["expect"] | expect}


def test_cases_that_pass(lines: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = lines([BOX, BOX | {"id": "again"}])
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


def test_a_case_that_fails(lines: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = lines([BOX, expecting(answer="B", trace="So", post="now", answer_first=True) | {"id": "wrong"}])
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "wrong: answer: expected 'B', found 'C'",
        "wrong: post: expected 'now', found ''",
        "wrong: answer_first: expected True, found False",
        "1 passed, 1 failed",
    ]


def test_an_equality_is_asked_with_the_answer_first(lines: Callable[..., Path]) -> None:
    asked = []

    def equal(answer: str, gold: str) -> bool:
        asked.append((answer, gold))
        return answer == "0.5" and gold == "1/2"

    half = {"id": "half", "space": "open", "content": "\\boxed{0.5}", "gold": "1/2"}
    none = {"id": "none", "space": "open", "content": "", "gold": "1/2"}
    file = lines(
        [
            half | {"expect": {"status": "ok", "answer": "0.5", "equal": True}},
            none | {"expect": {"status": "empty", "answer": None, "equal": False}},
        ]
    )
    assert check(file, equal) == 0
    assert asked == [("0.5", "1/2")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 3: is not JSON"),
        ("[]", "line 3: is a JSON list"),
        (BOX | {"id": "box"}, "line 3: it has the id of line 1 ('box')"),
        (BOX | {"id": None}, "line 3: 'id' is missing"),
        (BOX | {"id": "x", "space": "mqc"}, "did you mean 'mcq'"),
        (BOX | {"id": "x", "expect": None}, "line 3: 'expect' is missing"),
        (BOX | {"id": "x", "expect": {"status": "ok"}}, "'expect' has no 'answer'"),
        (BOX | {"id": "x", "expect": {"status": "okay", "answer": None}}, "did you mean 'ok'"),
        (expecting(lead_in_only=True) | {"id": "x"}, "did you mean 'leadin_only'"),
        (expecting(answer_first=1) | {"id": "x"}, "neither true nor false"),
        (expecting(trace=1) | {"id": "x"}, "'trace' is no text"),
        (expecting(equal=True) | {"id": "x"}, "'equal' needs a 'gold'"),
        (BOX | {"id": "x", "lables": ["A"]}, "did you mean 'labels'"),
        (BOX | {"id": "x", "labels": "AB"}, "'labels' is no list of texts"),
        (BOX | {"id": "x", "content": 3}, "'content' is int, not text"),
        (BOX | {"id": "x", "labels": ["A", "A"]}, "line 3: labels ('A', 'A')"),
    ],
)
def test_a_line_that_is_no_case(
    lines: Callable[..., Path], capsys: pytest.CaptureFixture[str], line: Any, complaint: str
) -> None:
    file = lines([BOX, "", line])
    assert main(["check", str(file)]) == 2
    printed = capsys.readouterr()
    assert str(file) in printed.err
    assert complaint in printed.err
    assert "passed" not in printed.out


@pytest.mark.parametrize("command", ["check", "read"])
def test_files_that_cannot_be_read(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}\n')
    for name, complaint in (("none", "No such file"), ("empty", "is empty"), ("latin", "line 1"), ("", "a folder")):
        assert main([command, str(tmp_path / f"{name}.jsonl") if name else str(tmp_path)]) == 2
        assert complaint in capsys.readouterr().err


def test_the_required_readings_are_cases(capsys: pytest.CaptureFixture[str]) -> None:
    if not REQUIRED.is_file():
        pytest.skip(f"the required readings are not here: {REQUIRED}")
    assert check(REQUIRED) == 0
    n = len([line for line in REQUIRED.read_text(encoding="utf-8").splitlines() if line.strip()])
    assert capsys.readouterr().out == f"{n} passed, 0 failed\n"


def test_open_answers_are_compared_by_number_and_algebra(
    lines: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    def case(name: str, said: str, gold: str, equal: bool) -> dict[str, Any]:
        expect = {"status": "ok", "answer": said, "equal": equal}
        return {"id": name, "space": "open", "content": f"\\boxed{{{said}}}", "gold": gold, "expect": expect}

    file = lines([case("half", "0.5", "1/2", True), case("root", "2\\sqrt{2}", "\\sqrt{8}", True),
                  case("percent", "28", "28\\%", False), case("undecided", "5", "???", False)])  # fmt: skip
    assert check(file) == 0
    assert capsys.readouterr().out == "4 passed, 0 failed\n"


def test_model_text_cannot_command_the_terminal(lines: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    content = "\x1b]0;title\x07\x9b31m\u202eabc\r\\boxed{A}"
    case = {"id": "evil\x1b[2J\n", "space": "mcq", "content": content, "expect": {"status": "ok", "answer": "B"}}
    case["expect"] |= {"trace": "x", "note": "n"}
    assert main(["check", str(lines([case]))]) == 1
    printed = capsys.readouterr().out
    assert all(line.isprintable() for line in printed.splitlines())
    assert printed.startswith("evil\\x1b[2J\\n: answer: expected 'B', found 'A'\n")
    assert "\\u202e" not in printed.splitlines()[0]
    assert printable("é \ud800 \u2028 \t") == "é \\ud800 \\u2028 \\t"


def test_a_terminal_that_shows_ascii_only(lines: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["check", str(lines([expecting(answer="β")]))]) == 1
    stream.seek(0)
    assert stream.read().startswith("box: answer: expected '\\u03b2', found 'C'")


def test_reading_a_file(lines: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = lines([*ROWS, {"id": "\x1b[2J", "question": "?"}])
    assert main(["read", str(file), "--mode", "strict"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == ("not used: \\x1b[2J: line 4: 'response' is missing (null stands for no visible text)")
    assert printed[1:] == [
        "3 responses read as jsonl, 1 rows not used",
        "  ok: 1 (33.3%)",
        "  unparsed: 1 (33.3%)",
        "  truncated: 1 (33.3%)",
        f"written: {file}.read.jsonl",
    ]
    written = [json.loads(line) for line in Path(f"{file}.read.jsonl").read_text(encoding="ascii").splitlines()]
    assert written[0] == {
        "item_id": "1",
        "group_id": written[0]["group_id"],
        "dataset": "",
        "space": "open",
        "mode": "strict",
        "thinking": "default",
        "model": "",
        "status": "ok",
        "answer": "7",
        "gold": "7",
        "rule": "box",
        "flags": [],
        "trace": "",
        "post": "",
        "reasoning": "",
        "finish_reason": "",
    }
    # In the file the text stays as it came.
    assert (written[1]["status"], written[1]["trace"], written[1]["reasoning"]) == ("unparsed", "It is \x1b[31m", "Hm.")
    # "9" at the limit may have become 95.
    assert (written[2]["status"], written[2]["answer"]) == ("truncated", None)
    assert written[2]["flags"] == ["cut_at_answer", "truncated"]


def test_bars_on_a_terminal_only(
    lines: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["read", str(lines(ROWS)), "--out", str(tmp_path / "out.jsonl")]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(command) == 0
    shown = capsys.readouterr().err
    assert "check: 100%" in shown
    assert "read: 100%" in shown


def test_parquet_holds_the_same(lines: Callable[..., Path], tmp_path: Path) -> None:
    file = lines(ROWS)
    assert main(["read", str(file), "--out", str(tmp_path / "out.jsonl")]) == 0
    assert main(["read", str(file), "--out", str(tmp_path / "out.parquet")]) == 0
    expected = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    frame = pd.read_parquet(tmp_path / "out.parquet")
    found = [
        {
            key: list(value) if key == "flags" else None if value is None or value != value else value
            for key, value in row
        }
        for row in (record.items() for record in frame.to_dict("records"))
    ]
    assert found == expected
    assert main(["read", str(lines([ROWS[1]], "no_answer.jsonl")), "--out", str(tmp_path / "null.parquet")]) == 0
    import pyarrow.parquet as pq

    assert str(pq.read_schema(tmp_path / "null.parquet").field("answer").type) == "string"


@pytest.mark.parametrize(
    ("out", "complaint"),
    [("out.csv", "its suffix is .jsonl or .parquet"), ("none/out.jsonl", "no folder"), ("file.jsonl", "that is read")],
)
def test_places_that_are_refused(
    lines: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, complaint: str
) -> None:
    file = lines(ROWS)
    before = file.read_bytes()
    assert main(["read", str(file), "--out", str(tmp_path / out)]) == 2
    assert complaint in capsys.readouterr().err
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_labels_and_space_for_rows_that_have_none(lines: Callable[..., Path], tmp_path: Path) -> None:
    row = {"id": 1, "question": "Which? 1. red 2. blue", "gold": "2", "response": "\\boxed{2}"}
    out = tmp_path / "out.jsonl"
    given = ["--out", str(out), "--space", "mcq", "--labels", "1, 2", "--format", "jsonl"]
    assert main(["read", str(lines([row])), *given]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["answer"] == "2"


@pytest.mark.parametrize(("page", "command"), [("extraction.md", "check"), ("own_responses.md", "read")])
def test_the_examples_of_the_documentation_work(
    lines: Callable[..., Path], capsys: pytest.CaptureFixture[str], page: str, command: str
) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    examples = text.partition("```json\n")[2].partition("```")[0].splitlines()
    assert len(examples) == 2
    assert main([command, str(lines(examples))]) == 0
    printed = capsys.readouterr().out
    assert "not used" not in printed.replace("0 rows not used", "")


def test_as_a_program(lines: Callable[..., Path]) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "thinkgap.responses", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    done = run("check", str(lines([BOX, expecting(answer="A") | {"id": "b"}])))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1 passed, 1 failed")
    done = run("check", str(lines(["{"])))
    assert done.returncode == 2
    assert "line 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert run("read").returncode == 2
