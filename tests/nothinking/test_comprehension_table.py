"""The comprehension check on file and as a sheet: exchanges whole, replies read strictly, the mode's own ETR beside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.nothinking.examples import answered
from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed, analyse
from thinkgap.nothinking.comprehension import Exchange, read_exchanges, write_exchanges
from thinkgap.nothinking.comprehension_table import comprehension_sheet
from thinkgap.nothinking.store import to_table
from thinkgap.prompts.wordings import WORDINGS, ComprehensionQuestion
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.store.atomic import write_parquet
from thinkgap.types import AnswerSpace, Response, Thinking


def exchange(
    reply: str, wording: str = "allowed", mode: str = "strict", space: AnswerSpace = "mcq", **response: Any
) -> Exchange:
    closed = bool(WORDINGS[wording].answer)
    expected = WORDINGS[wording].answer if (mode, space) != ("think_off", "open") else ""
    question = ComprehensionQuestion(mode, space, wording, "What?", closed, expected, Thinking.disabled)
    return Exchange("m", question, Response(reply, **{"finish_reason": "stop", **response}))


def row(content: str, item: str, mode: str = "strict", space: AnswerSpace = "mcq") -> Analysed:
    return analyse(answered(content, space, item=item, mode=mode), model="m")


ROWS = [row("\\boxed{B}", "1"), row("It is \\boxed{B}", "2"), row("\\boxed{yes}", "3", space="bool")]


def sheet(*exchanges: Exchange, modes: tuple[str, ...] = ()) -> Sheet:
    return comprehension_sheet(exchanges, to_table(ROWS).to_pandas(), modes)


def cells(found: Sheet) -> list[dict[str, Any]]:
    return [dict(zip([column.name for column in found.columns], one, strict=True)) for one in found.rows]


@pytest.mark.parametrize(
    ("reply", "wording", "says", "reading"),
    [
        ("No.", "allowed", "no", "expected"),
        ("**yes**", "allowed", "yes", "unexpected"),
        ("Yes", "ruled_out", "yes", "expected"),
        ("The answer is no.", "ruled_out", "no", "unexpected"),
        ("\\boxed{no}", "allowed", "no", "expected"),
        # Nothing is guessed from a word inside a sentence.
        ("No, it may only hold the label.", "allowed", None, "unparsed"),
        ("none", "allowed", None, "unparsed"),
        ("no} as asked", "allowed", None, "unparsed"),
        ("", "allowed", None, "empty"),
    ],
)
def test_closed_questions_are_read_strictly(reply: str, wording: str, says: str | None, reading: str) -> None:
    (found,) = cells(sheet(exchange(reply, wording)))
    assert found["says"] == (says or Missing("no yes or no could be read"))
    assert found["reading"] == reading


def test_a_reply_that_was_cut_or_refused_says_so() -> None:
    cut, refused = cells(
        sheet(
            exchange("I think that", "allowed", finish_reason="length"),
            exchange("", "ruled_out", refusal="I cannot do that."),
        )
    )
    assert (cut["reading"], refused["reading"]) == ("truncated", "refused")


def test_open_questions_are_not_graded_and_what_is_not_said_is_not_expected() -> None:
    allowed, permits = cells(
        sheet(exchange("Yes", space="open", mode="think_off"), exchange("Only the label.", "permits"))
    )
    assert permits["mode"] == "strict"
    assert isinstance(permits["reading"], Missing)
    assert isinstance(permits["says"], Missing)
    assert permits["reply"] == "Only the label."
    assert allowed["says"] == "yes"
    assert isinstance(allowed["reading"], Missing)
    assert "do not say it" in allowed["reading"].reason


def test_beside_a_reply_stands_the_rate_of_its_mode_and_answer_space() -> None:
    """Of two mcq responses under strict one is the box alone: 1/2; of one yes/no response 1; of open ones none came."""
    found = cells(sheet(exchange("no"), exchange("no", space="bool"), exchange("no", space="open")))
    assert [one["space"] for one in found] == ["bool", "mcq", "open"]
    assert [(one["etr_strict"].value, one["etr_strict"].n) for one in found[:2]] == [(1.0, 1), (0.5, 2)]
    assert found[2]["etr_strict"] == Missing("no rows")


def test_modes_stand_in_the_runs_order_and_wordings_in_ours() -> None:
    given = [exchange("no", wording, mode) for mode in ("a", "b") for wording in ("ruled_out", "permits", "allowed")]
    found = cells(sheet(*given, modes=("b", "a")))
    assert [(one["mode"], one["wording"]) for one in found] == [
        (mode, wording) for mode in ("b", "a") for wording in ("permits", "allowed", "ruled_out")
    ]


def test_a_wording_of_another_version_is_shown_last() -> None:
    old = exchange("x", "permits")
    old = replace(old, question=replace(old.question, wording="earlier", version=0))
    assert [one["wording"] for one in cells(sheet(old, exchange("no")))] == ["allowed", "earlier"]


def test_a_reply_cannot_break_the_table() -> None:
    evil = "a|b \x1b[31m\u202e\n| x | y |\n" + "long " * 100
    found = sheet(exchange(evil, "permits"), exchange("", "examples", reasoning="hm", channels={"reasoning": "hm"}))
    text = sheet_markdown(found)
    assert all(line.isprintable() for line in text.splitlines())
    lines = [line for line in text.splitlines() if line.startswith("| m ")]
    assert len(lines) == 2
    assert "a\\|b \\x1b[31m\\u202e \\| x" in lines[0]
    (shown, hidden) = cells(found)
    assert len(shown["reply"]) <= 124
    assert shown["reply"].endswith(" ...")
    assert "no visible text came" in hidden["reply"].reason
    assert sheet_dicts(found)[1]["reply"] is None


def test_exchanges_come_back_as_they_were_and_order_does_not_matter(tmp_path: Path) -> None:
    given = [
        exchange("no", "allowed", "soft"),
        exchange(
            "", "permits", reasoning="a", channels={"reasoning": "a", "other": "b"}, reasoning_tokens=3, model="id"
        ),
    ]
    for name, order in (("one", given), ("two", given[::-1])):
        write_exchanges(tmp_path / name, order)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert read_exchanges(tmp_path / "one") == given
    write_exchanges(tmp_path / "none", [])
    assert read_exchanges(tmp_path / "none") == []


def test_what_is_no_file_of_exchanges_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="comprehension.enabled=true"):
        read_exchanges(tmp_path / "nowhere")
    (tmp_path / "text").write_text("text", encoding="utf-8")
    with pytest.raises(StoreError, match="damaged"):
        read_exchanges(tmp_path / "text")
    write_parquet(tmp_path / "other", pa.table({"model": ["m"]}))
    with pytest.raises(StoreError, match="other columns"):
        read_exchanges(tmp_path / "other")
    with pytest.raises(StoreError, match="cannot be stored"):
        write_exchanges(tmp_path / "bad", [exchange("\ud800")])
