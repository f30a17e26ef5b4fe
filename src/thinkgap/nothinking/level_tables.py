"""Sheets of levels 2 and 3 beside level 1: relevance by encoder and labels by judge, over the same responses.

Made from `responses.parquet`, `relevance.parquet` and `judgements.parquet`. A judge of rules is named as one in every
heading; its rate is no EIR. How far judges, encoders and people agree is `agreement_tables`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.errors import StoreError
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.figures import FIGURES, Figure, Rows, Values, numbers
from thinkgap.nothinking.levels import EMPTY, EXPLICIT, TRACE_LABELS
from thinkgap.nothinking.tables import averaged, sheet_by
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, by_condition

if TYPE_CHECKING:
    import pandas as pd

LENGTHS = 10
"""Groups of equal size into which traces are divided by length."""
_QREL = (
    "QRel: mean cosine of problem and whole trace, unclipped; an empty trace counts as 0. Non-empty: over the "
    "responses that have a trace. Cosines of different encoders are on different scales."
)
_EIR = (
    "Explicit inference: share of the responses whose trace the judge calls explicit reasoning; an empty trace is "
    "none. Responses without a label are left out, empty traces never, so then trust low and high, which count those "
    "responses as none and as explicit."
)
_RULES = (
    "Rules: a transparent judge of rules, without any model; it is not the study's EIR. docs/rules_judge.md has its "
    "measured errors."
)
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
    encoders, judges = sorted(set(relevance["encoder"])), sorted(set(judgements["judge"]))
    joined = frame
    for encoder in encoders:
        joined = _joined(joined, relevance.loc[relevance["encoder"] == encoder, [*KEY, *_RELEVANCE]], encoder)
    for judge in judges:
        joined = _joined(joined, judgements.loc[judgements["judge"] == judge, [*KEY, *_JUDGED]], judge)
    kinds = {judge: str(joined[_of("kind", judge)].iloc[0]) for judge in judges}
    side = [*(figure for figure in FIGURES if figure.column.name in ("accuracy", "etr_strict", "etr_prefix"))]
    relevances = [figure for encoder in encoders for figure in _relevance(encoder)]
    side += [figure for figure in relevances if figure.column.name.startswith(("qrel_", "nonempty_qrel_"))]
    for judge in judges:
        side.append(_explicit(judge, kinds[judge]))
        if joined[_of("label", judge)].isna().to_numpy().any():
            side += _bounds(judge, kinds[judge], f"_{judge}")
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
        title = f"Labels of {_called(judge, kinds[judge])}"
        found.append(sheet_by(f"nothinking_judged_{judge}", title, rows, ("space",), order, labels))
        found.append(_lengths(joined, judge, kinds[judge]))
    return [sheet for sheet in found if sheet.rows]


_RELEVANCE = ("empty", "cosine", "truncated", "chunk_mean", "chunk_max")
_JUDGED = ("kind", "label", "verbatim", "shortened")


def _joined(frame: pd.DataFrame, own: pd.DataFrame, source: str) -> pd.DataFrame:
    """`frame` with the columns that one encoder or judge brings to each of its rows."""
    named = own.rename(columns={name: _of(name, source) for name in own.columns})
    found = frame.merge(named, on=list(KEY), validate="1:1")
    if len(found) < len(frame):
        raise StoreError(
            f"{source} has read {len(found)} of {len(frame)} responses: the files of this run do not belong together; "
            "make them again"
        )
    return found


def _of(name: str, source: str) -> str:
    """Column of the joined table: keys keep their name."""
    return name if name in KEY else f"{name} of {source}"


def _called(judge: str, kind: str) -> str:
    return f"the rules judge {judge}" if kind == "rules" else f"the judge {judge}"


def _relevance(encoder: str) -> list[Figure]:
    def values(name: str, nonempty: bool) -> Callable[[pd.DataFrame], Values]:
        def of(frame: pd.DataFrame) -> Values:
            found = numbers(frame, _of(name, encoder))
            return np.where(frame[_of("empty", encoder)].to_numpy(dtype=bool), np.nan, found) if nonempty else found

        return of

    none = "no response has a trace"
    chunks = (
        "Chunks: of traces longer than the encoder reads, the mean of the chunks' vectors (weighted by tokens) or "
        "the chunk that is closest, instead of the beginning; over all responses. Truncated: of the responses with a "
        "trace, those of which the encoder read only the beginning of the problem or the trace."
    )
    return [
        Figure(Column(f"qrel_{encoder}", f"QRel {encoder}"), values("cosine", False), note=_QREL, kind="mean"),
        Figure(
            Column(f"nonempty_qrel_{encoder}", f"non-empty QRel {encoder}"),
            values("cosine", True),
            none,
            _QREL,
            kind="mean",
        ),
        Figure(Column(f"chunk_mean_{encoder}", "chunks, mean"), values("chunk_mean", False), note=chunks, kind="mean"),
        Figure(Column(f"chunk_max_{encoder}", "chunks, closest"), values("chunk_max", False), note=chunks, kind="mean"),
        Figure(Column(f"truncated_{encoder}", "truncated %", "percent"), values("truncated", True), none, chunks),
    ]


def _explicit(judge: str, kind: str) -> Figure:
    rules = kind == "rules"
    return Figure(
        Column(f"explicit_{judge}", f"rules judge ({judge}) %" if rules else f"EIR {judge} %", "percent"),
        _shares(judge, EXPLICIT),
        "no response has a label",
        f"{_EIR} {_RULES}" if rules else _EIR,
    )


def _bounds(judge: str, kind: str, suffix: str = "") -> list[Figure]:
    """What the rate would be if all responses without a label were no inference, and if all were."""
    note = _explicit(judge, kind).note
    return [
        Figure(Column(f"{name}{suffix}", f"{name} %", "percent"), _shares(judge, EXPLICIT, end), note=note)
        for name, end in (("low", 0.0), ("high", 1.0))
    ]


def _shares(judge: str, label: str, unlabelled: float = np.nan) -> Callable[[pd.DataFrame], Values]:
    def of(frame: pd.DataFrame) -> Values:
        found = frame[_of("label", judge)]
        return np.where(found.isna(), unlabelled, (found == label).astype(float))

    return of


def _labels(judge: str, kind: str) -> list[Figure]:
    def sent(name: str, wanted: bool) -> Callable[[pd.DataFrame], Values]:
        """Of the traces that were sent and have a label."""

        def of(frame: pd.DataFrame) -> Values:
            label = frame[_of("label", judge)]
            counted = (label.notna() & (label != EMPTY)).to_numpy(dtype=bool)
            return np.where(counted, numbers(frame, _of(name, judge)) == wanted, np.nan)

        return of

    none = "no response has a label"
    head = _explicit(judge, kind)
    notes = (
        f"{_LABELS} Without a label: of all n, those that the judge gave none. Not verbatim, shortened: of the "
        "traces with a label, those whose evidence does not stand in the trace, and those of which the judge saw head "
        "and tail."
    )
    return [
        Figure(Column("explicit", "explicit %", "percent"), head.values, none, head.note),
        *_bounds(judge, kind),
        *(
            Figure(Column(label, f"{label.replace('_', ' ')} %", "percent"), _shares(judge, label), none, notes)
            for label in (EMPTY, *(one for one in TRACE_LABELS if one != EXPLICIT))
        ),
        Figure(
            Column("unlabelled", "without a label %", "percent"),
            lambda frame: frame[_of("label", judge)].isna().to_numpy(dtype=float),
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
        there = np.flatnonzero((part[_of("label", judge)] != EMPTY).to_numpy(dtype=bool))
        groups = Rows.of(part, [_explicit(judge, kind)])
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
        f"Labels of {_called(judge, kind)} by length of the trace",
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
            *([_RULES] if kind == "rules" else []),
        ),
    )
