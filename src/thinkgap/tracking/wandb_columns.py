"""Rows as W&B tables take them: one type to a column. Knows no run."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any


def uniform_columns(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Column names, and rows in which each column holds one type: W&B refuses mixed ones (wandb tables, trap 46).

    A column of numbers, of booleans or of texts stays; any other is turned into text. None stays None.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    as_text = set()
    for column in columns:
        kinds = {_kind(row[column]) for row in rows if row.get(column) is not None}
        if len(kinds) > 1 or "other" in kinds:
            as_text.add(column)
    return columns, [
        [str(v) if c in as_text and v is not None else v for c in columns for v in (row.get(c),)] for row in rows
    ]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, numbers.Real):
        return "number"
    return "text" if isinstance(value, str) else "other"
