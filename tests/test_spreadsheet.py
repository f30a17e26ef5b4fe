"""Cells of CSV files that a spreadsheet would compute."""

from __future__ import annotations

import csv
import io

import pytest

from thinkgap.readouts.table_text import to_csv
from thinkgap.spreadsheet import cell, guarded, unguarded


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-1+cmd|x", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")']
)
def test_formulas_are_texts(text: str) -> None:
    assert cell(text) == guarded(text) == "'" + text
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize(
    "value", ["-", "-5", "+1.0", "-43.2 [-49.3, -37.2]", "-1e-05", -5, -0.25, None, "", "direct", "a=b", "'quoted"]
)
def test_figures_and_names_stay(value: object) -> None:
    assert cell(value) == value


def test_a_table_of_foreign_names() -> None:
    text = to_csv([{"subject": "=cmd|x", "difference": -0.5, "@n": 3}, {"subject": "biology", "@n": None}])
    rows = list(csv.reader(io.StringIO(text)))
    assert rows == [["subject", "difference", "'@n"], ["'=cmd|x", "-0.5", "3"], ["biology", "", ""]]
