"""Texts of others in CSV files, so that no spreadsheet computes them (`=HYPERLINK(...)`, `@SUM`, `-1+cmd|...`).

CSV has no escape for this, so an apostrophe is put in front, which spreadsheets show as text. It knows no table.
"""

from __future__ import annotations

import re

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet compute a cell."""
_FIGURE = re.compile(r"[-+]?[\d.,\s%\[\]()+-]*(?:e[-+]?\d+)?")
"""Signed figures and their intervals, and the dash of an empty cell: nothing in them can be called."""


def guarded(text: str) -> str:
    """`text` with an apostrophe before it, where a spreadsheet would take it for a formula."""
    return "'" + text if text.startswith(FORMULA) else text


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def cell(value: object) -> object:
    """A cell of a table: a text is guarded unless it is a figure; all else is as it is."""
    return guarded(value) if isinstance(value, str) and _FIGURE.fullmatch(value) is None else value
