"""Responses by fields of the items: `by_area`, `by_level_type`, ... with all three levels, by data set and mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgap.errors import ConfigError, nearest
from thinkgap.nothinking.figures import FIGURES, Rows
from thinkgap.nothinking.variants import Variants, figure_notes
from thinkgap.readouts.sheet import Cell, Column, Sheet
from thinkgap.store.item_fields import NONE, Key, natural, sheet_name

if TYPE_CHECKING:
    import pandas as pd

_STORED = ("subject", "area", "split", "space")
"""Fields that responses have themselves, for runs without `items.parquet`."""


def values_of_responses(frame: pd.DataFrame, by: Sequence[str]) -> dict[Key, tuple[str, ...]]:
    """Per item its values of fields that `responses.parquet` has.

    Raises:
        ConfigError: a field that it has not.
    """
    for name in by:
        if name not in _STORED:
            raise ConfigError(
                f"evaluation.by: the responses of this run came without their items and have no field {name!r}"
                f"{nearest(name, _STORED)}"
            )
    rows = frame[["dataset", "item_id", *by]].astype(str).itertuples(index=False)
    return {(row[0], row[1]): tuple(value or NONE for value in row[2:]) for row in rows}


def by_fields_sheet(variants: Variants, values: Mapping[Key, tuple[str, ...]], by: Sequence[str]) -> Sheet:
    """A row for each model, data set, combination of values that occurs, and mode.

    Args:
        variants: responses to items as their sources give them, with their figures.
        values: per item its values of the fields.
        by: names of the fields.
    """
    frame = variants.rows.frame
    figures = (*variants.figures, next(one for one in FIGURES if one.column.name == "visible_words"))
    rows = Rows.of(frame, figures)
    order = {mode: place for place, mode in enumerate(variants.modes)}
    cells: dict[Any, list[int]] = {}
    for place, row in enumerate(frame[["model", "dataset", "item_id", "mode"]].itertuples(index=False)):
        model, dataset, item, mode = map(str, row)
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
