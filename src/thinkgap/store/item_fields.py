"""Fields of a run's items to group figures by: subject, number of options, level, area, whatever a data set gives.

Knows items and `items.parquet`, and nothing of what is grouped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from thinkgap.errors import ConfigError, nearest
from thinkgap.types import Item

COMMON = ("subject", "split", "k", "space", "group")
"""Fields of items themselves, which come before a key of `meta` of the same name; the others are keys of `meta`."""
NONE = "(none)"
"""The value of an item that lacks a field which others have."""
Key = tuple[str, str]
"""Data set and item id."""
Fields = Mapping[str, str]
"""Field -> value of one item; empty, or not there, where the item has none."""


def check_fields(by: Sequence[str], items: Iterable[Item]) -> None:
    """Refuse fields that no item has.

    Raises:
        ConfigError: with the nearest names and all that there are.
    """
    if by:
        rows = ((("", item.id), fields_of(item.meta, _common(item))) for item in items)
        group_values(rows, by)


def field_values(table: pa.Table, by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Per item its values of some fields, as text.

    Args:
        table: rows of `items.parquet`.
        by: names of fields.

    Raises:
        ConfigError: a field that no item has.
    """
    columns = ["dataset", "item_id", "group_id", "split", "subject", "space", "k", "meta"]
    rows: list[dict[str, Any]] = table.select(columns).to_pylist()
    return group_values(
        (
            (
                (row["dataset"], row["item_id"]),
                fields_of(dict(row["meta"]), (row["subject"], row["split"], row["k"], row["space"], row["group_id"])),
            )
            for row in rows
        ),
        by,
    )


def fields_of(meta: Fields, common: Sequence[object]) -> dict[str, str]:
    """The fields of one item.

    Args:
        meta: its further fields.
        common: its values of `COMMON`, in that order.
    """
    return {**meta, **dict(zip(COMMON, map(str, common), strict=True))}


def group_values(rows: Iterable[tuple[Key, Fields]], by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Per item its values of the fields `by`, `NONE` where it has none and others have one.

    Args:
        rows: items with all their fields.
        by: names of fields.

    Raises:
        ConfigError: a field that no item has, or that is named twice.
    """
    known: set[str] = set()
    found: dict[Key, tuple[str, ...]] = {}
    for key, fields in rows:
        known.update(name for name, value in fields.items() if value)
        found[key] = tuple(fields.get(name, "") or NONE for name in by)
    _require(by, known)
    return found


def natural(values: Sequence[str]) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """A key that sorts `Level 2` before `Level 10`, and items without a field last."""
    return tuple(
        ((1, 0, ""),)
        if value == NONE
        # Texts and numbers take turns, beginning with a text, so that like stands against like.
        else tuple((0, int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d+)", value))
        for value in values
    )


def sheet_name(by: Sequence[str]) -> str:
    """Of the table by those fields; it names a file, and fields of one's own items may be called anything."""
    return re.sub(r"[^\w.-]+", "-", "by_" + "_".join(by))


def _common(item: Item) -> tuple[object, ...]:
    return (item.subject, item.split, len(item.choices), item.answer_space, item.group_id)


def _require(by: Sequence[str], known: Collection[str]) -> None:
    """Whoever asks may have written `evaluation.by` or `--by`."""
    for name in by:
        if name not in known:
            near = nearest(name, known)
            listed = "" if near.startswith("; known") else f" Fields: {', '.join(sorted(known))}"
            raise ConfigError(f"by={','.join(by)}: no item has a field {name!r}{near}{listed}")
    if len(set(by)) < len(by):
        raise ConfigError(f"by={','.join(by)}: name each field once")
