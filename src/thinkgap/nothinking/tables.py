"""Sheets of level 1 by data set, answer space, model, subject and area, from the rows of `responses.parquet`.

Rates are shares of all outputs unless a note says of what; intervals allow for items that share a group. Which rows
count for a figure, and why there may be none, is `nothinking.figures`'s; the audits' sheets are `audit_tables`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinkgap.nothinking.audit_tables import audit_sheets
from thinkgap.nothinking.averages import mean_of_datasets
from thinkgap.nothinking.figures import FIGURES, OUTCOMES, Figure, Rows
from thinkgap.readouts.sheet import Cell, Column, Sheet, by_condition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["audit_sheets", "response_sheets"]

POOLED, EQUAL = "pooled", "data sets equally"
_SHORT = ("accuracy", "etr_strict", "etr_prefix", "visible_words")
"""Figures of the sheets with many rows."""


def response_sheets(frame: pd.DataFrame, modes: Sequence[str] = ()) -> list[Sheet]:
    """Level 1 of all responses; sheets without rows are left out.

    Args:
        frame: rows of `responses.parquet`, of one model or several.
        modes: order of the modes; others follow as they come.

    Returns:
        `nothinking` and `nothinking_outcomes` by model, data set and mode; `nothinking_spaces` and `nothinking_models`
        by answer space and over all, where data sets count equally and, in a second row, pooled;
        `nothinking_subjects` and `nothinking_areas`.
    """
    if not len(frame):
        return []
    rows = Rows.of(frame)
    order = by_condition(modes, list(dict.fromkeys(frame["mode"])))
    short = tuple(figure for figure in FIGURES if figure.column.name in _SHORT)
    sheets = [
        sheet_by("nothinking", "No-thinking by data set", rows, ("dataset",), order, FIGURES),
        sheet_by("nothinking_outcomes", "How responses came out", rows, ("dataset",), order, OUTCOMES),
        averaged("nothinking_spaces", "No-thinking by answer space", rows, ("space",), order, FIGURES),
        averaged("nothinking_models", "No-thinking by model", rows, (), order, FIGURES),
        sheet_by("nothinking_subjects", "No-thinking by subject", rows, ("dataset", "subject"), order, short),
        sheet_by("nothinking_areas", "No-thinking by area", rows, ("dataset", "area"), order, FIGURES),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def sheet_by(
    name: str, title: str, rows: Rows, by: tuple[str, ...], modes: Sequence[str], figures: Sequence[Figure]
) -> Sheet:
    """A sheet with a row for each model, value of `by` and mode; rows without such a value are left out.

    Args:
        name: of the sheet.
        title: of the sheet.
        rows: the responses, with the values of `figures`.
        by: columns of `responses.parquet`.
        modes: all modes, in their order.
        figures: the columns.
    """
    keys = ("model", *by, "mode")
    return Sheet(
        name,
        title,
        (*_key_columns(keys), Column("n", "n", "count"), *(figure.column for figure in figures)),
        tuple(
            (*key, len(places), *(figure.cell(rows, places) for figure in figures))
            for key, places in _cells(rows, keys, modes)
            if all(key[1:-1])
        ),
        _notes(figures),
    )


def averaged(
    name: str, title: str, rows: Rows, by: tuple[str, ...], modes: Sequence[str], figures: Sequence[Figure]
) -> Sheet:
    """As `sheet_by`, over data sets: each counting once, and all rows pooled."""
    keys = ("model", *by, "mode")
    found: list[tuple[Cell, ...]] = []
    for key, places in _cells(rows, keys, modes):
        n_datasets = len(np.unique(rows.dataset[places]))
        head = (*key, n_datasets, len(places))
        if n_datasets > 1:
            equally = (mean_of_datasets(figure, rows, places) for figure in figures)
            found.append((*head[:-2], EQUAL, *head[-2:], *equally))
        pooled = (figure.cell(rows, places) for figure in figures)
        found.append((*head[:-2], POOLED, *head[-2:], *pooled))
    return Sheet(
        name,
        title,
        (
            *_key_columns(keys),
            Column("average", "average", "text"),
            Column("datasets", "data sets", "count"),
            Column("n", "n", "count"),
            *(figure.column for figure in figures),
        ),
        tuple(found),
        (
            *_notes(figures),
            f"{EQUAL}: the mean of the data sets' figures, each counting once, with the interval of independent data "
            f"sets; {POOLED}: over all rows, so that large data sets decide",
        ),
    )


def _key_columns(keys: Sequence[str]) -> tuple[Column, ...]:
    headings = {"dataset": "data set", "space": "answer space"}
    return tuple(Column(key, headings.get(key, key), "text") for key in keys)


def _notes(figures: Sequence[Figure]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(figure.note for figure in figures if figure.note))


def _cells(rows: Rows, keys: Sequence[str], modes: Sequence[str]) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Key and places of the rows of each cell, sorted by key, modes in their order."""
    place = {mode: number for number, mode in enumerate(modes)}
    groups: dict[Any, Any] = rows.frame.groupby(list(keys), sort=False).indices
    cells = [(tuple(map(str, key)), np.asarray(places)) for key, places in groups.items()]
    return sorted(cells, key=lambda cell: (*cell[0][:-1], place[cell[0][-1]]))
