"""What the sheets of agreement share: labels as integers, outputs with and without the empty ones, cells of rows.

Knows labels of traces and the columns of long frames, neither judges, encoders nor people.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap import metrics
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.metrics.intervals import MISSING, t_quantile
from thinkgap.metrics.raters import cohens_kappa, raw_agreement
from thinkgap.nothinking.levels import EMPTY, EXPLICIT, TRACE_LABELS
from thinkgap.readouts.sheet import Cell, Column, Missing, by_condition

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
LABELS: tuple[str, ...] = (EMPTY, *TRACE_LABELS)
"""Labels in the order of their integers."""
SHEET_DRAWS = 2_000
"""Draws of the intervals in sheets of many rows."""
SPACES = ("bool", "mcq", "open")
ALL, NON_EMPTY = "all", "non-empty"
POOLED, EQUAL = "pooled", "cells equally"

AGREEMENT = (
    Column("n", "n", "count"),
    Column("five_way", "five-way %", "percent"),
    Column("five_way_kappa", "five-way kappa"),
    Column("binary", "explicit or not %", "percent"),
    Column("binary_kappa", "explicit or not, kappa"),
)
AGREEMENT_NOTE = (
    "Five-way: both give one label; explicit or not: both or neither say explicit reasoning. An empty trace is "
    "labelled empty by definition, so over all outputs it is agreement that nobody had to reach: read the non-empty "
    "rows. Kappa (Cohen): agreement beyond what each one's shares of labels alone would give."
)
_ONE_LABEL = "only one label occurs, so that there is nothing to agree on beyond chance"


def label_codes(frame: pd.DataFrame, what: str) -> Codes:
    """Places in `LABELS` of a frame's column `label`, -1 for a label that is missing.

    Raises:
        DataError: a label that does not exist; `what` says where.
    """
    place = {label: number for number, label in enumerate(LABELS)}
    there = frame["label"].notna().to_numpy(dtype=bool)
    codes = np.full(len(frame), -1, dtype=np.int64)
    codes[there] = [place.get(str(label), len(LABELS)) for label in frame["label"].to_numpy()[there]]
    if (codes == len(LABELS)).any():
        unknown = sorted(set(map(str, frame["label"].to_numpy()[codes == len(LABELS)])))
        raise DataError(f"{what}: unknown labels {', '.join(unknown)}; known: {', '.join(LABELS)}")
    return codes


def explicit(codes: Codes) -> Codes:
    """1 for explicit reasoning, 0 for any other label, -1 for none; of the shape of `codes`."""
    return np.where(codes < 0, -1, codes == LABELS.index(EXPLICIT)).astype(np.int64)


def check_columns(frame: pd.DataFrame, needed: Sequence[str], key: Sequence[str], what: str) -> None:
    """Nothing, if `frame` has the columns and no two rows of one key.

    Raises:
        DataError: it has not; `what` says which frame.
    """
    if absent := [name for name in needed if name not in frame.columns]:
        raise DataError(f"{what} lack the columns {', '.join(absent)}; needed: {', '.join(needed)}")
    repeated = frame.duplicated(list(key)) if key else None
    if repeated is not None and repeated.any():
        first = tuple(frame.loc[repeated, list(key)].iloc[0])
        raise DataError(f"{what} have two rows of ({', '.join(key)}) = {first}: keep one")


def group_codes(frame: pd.DataFrame) -> Codes:
    """Group of each row within its data set, as integers."""
    return frame.groupby(["dataset", "group_id"], sort=False).ngroup().to_numpy(dtype=np.int64)


def outputs(empty: Mask) -> Iterator[tuple[str, Mask]]:
    """All rows, then those that are not empty, each with its name."""
    yield ALL, np.ones_like(empty)
    yield NON_EMPTY, ~empty


def values_of(frame: pd.DataFrame, column: str, modes: Sequence[str] = ()) -> list[str]:
    """Values of a column in the order of tables: spaces from closed to open, modes as given, others by name."""
    present = sorted(map(str, frame[column].unique()))
    return by_condition({"space": SPACES, "mode": modes}.get(column, ()), present)


def places_in(names: Sequence[str], frame: pd.DataFrame, column: str) -> NDArray[np.intp]:
    """Place in `names`, which are sorted and complete, of each row's value, shape [n]."""
    return np.searchsorted(names, frame[column].astype(str).to_numpy(dtype=str))


def dimensions(
    frame: pd.DataFrame, names: Sequence[tuple[str, str]], modes: Sequence[str] = ()
) -> Iterator[tuple[str, str, Mask]]:
    """Dimension, group and rows: first all of them, then by each of the columns (column, its name in tables)."""
    yield "overall", ALL, np.ones(len(frame), dtype=bool)
    for column, name in names:
        for value in values_of(frame, column, modes):
            yield name, value, (frame[column] == value).to_numpy(dtype=bool)


def cells_of(
    frame: pd.DataFrame, columns: Sequence[str], modes: Sequence[str] = ()
) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Key and places of the rows of each cell of these columns, in the order of `values_of`."""
    rank = {column: {value: at for at, value in enumerate(values_of(frame, column, modes))} for column in columns}
    groups: dict[Any, Any] = frame.groupby(list(columns), sort=False).indices
    # pandas gives the value itself as the key of a single column.
    keys = ((key if isinstance(key, tuple) else (key,), places) for key, places in groups.items())
    found = [(tuple(map(str, key)), np.asarray(places)) for key, places in keys]
    return sorted(found, key=lambda cell: [rank[column][value] for column, value in zip(columns, cell[0], strict=True)])


def agreement_cells(first: Codes, second: Codes, groups: ArrayLike | None, draws: int) -> tuple[Cell, ...]:
    """The cells of `AGREEMENT` of two raters' labels, rows without both left out."""
    binary = (explicit(first), explicit(second))
    raw = raw_agreement(first, second, groups)
    return (
        raw.n,
        raw,
        figure(cohens_kappa(first, second, groups, draws), _ONE_LABEL),
        raw_agreement(*binary, groups),
        figure(cohens_kappa(*binary, groups, draws), _ONE_LABEL),
    )


def figure(estimate: Estimate, reason: str) -> Cell:
    """An estimate, or why rows that are there do not determine it."""
    return Missing(reason) if estimate.n and math.isnan(estimate.value) else estimate


def space_cells(
    values: ArrayLike, frame: pd.DataFrame, spaces: Sequence[str], average: str, *, is_rate: bool
) -> list[Cell]:
    """The mean of `values` in each answer space, over rows (`POOLED`) or over models and data sets (`EQUAL`).

    Args:
        values: Shape [n]; NaN leaves a row out.
        frame: n rows with space, model, dataset and group_id.
        spaces: The answer spaces.
        average: One of the two.
        is_rate: Whether values are 0 or 1.
    """
    array, groups = np.asarray(values, dtype=np.float64), group_codes(frame)
    cells = frame.groupby(["model", "dataset"], sort=False).ngroup().to_numpy()
    found: list[Cell] = []
    for space in spaces:
        rows = np.asarray(frame["space"] == space) & ~np.isnan(array)
        if average == EQUAL:
            found.append(mean_of_cells(array[rows], cells[rows], groups[rows], is_rate=is_rate))
        else:
            found.append((metrics.rate if is_rate else metrics.mean)(array[rows], groups[rows]))
    return found


def mean_of_cells(values: ArrayLike, cells: ArrayLike, groups: ArrayLike, *, is_rate: bool) -> Estimate:
    """The mean of the cells' means, each counting once, with its 95% interval.

    With n rows in C cells, a row of a cell of n_c rows weighs n / (C n_c); the standard error is that of the mean of
    the weighted deviations from the cells' means, clustered by group, so that cells which share items are not taken as
    independent. There is no interval where the error is unknown or 0.

    Args:
        values: Shape [n].
        cells: Cell of each row, shape [n].
        groups: Group of each row, shape [n].
        is_rate: Whether the interval ends at 0 and 1.
    """
    array = np.asarray(values, dtype=np.float64)
    n = len(array)
    if not n:
        return MISSING
    _, place, counts = np.unique(np.asarray(cells), return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=array) / counts
    value = float(means.mean())
    error = metrics.standard_error((array - means[place]) * n / (len(counts) * counts[place]), groups)
    if not error > 0:
        return Estimate(value, math.nan, math.nan, n)
    half = t_quantile(len(np.unique(np.asarray(groups))) - 1) * error
    low, high = value - half, value + half
    return Estimate(value, max(low, 0.0), min(high, 1.0), n) if is_rate else Estimate(value, low, high, n)
