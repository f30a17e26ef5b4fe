"""What a run is to the page: plain data, whatever kind of run it came from.

Knows no file and no HTML.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Cell, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["ok", "warn", "bad", "unknown", "info"]
"""Of a verdict: the readout holds; holds with a caveat, or nothing speaks against it; is broken; was not measured; and
`info` where there is nothing to decide."""
Plain = dict[str, Any]
LONGEST_TEXT = 20_000
"""Characters of one text that the page holds."""
ROW_FIELDS = ("dataset", "item", "presentation", "condition", "readout")
"""What identifies a row of a run on the page."""


@dataclass(frozen=True)
class Verdict:
    """One condition in plain words."""

    condition: str
    level: Level
    word: str
    """The verdict in a few words."""
    text: str
    """Why, as one sentence or a few."""
    figures: tuple[tuple[str, Any], ...] = ()
    """(name, cell) of the figures that carry it."""


@dataclass
class RunData:
    """All that the page shows of one run."""

    folder: str
    kind: Literal["native", "responses", "probes"]
    model: str
    revision: str
    datasets: tuple[str, ...]
    title: str
    conditions: tuple[str, ...]
    n_items: int
    facts: tuple[tuple[str, str], ...]
    said: str
    """One sentence on the whole run; may be empty."""
    verdicts: tuple[Verdict, ...]
    sheets: tuple[Plain, ...]
    charts: tuple[Plain, ...]
    rows: pd.DataFrame
    """One row per record, named as in `ROW_FIELDS` and `encode.FIELDS`."""
    items: Mapping[tuple[str, str], Plain]
    """(data set, item) -> what was asked."""
    notes: tuple[str, ...] = ()
    name: str = ""
    """How the page calls the run; `collect` sets it so that no two runs share one."""
    n_rows: int = 0
    """Rows of the run, of which `rows` may hold a part."""
    images: Mapping[str, Any] = field(default_factory=dict)
    """SHA-256 -> `images.Picture`."""


def number(value: float) -> float | None:
    """A figure as JSON can hold it: six significant digits, None for NaN and infinities."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def cell(value: Cell) -> Any:
    """A cell of a sheet: `[value, low, high, n]`, `{"missing": reason}`, a number, a text, or None."""
    if isinstance(value, Estimate):
        return [number(value.value), number(value.low), number(value.high), int(value.n)]
    if isinstance(value, Missing):
        return {"missing": value.reason}
    if isinstance(value, str):
        return value
    return number(float(value))


def sheet(one: Sheet) -> Plain:
    """A sheet as JSON data."""
    return {
        "name": one.name,
        "title": one.title,
        "columns": [[column.heading, column.format] for column in one.columns],
        "rows": [[cell(value) for value in row] for row in one.rows],
        "notes": list(one.notes),
    }


def cut(text: str) -> str:
    """`text`, or its beginning and how much is left out."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n[{len(text) - LONGEST_TEXT:,} more characters are in the run's file]"


def dicts(one: Sheet) -> list[dict[str, Cell]]:
    """The rows of a sheet by name of column."""
    return [{column.name: value for column, value in zip(one.columns, row, strict=True)} for row in one.rows]


def named(sheets: Sequence[Sheet], name: str) -> list[dict[str, Cell]]:
    """The rows of the sheet of that name; none if there is no such sheet."""
    return next((dicts(one) for one in sheets if one.name == name), [])
