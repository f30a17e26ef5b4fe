"""Sheets of how far relevance depends on the encoder: means by mode and answer space, and rank correlations.

Made from relevance in long form, on all outputs or on a balanced sample of them; knows no encoder. Published tables are
D.1 and D.2 of arXiv 2610.11765.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.errors import ConfigError, DataError
from thinkgap.metrics.ranks import spearman
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.rated import (
    EQUAL,
    POOLED,
    SHEET_DRAWS,
    Codes,
    Mask,
    cells_of,
    check_columns,
    dimensions,
    figure,
    group_codes,
    outputs,
    space_cells,
    values_of,
)
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

BALANCED = 100
"""Outputs of each cell in the study's balanced sample (table D.2)."""
NEEDED = (*KEY, "space", "group_id", "encoder", "cosine", "empty")
NO_TRACE = "no response has a trace"
_SCALES = "Cosines of different encoders are on different scales: compare directions within one encoder, not values."
_MEANS = "Mean raw cosine of problem and trace. All outputs: an empty trace counts as 0; non-empty: those with a trace."


def balanced_sample(frame: pd.DataFrame, by: Sequence[str], n: int, seed: int) -> pd.DataFrame:
    """All rows of `n` outputs from each cell (the study: 36 cells of 100).

    Which outputs are taken depends on their keys and the seed only, neither on other cells nor on the order of rows;
    samples of one seed are nested.

    Args:
        frame: rows with the key of `responses.parquet`, perhaps several of an output (encoders, judges).
        by: columns whose values make a cell, such as model and mode.
        n: outputs of each cell.
        seed: of the sample.

    Raises:
        ConfigError: a cell with fewer outputs.
    """
    unique = frame.drop_duplicates(list(KEY))
    names = list(map("\x1f".join, unique[list(KEY)].astype(str).itertuples(index=False)))
    rank = [hashlib.sha256(f"{seed}\x1f{name}".encode()).hexdigest() for name in names]
    chosen: set[str] = set()
    for key, places in cells_of(unique, by):
        if len(places) < n:
            raise ConfigError(
                f"the cell {', '.join(key)} has {len(places)} outputs, not {n}: sample fewer of each cell"
            )
        chosen |= {names[place] for place in sorted(places, key=lambda place: rank[place])[:n]}
    kept = [name in chosen for name in map("\x1f".join, frame[list(KEY)].astype(str).itertuples(index=False))]
    return frame.loc[kept].reset_index(drop=True)


@dataclass(frozen=True)
class _Encoded:
    """Relevance with one row per output."""

    frame: pd.DataFrame
    groups: Codes
    empty: Mask
    cosines: Mapping[str, NDArray[np.float64]]
    """Encoder -> cosine of each output, 0 for an empty one."""

    @classmethod
    def of(cls, relevance: pd.DataFrame) -> _Encoded:
        check_columns(relevance, NEEDED, (*KEY, "encoder"), "relevances")
        output = relevance.groupby(list(KEY), sort=True).ngroup().to_numpy()
        first = np.unique(output, return_index=True)[1]
        frame = relevance[[*KEY, "space", "group_id", "empty"]].iloc[first].reset_index(drop=True)
        empty = frame["empty"].to_numpy(dtype=bool)
        cosines: dict[str, NDArray[np.float64]] = {}
        for encoder in values_of(relevance, "encoder"):
            rows = (relevance["encoder"] == encoder).to_numpy()
            if int(rows.sum()) != len(frame):
                raise DataError(
                    f"the encoder {encoder} has {int(rows.sum()):,} of {len(frame):,} outputs: encoders are compared "
                    "on the same outputs, so let it encode the rest, or keep those that all have"
                )
            cosines[encoder] = np.zeros(len(frame))
            cosines[encoder][output[rows]] = relevance["cosine"].to_numpy(dtype=np.float64)[rows]
            if (cosines[encoder][empty] != 0).any() or (relevance["empty"].to_numpy(dtype=bool) != empty[output]).any():
                raise DataError(f"relevances of {encoder}: an empty trace has a cosine, or is not empty to all")
        return cls(frame, group_codes(frame), empty, cosines)


def encoder_sensitivity_sheets(
    relevance: pd.DataFrame, modes: Sequence[str] = (), draws: int = SHEET_DRAWS
) -> list[Sheet]:
    """How far relevance depends on the encoder; no sheets without rows.

    Args:
        relevance: a row for each output and encoder, with dataset, item_id, mode, model, space, group_id, encoder,
            cosine (0 for an empty trace) and empty; the same outputs for each encoder.
        modes: order of the modes; others follow.
        draws: of the intervals of rank correlations.

    Returns:
        `encoder_sensitivity` and `encoder_models`, and with two encoders or more `encoder_correlation`.

    Raises:
        DataError: columns that are not there, a row that occurs twice, encoders of different outputs, or an empty trace
            with a cosine.
    """
    if not len(relevance):
        return []
    found = _Encoded.of(relevance)
    sheets = [_sensitivity(found, modes), _models(found, modes)]
    return [*sheets, _correlation(found, modes, draws)] if len(found.cosines) > 1 else sheets


def balanced_sensitivity_sheets(relevance: pd.DataFrame, modes: Sequence[str] = ()) -> list[Sheet]:
    """As `encoder_sensitivity_sheets`, on equally many outputs of each model and mode, 100 or as many as all have.

    The names end in `_balanced`. Which outputs are taken is fixed by their keys.

    Raises:
        DataError: see `encoder_sensitivity_sheets`.
    """
    if not len(relevance):
        return []
    cells = ("model", "mode")
    n = min(BALANCED, *(len(places) for _, places in cells_of(relevance.drop_duplicates(list(KEY)), cells)))
    note = f"A balanced sample: {n} outputs of each model and mode (the study: 36 cells of {BALANCED})."
    return [
        replace(sheet, name=f"{sheet.name}_balanced", title=f"{sheet.title}, balanced", notes=(*sheet.notes, note))
        for sheet in encoder_sensitivity_sheets(balanced_sample(relevance, cells, n, 0), modes)
    ]


def _sensitivity(encoded: _Encoded, modes: Sequence[str]) -> Sheet:
    spaces = values_of(encoded.frame, "space")
    rows: list[tuple[Cell, ...]] = []
    for mode in values_of(encoded.frame, "mode", modes):
        at = (encoded.frame["mode"] == mode).to_numpy(dtype=bool)
        for name, kept in outputs(encoded.empty):
            for average in (EQUAL, POOLED):
                for encoder, cosines in encoded.cosines.items():
                    values = np.where(kept, cosines, np.nan)[at]
                    cells = space_cells(values, encoded.frame.loc[at], spaces, average, is_rate=False)
                    rows.append((mode, name, average, encoder, *cells))
    return Sheet(
        "encoder_sensitivity",
        "Question relevance by encoder",
        (
            Column("mode", "mode", "text"),
            Column("outputs", "outputs", "text"),
            Column("average", "average", "text"),
            Column("encoder", "encoder", "text"),
            *(Column(space, space) for space in spaces),
        ),
        tuple(rows),
        (
            f"{_MEANS} {_SCALES}",
            "Form of arXiv 2610.11765, tables D.1 (all outputs of a run) and D.2 (a balanced sample).",
            f"{EQUAL}: the mean over models and data sets, each pair counting once; {POOLED}: over all rows.",
        ),
    )


def _models(encoded: _Encoded, modes: Sequence[str]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for key, places in cells_of(encoded.frame, ("model", "mode", "space"), modes):
        there = places[~encoded.empty[places]]
        for encoder, cosines in encoded.cosines.items():
            own = metrics.mean(cosines[there], encoded.groups[there]) if len(there) else Missing(NO_TRACE)
            everything = metrics.mean(cosines[places], encoded.groups[places])
            rows.append((*key, encoder, len(places), len(there), everything, own))
    return Sheet(
        "encoder_models",
        "Question relevance by encoder and model",
        (
            Column("model", "model", "text"),
            Column("mode", "mode", "text"),
            Column("space", "answer space", "text"),
            Column("encoder", "encoder", "text"),
            Column("n", "n", "count"),
            Column("non_empty", "non-empty", "count"),
            Column("cosine", "QRel"),
            Column("cosine_non_empty", "non-empty QRel"),
        ),
        tuple(rows),
        (f"{_MEANS} {_SCALES}",),
    )


def _correlation(encoded: _Encoded, modes: Sequence[str], draws: int) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for first, second in combinations(encoded.cosines, 2):
        one, other = encoded.cosines[first], encoded.cosines[second]
        for dimension, group, at in dimensions(encoded.frame, (("mode", "mode"), ("space", "answer space")), modes):
            for name, kept in outputs(encoded.empty):
                places = np.flatnonzero(at & kept)
                found = spearman(one[places], other[places], encoded.groups[places], draws)
                cell = figure(found, "all cosines of an encoder are equal") if found.n else Missing(NO_TRACE)
                rows.append((first, second, dimension, group, name, len(places), cell))
    return Sheet(
        "encoder_correlation",
        "Rank correlation of encoders",
        (
            Column("first", "encoder", "text"),
            Column("second", "and encoder", "text"),
            Column("dimension", "dimension", "text"),
            Column("group", "group", "text"),
            Column("outputs", "outputs", "text"),
            Column("n", "n", "count"),
            Column("spearman", "Spearman"),
        ),
        tuple(rows),
        (
            "Over all outputs the empty ones are tied at 0 for every encoder, which raises the correlation or makes "
            "it: read the non-empty rows.",
        ),
    )
