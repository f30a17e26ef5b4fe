"""Sheets of levels 2 and 3 beside level 1: relevance by encoder and labels by judge, over the same responses.

Made from `responses.parquet`, `relevance.parquet` and `judgements.parquet`. A judge of rules is named as one in every
heading; its rate is no EIR. How far judges, encoders and people agree is `agreement_tables`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.nothinking.figures import FIGURES, Figure, Rows, Values, numbers
from thinkgap.nothinking.level_figures import (
    RULES_NOTE,
    bound_figures,
    called,
    column_of,
    explicit_figure,
    label_shares,
    relevance_figures,
    with_levels,
)
from thinkgap.nothinking.levels import EMPTY, EXPLICIT, TRACE_LABELS
from thinkgap.nothinking.tables import averaged, sheet_by
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, by_condition

if TYPE_CHECKING:
    import pandas as pd

LENGTHS = 10
"""Groups of equal size into which traces are divided by length."""
_LABELS = "Empty and the five labels are shares of the responses that have a label; their sum is 100 %."


def level_sheets(
    frame: pd.DataFrame, relevance: pd.DataFrame, judgements: pd.DataFrame, modes: Sequence[str] = ()
) -> list[Sheet]:
    """Levels 2 and 3 of all responses; none where neither was measured.

    Args:
        frame: rows of `responses.parquet`.
        relevance: rows of `relevance.parquet`, perhaps none.
        judgements: rows of `judgements.parquet`, perhaps none.
        modes: order of the modes; others follow as they come.

    Raises:
        StoreError: responses that an encoder or a judge has not read.

    Returns:
        `nothinking_levels` (by answer space) and `nothinking_levels_datasets`, with ETR, QRel and judges' rates side by
        side; `nothinking_relevance`; `nothinking_judged` and `nothinking_judged_lengths` for each judge.
    """
    if not len(frame) or not (len(relevance) or len(judgements)):
        return []
    order = by_condition(modes, list(dict.fromkeys(frame["mode"])))
    joined, encoders, kinds = with_levels(frame, relevance, judgements)
    judges = list(kinds)
    side = [*(figure for figure in FIGURES if figure.column.name in ("accuracy", "etr_strict", "etr_prefix"))]
    relevances = [figure for encoder in encoders for figure in relevance_figures(encoder)]
    side += [figure for figure in relevances if figure.column.name.startswith(("qrel_", "nonempty_qrel_"))]
    for judge in judges:
        side.append(explicit_figure(judge, kinds[judge]))
        if joined[column_of("label", judge)].isna().to_numpy().any():
            side += bound_figures(judge, kinds[judge], f"_{judge}")
    rows = Rows.of(joined, side)
    found = [
        averaged("nothinking_levels", "ETR, QRel and judged inference", rows, ("space",), order, side),
        sheet_by(
            "nothinking_levels_datasets", "ETR, QRel and judged inference by data set", rows, ("dataset",), order, side
        ),
    ]
    if encoders:
        rows = Rows.of(joined, relevances)
        found.append(
            sheet_by("nothinking_relevance", "Question relevance of traces", rows, ("space",), order, relevances)
        )
    for judge in judges:
        labels = _labels(judge, kinds[judge])
        rows = Rows.of(joined, labels)
        title = f"Labels of {called(judge, kinds[judge])}"
        found.append(sheet_by(f"nothinking_judged_{judge}", title, rows, ("space",), order, labels))
        found.append(_lengths(joined, judge, kinds[judge]))
    return [sheet for sheet in found if sheet.rows]


def _labels(judge: str, kind: str) -> list[Figure]:
    def sent(name: str, wanted: bool) -> Callable[[pd.DataFrame], Values]:
        """Of the traces that were sent and have a label."""

        def of(frame: pd.DataFrame) -> Values:
            label = frame[column_of("label", judge)]
            counted = (label.notna() & (label != EMPTY)).to_numpy(dtype=bool)
            return np.where(counted, numbers(frame, column_of(name, judge)) == wanted, np.nan)

        return of

    none = "no response has a label"
    head = explicit_figure(judge, kind)
    notes = (
        f"{_LABELS} Without a label: of all n, those that the judge gave none. Not verbatim, shortened: of the "
        "traces with a label, those whose evidence does not stand in the trace, and those of which the judge saw head "
        "and tail."
    )
    return [
        Figure(Column("explicit", "explicit %", "percent"), head.values, none, head.note),
        *bound_figures(judge, kind),
        *(
            Figure(Column(label, f"{label.replace('_', ' ')} %", "percent"), label_shares(judge, label), none, notes)
            for label in (EMPTY, *(one for one in TRACE_LABELS if one != EXPLICIT))
        ),
        Figure(
            Column("unlabelled", "without a label %", "percent"),
            lambda frame: frame[column_of("label", judge)].isna().to_numpy(dtype=float),
            none,
            notes,
        ),
        Figure(Column("not_verbatim", "not verbatim %", "percent"), sent("verbatim", False), none, notes),
        Figure(Column("shortened", "shortened %", "percent"), sent("shortened", True), none, notes),
    ]


def _lengths(frame: pd.DataFrame, judge: str, kind: str) -> Sheet:
    """Judges call long traces explicit more readily, so the rate stands beside the length."""
    found: list[tuple[Cell, ...]] = []
    for model, places in sorted(frame.groupby("model", sort=False).indices.items()):
        part = frame.iloc[np.asarray(places)]
        words = part["trace_words"].to_numpy(dtype=np.int64)
        there = np.flatnonzero((part[column_of("label", judge)] != EMPTY).to_numpy(dtype=bool))
        groups = Rows.of(part, [explicit_figure(judge, kind)])
        # Sizes differ by one at most; equal lengths stay in their order.
        parts = np.array_split(there[np.argsort(words[there], kind="stable")], LENGTHS)
        for number, rows in enumerate((part for part in parts if len(part)), 1):
            values = groups.values[f"explicit_{judge}"][rows]
            known = ~np.isnan(values)
            rate: Cell = Missing("no response has a label")
            if known.any():
                rate = metrics.rate(values[known], groups.group[rows][known])
            found.append((str(model), str(number), int(words[rows].min()), int(words[rows].max()), len(rows), rate))
    return Sheet(
        f"nothinking_judged_lengths_{judge}",
        f"Labels of {called(judge, kind)} by length of the trace",
        (
            Column("model", "model", "text"),
            Column("decile", "tenth of the traces", "text"),
            Column("words_low", "words, least", "count"),
            Column("words_high", "words, most", "count"),
            Column("n", "n", "count"),
            Column("explicit", "explicit %", "percent"),
        ),
        tuple(found),
        (
            "Of the responses with a trace, from the shortest tenth to the longest; explicit: of those with a label.",
            *([RULES_NOTE] if kind == "rules" else []),
        ),
    )
