"""Responses by fields of the items: `by_area`, `by_level_type`, ... with all three levels, by data set and mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.figures import FIGURES, Rows
from thinkgap.nothinking.variants import Variants, figure_notes
from thinkgap.readouts.sheet import Cell, Column, Sheet
from thinkgap.store.item_fields import Key, field_values, fields_of, group_values, natural, sheet_name
from thinkgap.store.items import ITEMS_FILE

if TYPE_CHECKING:
    import pandas as pd

_STORED = ("dataset", "item_id", "subject", "area", "split", "space", "group_id", "labels")
"""What rows of `responses.parquet` know of their items themselves, for runs without `items.parquet`."""


def check_response_fields(by: Sequence[str], items: pa.Table | None, rows: Iterable[Analysed]) -> None:
    """Refuse fields that the items of responses do not have, before encoders and judges are asked.

    Args:
        by: names of the fields.
        items: rows of `items.parquet`; None for responses that came without.
        rows: the responses.

    Raises:
        ConfigError: with the nearest names and all that there are.
    """
    if by and items is not None:
        field_values(items, by)
    elif by:
        _values((row.answered.question for row in rows), by)


def values_of_responses(frame: pd.DataFrame, by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Per item its values of fields that `responses.parquet` has.

    Raises:
        ConfigError: a field that it has not.
    """
    return _values(frame[list(_STORED)].itertuples(index=False), by)


def _values(rows: Iterable[Any], by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Of rows of `responses.parquet` or of `Question`s, which call these fields alike."""
    return group_values((((str(row.dataset), str(row.item_id)), _fields(row)) for row in rows), by)


def _fields(row: Any) -> dict[str, str]:
    k = 2 if row.space == "bool" else len(row.labels)
    return fields_of({"area": str(row.area)}, (row.subject, row.split, k, row.space, row.group_id))


def by_fields_sheet(variants: Variants, values: Mapping[Key, tuple[str, ...]], by: Sequence[str]) -> Sheet:
    """A row for each model, data set, combination of values that occurs, and mode.

    Args:
        variants: responses to items as their sources give them, with their figures.
        values: per item its values of the fields.
        by: names of the fields.

    Raises:
        StoreError: a response to an item that is not known.
    """
    frame = variants.rows.frame
    figures = (*variants.figures, next(one for one in FIGURES if one.column.name == "visible_words"))
    rows = Rows.of(frame, figures)
    order = {mode: place for place, mode in enumerate(variants.modes)}
    cells: dict[Any, list[int]] = {}
    for place, row in enumerate(frame[["model", "dataset", "item_id", "mode"]].itertuples(index=False)):
        model, dataset, item, mode = map(str, row)
        if (dataset, item) not in values:
            raise StoreError(f"{ITEMS_FILE} lacks item {item} of {dataset}; start the same command again")
        cells.setdefault((model, dataset, values[dataset, item], mode), []).append(place)
    found: list[tuple[Cell, ...]] = []
    for key in sorted(cells, key=lambda key: (key[0], key[1], natural(key[2]), order[key[3]])):
        places = np.array(cells[key], dtype=np.intp)
        model, dataset, value, mode = key
        found.append((model, dataset, *value, mode, len(places), *(figure.cell(rows, places) for figure in figures)))
    columns = (
        Column("model", "model", "text"),
        Column("dataset", "data set", "text"),
        *(Column(name, name, "text") for name in by),
        Column("mode", "mode", "text"),
        Column("n", "n", "count"),
        *(figure.column for figure in figures),
    )
    return Sheet(sheet_name(by), f"No-thinking by {', '.join(by)}", columns, tuple(found), figure_notes(figures))
