"""Annotators' files: from the page, from spreadsheets, damaged, doubled, partial; good rows are never lost."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from analysis.annotation.read import Annotations, read_files
from analysis.annotation.sample import Key

DIGEST = "s0123456789abcdef"
KEY = Key(pd.DataFrame({"id": ["t001", "t002", "t003", "t004"], "empty": [False, False, True, False]}), DIGEST)
HEAD = "id,annotator,label,relevance,note,seconds,sample\r\n"


def line(item: str, label: str = "unclear", relevance: object = 3, annotator: str = "Ann", **more: str) -> str:
    return f"{item},{annotator},{label},{relevance},{more.get('note', '')},{more.get('seconds', '')},{DIGEST}\r\n"


def found(tmp_path: Path, *texts: str | bytes) -> Annotations:
    """What `read_files` makes of files a.csv, b.csv, ... with these contents."""
    paths = []
    for name, text in zip("abc", texts, strict=False):
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    return read_files(paths, KEY)


def said(annotations: Annotations) -> dict[tuple[str, str], tuple[str | None, int | None]]:
    rows = annotations.rows.astype({"relevance": object})
    rows = rows.where(rows.notna(), None)
    return {(one.annotator, one.item): (one.label, one.relevance) for one in rows.itertuples()}  # pyright: ignore


def problems(annotations: Annotations, tmp_path: Path) -> list[str]:
    return [str(problem).removeprefix(f"{tmp_path}/") for problem in annotations.problems]


EMPTY = {("Ann", "t003"): ("empty", 1)}


def test_a_file_of_the_page(tmp_path: Path) -> None:
    text = "\ufeff" + HEAD + line("t001", "explicit_reasoning", 5, note='"a, ""b"";\nc"', seconds="12")
    read = found(tmp_path, text + line("t002", "generic_or_off_topic", 1) + line("t003", "empty", 1))
    assert said(read) == {
        ("Ann", "t001"): ("explicit_reasoning", 5),
        ("Ann", "t002"): ("generic_or_off_topic", 1),
        **EMPTY,
    }
    assert read.problems == read.unread == ()
    first = read.rows.iloc[0]
    assert (first["note"], first["seconds"]) == ('a, "b";\nc', 12.0)


def test_empty_texts_are_labelled_for_everybody_and_in_the_order_of_the_sample(tmp_path: Path) -> None:
    read = found(tmp_path, HEAD + line("t004") + line("t001"), HEAD + line("t002", annotator="Bob"))
    assert list(said(read)) == [
        ("Ann", "t001"),
        ("Ann", "t003"),
        ("Ann", "t004"),
        ("Bob", "t002"),
        ("Bob", "t003"),
    ]


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_spreadsheets_make_of_it(tmp_path: Path, mark: str, encoding: str, end: str) -> None:
    rows = ["ID, Annotator ,Label,Relevance,Note,Seconds,Sample", f"t001,Änn,Explicit reasoning,4.0,ß,3,{DIGEST}"]
    text = end.join(["sep=,", *rows, f" t002 ,Änn,UNCLEAR,2,,,{DIGEST},,", ",,,,,,", ""]).replace(",", mark)
    read = found(tmp_path, text.encode(encoding))
    assert said(read) == {
        ("Änn", "t001"): ("explicit_reasoning", 4),
        ("Änn", "t002"): ("unclear", 2),
        ("Änn", "t003"): ("empty", 1),
    }
    assert read.problems == ()


def test_comma_for_the_decimal_point(tmp_path: Path) -> None:
    read = found(tmp_path, (HEAD + line("t001", relevance="4")).replace(",", ";").replace(";4;", ";4,0;"))
    assert said(read)["Ann", "t001"] == ("unclear", 4)


def test_an_older_encoding_is_read_and_named(tmp_path: Path) -> None:
    read = found(tmp_path, (HEAD + line("t001", annotator="Änn")).encode("cp1252"))
    assert said(read)["Änn", "t001"] == ("unclear", 3)
    assert problems(read, tmp_path) == [
        "a.csv: is not UTF-8; it was read as Windows-1252, so that letters of notes and names may be wrong"
    ]


def test_bad_rows_are_named_and_cost_no_good_one(tmp_path: Path) -> None:
    text = (
        HEAD
        + line("t001", "explicit_reasoning", 5, note='"two\nlines"')
        + line("t009")
        + line("t002", "reasoning", 4)
        + line("t004", "unclear", "04. Jan")
        + line("t003", "unclear", 2)
        + line("t001", "nonsense", 6)
        + f"t001,Ann,unclear,2,,,{'s' + 16 * 'f'}\r\n"
        + "t001,Ann,unclear,2,,,\r\n"
        + "t001\r\n"
    )
    read = found(tmp_path, text)
    # Half a row counts for that half.
    assert said(read) == {
        ("Ann", "t001"): ("explicit_reasoning", 5),
        ("Ann", "t002"): (None, 4),
        ("Ann", "t004"): ("unclear", None),
        **EMPTY,
    }
    labels = "explicit_reasoning, paraphrase_only, relevant_non_inferential, generic_or_off_topic, unclear"
    assert problems(read, tmp_path) == [
        "a.csv, line 4: the sample has no text 't009': the row is left out",
        f"a.csv, line 5: t002 cannot have the label 'reasoning'; labels: {labels}",
        "a.csv, line 6: t004 cannot have the relevance '04. Jan': it goes from 1 to 5",
        "a.csv, line 7: t003 is empty, which is its label by definition: 'unclear' is not taken",
        f"a.csv, line 8: t001 cannot have the label 'nonsense'; labels: {labels}",
        "a.csv, line 8: t001 cannot have the relevance '6': it goes from 1 to 5",
        f"a.csv, line 9: belongs to the sample {'s' + 16 * 'f'}, not to {DIGEST}: the row is left out",
        f"a.csv, line 10: belongs to the sample (none named), not to {DIGEST}: the row is left out",
    ]


@pytest.mark.parametrize("relevance", ["0", "6", "3.5", "-1", "٣", "three", "33", "NaN"])
def test_relevance_out_of_range(tmp_path: Path, relevance: str) -> None:
    read = found(tmp_path, HEAD + line("t001", relevance=relevance))
    assert said(read)["Ann", "t001"] == ("unclear", None)
    assert len(read.problems) == 1


def test_empty_is_no_label_of_a_text_that_is_not(tmp_path: Path) -> None:
    read = found(tmp_path, HEAD + line("t001", "empty", 1))
    assert said(read)["Ann", "t001"] == (None, 1)
    assert "t001 cannot have the label 'empty'" in problems(read, tmp_path)[0]


def test_a_quote_that_never_closes_costs_its_own_row_only(tmp_path: Path) -> None:
    text = HEAD + line("t001") + line("t002", note='"open') + line("t004", note='"a ""fine"" note"')
    read = found(tmp_path, text)
    assert set(said(read)) == {("Ann", "t001"), ("Ann", "t003"), ("Ann", "t004")}
    (problem,) = problems(read, tmp_path)
    assert problem.startswith("a.csv, line 3: cannot be taken apart")


def test_a_text_that_is_there_twice(tmp_path: Path) -> None:
    read = found(tmp_path, HEAD + line("t001", relevance=1) + line("t001", relevance=2) + line("t001", relevance=2))
    assert said(read)["Ann", "t001"] == ("unclear", 2)
    assert problems(read, tmp_path) == [
        "a.csv, line 3: t001 is there twice: line 2 says something else; this row counts",
        "a.csv, line 4: t001 is there twice: line 3 says the same",
    ]


def test_two_files_of_one_annotator(tmp_path: Path) -> None:
    first = HEAD + line("t001", relevance=1) + line("t002", relevance=1)
    read = found(tmp_path, first, HEAD + line("t002", relevance=5, annotator=" ann ") + line("t004", annotator="ANN"))
    assert {item: relevance for (_, item), (_, relevance) in said(read).items()} == {
        "t001": 1,
        "t002": 5,
        "t003": 1,
        "t004": 3,
    }
    assert {annotator for annotator, _ in said(read)} == {"Ann"}
    assert problems(read, tmp_path) == [
        f"b.csv: Ann has another file, {tmp_path}/a.csv: they are taken together",
        f"b.csv, line 2: t002 is there twice: {tmp_path}/a.csv, line 3 says something else; this row counts",
    ]


def test_annotators_in_one_file_and_one_without_a_name(tmp_path: Path) -> None:
    read = found(tmp_path, HEAD + line("t001") + line("t001", annotator="Bob") + line("t002", annotator=""))
    assert {annotator for annotator, _ in said(read)} == {"Ann", "Bob", "a"}
    assert problems(read, tmp_path) == ["a.csv, line 4: names no annotator: the file's name, a, is taken"]


def test_a_sheet_that_is_filled_in_by_half(tmp_path: Path) -> None:
    head = HEAD.replace("\r\n", ",problem,trace\r\n")
    rows = [line("t001", "", ""), line("t002", "unclear", 2), line("t003", "empty", 1), line("t004", "", "")]
    long = "x" * 200_000
    read = found(tmp_path, head + "".join(row.replace("\r\n", f",p,{long}\r\n") for row in rows))
    assert said(read) == {("Ann", "t002"): ("unclear", 2), **EMPTY}
    assert read.problems == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no column id, label, relevance, sample"),
        ("id,label\r\nt001,unclear\r\n", "has no column relevance, sample"),
        (HEAD, "holds no label of this sample"),
        (HEAD + line("t003", "empty", 1), "holds no label of this sample"),
        (b"\x00\x01\xff\xfe", "has no column"),
        (b"PK\x03\x04 a workbook", "has no column"),
    ],
)
def test_files_that_give_nothing(tmp_path: Path, text: str | bytes, problem: str) -> None:
    read = found(tmp_path, text, HEAD + line("t001"))
    assert read.unread == (f"{tmp_path}/a.csv",)
    assert problem in problems(read, tmp_path)[-1]
    assert ("Ann", "t001") in said(read)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    read = read_files([tmp_path / "gone.csv"], KEY)
    assert problems(read, tmp_path) == ["gone.csv: cannot be read: No such file or directory"]
    assert read.rows.empty


def test_notes_come_back_without_what_guards_them(tmp_path: Path) -> None:
    read = found(tmp_path, HEAD + line("t001", note="'=1+1") + line("t002", note="'tis fine"))
    assert list(read.rows["note"]) == ["=1+1", "'tis fine", ""]
