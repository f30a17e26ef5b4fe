"""A table of figures that any readout can fill, and its forms: Markdown, plain rows for CSV and W&B, and charts.

A cell is a figure, a figure with its interval, a text, or the reason why there is none. Computes nothing and knows no
readout; `readouts.table` is the older, fixed table of conditions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thinkgap.metrics import Estimate
from thinkgap.printable import printable
from thinkgap.readouts.in_short import mass_text
from thinkgap.readouts.table_text import Notes, grid

Format = Literal["text", "percent", "points", "mass", "number", "count", "p"]
"""`percent` shows shares of 0 to 1 as percent, `points` differences of shares as signed percentage points, `mass` mean
probabilities, `number` three decimals, `count` integers, `p` p-values."""


@dataclass(frozen=True)
class Missing:
    """A figure that is not there, with the reason, which is printed below the table; a dash without one."""

    reason: str


Cell = Estimate | float | int | str | Missing


@dataclass(frozen=True)
class Column:
    """One column: its name in CSV and W&B, its heading in Markdown, and how its figures are printed."""

    name: str
    heading: str
    format: Format = "number"


@dataclass(frozen=True)
class Sheet:
    """A named table."""

    name: str
    """Of its file and W&B table: `permutation`, `vocabulary`, ..."""
    title: str
    columns: tuple[Column, ...]
    """The leading `text` columns identify a row."""
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Lines below the table: what the columns mean, what is left out."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"sheet {self.name}: a row of {len(row)} cells under {len(self.columns)} columns")


@dataclass(frozen=True)
class Chart:
    """What W&B draws from plain rows: lines or bars of `y` over `x`, one for each value of `series`."""

    name: str
    title: str
    kind: Literal["line", "bar"]
    x: str
    y: str
    series: str
    rows: tuple[tuple[float | str, float, str], ...]
    """(x, y, series) of each point."""


def sheet_markdown(sheet: Sheet) -> str:
    """Heading, aligned grid and notes; missing figures are numbered n/a with their reasons below."""
    notes = Notes()
    cells = [
        [_text(cell, column.format, notes) for cell, column in zip(row, sheet.columns, strict=True)]
        for row in sheet.rows
    ]
    left = next((i for i, column in enumerate(sheet.columns) if column.format != "text"), len(sheet.columns))
    blocks = [f"### {sheet.title}", grid([column.heading for column in sheet.columns], cells, left=left)]
    if lines := [*sheet.notes, *notes.lines()]:
        blocks.append("\n".join(f"- {line}" for line in lines))
    return "\n\n".join(blocks) + "\n"


def sheet_dicts(sheet: Sheet) -> list[dict[str, str | int | float | None]]:
    """One dict per row with equal keys; an `Estimate` gives NAME, NAME_low, NAME_high and NAME_n; None is missing."""
    estimated = {
        column.name
        for place, column in enumerate(sheet.columns)
        if any(isinstance(row[place], Estimate) for row in sheet.rows)
    }
    return [
        {
            name: value
            for cell, column in zip(row, sheet.columns, strict=True)
            for name, value in _flat(cell, column.name, column.name in estimated).items()
        }
        for row in sheet.rows
    ]


def _flat(cell: Cell, name: str, estimated: bool) -> dict[str, str | int | float | None]:
    if isinstance(cell, Estimate):
        bounds = ((name, cell.value), (f"{name}_low", cell.low), (f"{name}_high", cell.high))
        return {**{key: None if math.isnan(value) else value for key, value in bounds}, f"{name}_n": cell.n}
    plain = None if isinstance(cell, Missing) or (isinstance(cell, float) and math.isnan(cell)) else cell
    return {name: plain} | ({f"{name}_low": None, f"{name}_high": None, f"{name}_n": None} if estimated else {})


def _text(cell: Cell, form: Format, notes: Notes) -> str:
    if isinstance(cell, Missing):
        return notes.missing(cell.reason) if cell.reason else "–"
    if isinstance(cell, str):
        # Tokens, and names that files of responses give, may hold anything; a line break would end the row.
        return printable(cell)
    if isinstance(cell, Estimate):
        if not cell.n:
            return notes.missing("no rows")
        if math.isnan(cell.value):
            return notes.missing("the rows do not determine it")
        value = _number(cell.value, form)
        if math.isnan(cell.low):
            return value
        return f"{value} [{_number(cell.low, form)}, {_number(cell.high, form)}]"
    return notes.missing("the rows do not determine it") if math.isnan(cell) else _number(cell, form)


def _number(value: float, form: Format) -> str:
    match form:
        case "percent":
            return f"{100 * value:.1f}"
        case "points":
            text = f"{100 * value:+.1f}"
            return "0.0" if text in ("+0.0", "-0.0") else text
        case "mass":
            return mass_text(value)
        case "count":
            return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case _:
            # A rounded zero has no sign.
            return f"{value:z.3f}"


def slot_name(slot: int) -> str:
    """How tables call a slot: 1 for the first."""
    return f"slot {slot + 1}"


def by_condition(names: Sequence[str], present: Sequence[str]) -> list[str]:
    """`present` in the run's order of conditions, others after them as they come."""
    return [name for name in names if name in present] + [name for name in present if name not in names]
