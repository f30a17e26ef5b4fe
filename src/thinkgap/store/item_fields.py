"""Fields of a run's items to group figures by: subject, number of options, level, area, whatever a data set gives.

Knows `items.parquet` and nothing of what is grouped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from thinkgap.errors import ConfigError
from thinkgap.types import Item

COMMON = ("subject", "split", "k", "space")
"""Fields that every item has; the others are keys of its `meta`."""
NONE = "(none)"
"""The value of an item that lacks a field which others have."""
Key = tuple[str, str]
"""Data set and item id."""


def check_fields(by: Sequence[str], items: Iterable[Item]) -> None:
    """Refuse fields that no item has.

    Raises:
        ConfigError: with all that there are.
    """
    if by:
        _require(by, {*COMMON, *(name for item in items for name in item.meta)})


def field_values(table: pa.Table, by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Per item its values of some fields, as text.

    Args:
        table: rows of `items.parquet`.
        by: names of fields.

    Raises:
        ConfigError: a field that no item has.
    """
    rows: list[dict[str, Any]] = table.select([*COMMON, "dataset", "item_id", "meta"]).to_pylist()
    metas = [dict(row["meta"]) for row in rows]
    _require(by, {*COMMON, *(name for meta in metas for name in meta)})
    return {
        (row["dataset"], row["item_id"]): tuple(
            str(row[name] if name in COMMON else meta.get(name, "")) or NONE for name in by
        )
        for row, meta in zip(rows, metas, strict=True)
    }


def natural(values: Sequence[str]) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """A key that sorts `Level 2` before `Level 10`, and items without a field last."""
    return tuple(
        ((1, 0, ""),)
        if value == NONE
        else tuple((0, int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", value))
        for value in values
    )


def sheet_name(by: Sequence[str]) -> str:
    """Of the table by those fields."""
    return "by_" + "_".join(by)


def _require(by: Sequence[str], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in by:
        if name not in names:
            raise ConfigError(f"evaluation.by: the items have no field {name!r}; there are {', '.join(names)}")
    if len(set(by)) < len(by):
        raise ConfigError(f"evaluation.by={list(by)}: name each field once")
