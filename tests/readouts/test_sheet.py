"""Sheets: their text, their plain rows, and what stands where a figure is missing."""

from __future__ import annotations

import math

import pytest

from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Column, Missing, Sheet, sheet_dicts, sheet_markdown

COLUMNS = (
    Column("condition", "condition", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("change", "change", "points"),
    Column("mass", "mass", "mass"),
    Column("p", "p", "p"),
    Column("kappa", "kappa"),
)
ROWS = (
    ("direct", 1200, Estimate(0.5, 0.25, 0.75, 4), Missing("nothing to compare"), 0.5, 0.0004, 0.25),
    ("a|b\nc", 3.5, Estimate(1.0, math.nan, math.nan, 1), -0.031, 2e-8, 0.5, math.nan),
    ("none", 0, Estimate(math.nan, math.nan, math.nan, 0), Missing("nothing to compare"), 0.0, 1.0, -0.5),
)
SHEET = Sheet("toy", "Toy", COLUMNS, ROWS, ("A note.",))


def test_text() -> None:
    lines = sheet_markdown(SHEET).splitlines()
    assert lines[0] == "### Toy"
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[4:7]]
    assert cells[0] == ["direct", "1,200", "50.0 [25.0, 75.0]", "n/a (1)", "0.500", "<0.001", "0.250"]
    # A bar or a line break in a text must not end a cell or a row.
    assert cells[1] == ["a\\|b\\nc", "3.5", "100.0", "-3.1", "2.0e-08", "0.500", "n/a (2)"]
    assert cells[2] == ["none", "0", "n/a (3)", "n/a (1)", "0.000", "1.000", "-0.500"]
    assert lines[8:] == [
        "- A note.",
        "- (1) nothing to compare",
        "- (2) the rows do not determine it",
        "- (3) no rows",
    ]


def test_texts_keep_to_their_cell_and_command_no_terminal() -> None:
    rows = tuple(
        (text,) for text in ("\x1b[31mred\x1b[0m", "a\r\nb\u2028c", "\u202eright", "\x9b1m", "é ½", r"a\|b\\|c")
    )
    lines = sheet_markdown(Sheet("toy", "Toy", (Column("name", "name", "text"),), rows)).splitlines()
    cells = [line[2:-2].rstrip() for line in lines[4:]]
    # A backslash before a bar is doubled, as it would escape the backslash that escapes the bar.
    assert cells == [r"\x1b[31mred\x1b[0m", r"a\r\nb\u2028c", r"\u202eright", r"\x9b1m", "é ½", r"a\\\|b\\\\\|c"]


def test_plain_rows_have_the_same_keys_and_full_precision() -> None:
    rows = sheet_dicts(SHEET)
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0]["accuracy"] == 0.5
    assert (rows[0]["accuracy_low"], rows[0]["accuracy_high"], rows[0]["accuracy_n"]) == (0.25, 0.75, 4)
    assert rows[1]["accuracy_low"] is None
    assert rows[2]["accuracy"] is None
    assert (rows[0]["change"], rows[1]["change"]) == (None, -0.031)
    assert rows[1]["kappa"] is None


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="toy: a row of 1 cells under 7 columns"):
        Sheet("toy", "Toy", COLUMNS, (("direct",),))


def test_a_rounded_zero_has_no_sign() -> None:
    sheet = Sheet("toy", "Toy", (Column("kl", "KL"), Column("change", "change", "points")), ((-1e-9, -1e-9),))
    assert "| 0.000 |    0.0 |" in sheet_markdown(sheet)
