"""Result sheets in VLMEvalKit's layout, written as it writes them."""

from __future__ import annotations

import builtins
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from thinkgap.errors import DataError
from thinkgap.importers import load_responses

HEADER = ("index", "question", "A", "B", "answer", "prediction")


@pytest.fixture
def sheet(tmp_path: Path) -> Callable[..., Path]:
    """`sheet(rows, header)`: a .tsv with all cells quoted."""

    def write(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> Path:
        file = tmp_path / "model_own.tsv"
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([header, *rows])
        return file

    return write


def test_a_sheet(files: Path) -> None:
    found = load_responses(files / "model_own.tsv")
    rows = {one.question.item_id: one for one in found.answered}
    assert list(rows) == ["0", "1", "1000001", "2"]
    assert rows["0"].question.options == ("scissors", "spoon", "pillow", "kettle")
    assert (rows["0"].question.subject, rows["0"].question.answer) == ("things", "A")
    # Two options: the others are empty cells. The hint is the context, and line ends stay.
    question = rows["1"].question
    assert (question.labels, question.options, question.answer) == (("A", "B"), ("2", "3"), "B")
    assert question.problem.startswith("Context: The picture is of a yard.\nQuestion: How many hens are shown?")
    assert rows["1"].response.content == "There are three hens.\nThe answer is B."
    # Options that a reader of tables might take for missing are options.
    assert rows["2"].question.options == ("None", "NA", "STOP", "nan")
    assert any("does not say why a reply ended" in note for note in found.notes)


def test_circular_copies_are_one_group(files: Path) -> None:
    groups = {one.question.item_id: one.question.group_id for one in load_responses(files / "model_own.tsv").answered}
    assert groups == {"0": "0", "1": "1", "1000001": "1", "2": "2"}


def test_a_request_without_reply_is_a_bad_row(files: Path) -> None:
    (bad,) = load_responses(files / "model_own.tsv").bad
    # A line end in the reply of line 3 makes the sixth row line 7.
    assert (bad.id, bad.reason) == ("3", "line 7: no reply came: 'Failed to obtain answer via API.'")


def test_an_excel_sheet_gives_what_the_text_gives(files: Path) -> None:
    excel, text = load_responses(files / "model_own.xlsx"), load_responses(files / "model_own.tsv")
    assert excel.answered == text.answered
    assert [bad.reason for bad in excel.bad] == ["row 6: no reply came: 'Failed to obtain answer via API.'"]


def test_without_openpyxl_the_way_out_is_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DataError, match="pip install openpyxl, or save the sheet as .tsv"):
        load_responses(files / "model_own.xlsx")


def test_a_cell_that_is_full_has_lost_the_end_of_its_reply(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    page = book.worksheets[0]
    for row in (HEADER, (1, "Which?", 2, 2.5, "A", "x" * 32_767), (2.0, "Which?", 2.0, 3, "A", None)):
        page.append(row)
    book.save(tmp_path / "s.xlsx")
    found = load_responses(tmp_path / "s.xlsx")
    assert [bad.id for bad in found.bad] == ["1"]
    assert "fills the cell" in found.bad[0].reason
    (one,) = found.answered
    assert (one.question.item_id, one.question.options, one.response.content) == ("2", ("2", "3"), "")


def test_spaces_of_sheets_without_options(sheet: Callable[..., Path]) -> None:
    header = ("index", "question", "answer", "prediction", "thinking")
    file = sheet([["7.0", "Is it red?", "Yes", "no", "It is blue."], ["8", "Is it red?", "No", "no", ""]], header)
    first, second = load_responses(file).answered
    assert (first.question.item_id, first.question.space, first.question.answer) == ("7", "bool", "yes")
    assert first.response.reasoning == "It is blue."
    # The same question about two pictures.
    assert (first.question.group_id, second.question.group_id) == ("7", "8")
    (one,) = load_responses(sheet([["1", "What is it?", "a hen", "A hen.", ""]], header)).answered
    assert (one.question.space, one.question.answer) == ("open", "a hen")


def test_rows_that_cannot_be_used(sheet: Callable[..., Path]) -> None:
    good = ["1", "Which?", "red", "blue", "A", "A"]
    rows = [good, ["2", *good[1:4], "C", "A"], ["", *good[1:]], ["4", "Which?"], good, ["6", *good[1:5], "B"]]
    found = load_responses(sheet(rows))
    assert [one.question.item_id for one in found.answered] == ["1", "6"]
    assert [bad.reason for bad in found.bad] == [
        "line 3: gold 'C' does not fit space mcq: it is none of A, B and no option's text",
        "line 4: 'index' is empty",
        "line 5: it has 2 cells, and the header has 6",
        "line 6: it answers the same request as line 2 (id '1'), which is kept",
    ]


def test_bytes_that_are_no_utf8_lose_their_row_only(sheet: Callable[..., Path]) -> None:
    file = sheet([["1", "Größe?", "red", "blue", "A", "A"], ["2", "Which?", "red", "blue", "A", "A"]])
    file.write_bytes(file.read_bytes().replace("ö".encode(), b"\xf6"))
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["2"]
    assert [(bad.id, bad.reason) for bad in found.bad] == [("1", "line 2: it is not UTF-8: save the file as UTF-8")]


def test_a_sheet_that_was_cut_has_lost_the_end_of_its_last_reply(sheet: Callable[..., Path]) -> None:
    file = sheet([["1", "Which?", "red", "blue", "A", "A"], ["2", "Which?", "red", "blue", "A", "I say\nit is B"]])
    file.write_bytes(file.read_bytes()[:-8])
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["1"]
    assert found.bad[0].reason.startswith("line 3: its quotes do not match, or the file was cut")


def test_a_stray_quote_loses_its_row_only(sheet: Callable[..., Path]) -> None:
    file = sheet([[str(number), "Which?", "red", "blue", "A", "A"] for number in (1, 2, 3)])
    file.write_text(file.read_text(encoding="utf-8").replace('"2"\t"Which?"', '"2"\t"Whi"ch?"'), encoding="utf-8")
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["1", "3"]
    assert found.bad[0].reason.startswith("line 3: its quotes do not match")


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (("index", "question", "A", "B", "answer"), "a benchmark's own file has none"),
        (("idx", "question", "A", "B", "answer", "prediction"), "no column 'index'; did you mean 'idx'"),
    ],
)
def test_refused_sheets(sheet: Callable[..., Path], header: Sequence[str], complaint: str) -> None:
    with pytest.raises(DataError) as error:
        load_responses(sheet([["1"] * len(header)], header))
    assert complaint in str(error.value)


def test_a_sheet_without_answers_and_one_without_rows(sheet: Callable[..., Path]) -> None:
    found = load_responses(sheet([["1", "Which?", "red", "blue", "A"]], ("index", "question", "A", "B", "prediction")))
    assert found.answered[0].question.answer == ""
    assert "the sheet has no column 'answer', so right answers are not known" in found.notes
    with pytest.raises(DataError, match="a header and no rows"):
        load_responses(sheet([]))


def test_a_picture_in_a_cell_is_no_obstacle(sheet: Callable[..., Path]) -> None:
    before = csv.field_size_limit()
    row = ["1", "Which?", "red", "blue", "A", "A", "A" * 200_000]
    assert len(load_responses(sheet([row], (*HEADER, "image"))).answered) == 1
    assert csv.field_size_limit() == before
