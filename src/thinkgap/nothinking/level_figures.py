"""Figures of levels 2 and 3: relevance by encoder and labels by judge, as columns beside those of level 1.

Joins the three files of a run by key; which rows share a cell is the tables' business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from thinkgap.errors import StoreError
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.figures import Figure, Values, numbers
from thinkgap.nothinking.levels import EXPLICIT
from thinkgap.readouts.sheet import Column

if TYPE_CHECKING:
    import pandas as pd

QREL_NOTE = (
    "QRel: mean cosine of problem and whole trace, unclipped; an empty trace counts as 0. Non-empty: over the "
    "responses that have a trace. Cosines of different encoders are on different scales."
)
EIR_NOTE = (
    "Explicit inference: share of the responses whose trace the judge calls explicit reasoning; an empty trace is "
    "none. Responses without a label are left out, empty traces never, so then trust low and high, which count those "
    "responses as none and as explicit."
)
RULES_NOTE = (
    "Rules: a transparent judge of rules, without any model; it is not the study's EIR. docs/rules_judge.md has its "
    "measured errors."
)

_RELEVANCE = ("empty", "cosine", "truncated", "chunk_mean", "chunk_max")
_JUDGED = ("kind", "label", "verbatim", "shortened")


def with_levels(
    frame: pd.DataFrame, relevance: pd.DataFrame, judgements: pd.DataFrame
) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Responses with the columns of all encoders and judges; the encoders, and each judge's kind.

    Raises:
        StoreError: responses that an encoder or a judge has not read.
    """
    encoders, judges = sorted(set(relevance["encoder"])), sorted(set(judgements["judge"]))
    joined = frame
    for encoder in encoders:
        joined = joined_with(joined, relevance.loc[relevance["encoder"] == encoder, [*KEY, *_RELEVANCE]], encoder)
    for judge in judges:
        joined = joined_with(joined, judgements.loc[judgements["judge"] == judge, [*KEY, *_JUDGED]], judge)
    return joined, encoders, {judge: str(joined[column_of("kind", judge)].iloc[0]) for judge in judges}


def joined_with(frame: pd.DataFrame, own: pd.DataFrame, source: str) -> pd.DataFrame:
    """`frame` with the columns that one encoder or judge brings to each of its rows."""
    named = own.rename(columns={name: column_of(name, source) for name in own.columns})
    found = frame.merge(named, on=list(KEY), validate="1:1")
    if len(found) < len(frame):
        raise StoreError(
            f"{source} has read {len(found)} of {len(frame)} responses: the files of this run do not belong together; "
            "make them again"
        )
    return found


def column_of(name: str, source: str) -> str:
    """Column of the joined table: keys keep their name."""
    return name if name in KEY else f"{name} of {source}"


def called(judge: str, kind: str) -> str:
    """How titles call a judge."""
    return f"the rules judge {judge}" if kind == "rules" else f"the judge {judge}"


def relevance_figures(encoder: str) -> list[Figure]:
    """QRel of one encoder over all responses and those with a trace, its sensitivity columns, and what it cut."""

    def values(name: str, nonempty: bool) -> Callable[[pd.DataFrame], Values]:
        def of(frame: pd.DataFrame) -> Values:
            found = numbers(frame, column_of(name, encoder))
            return (
                np.where(frame[column_of("empty", encoder)].to_numpy(dtype=bool), np.nan, found) if nonempty else found
            )

        return of

    none = "no response has a trace"
    chunks = (
        "Chunks: of traces longer than the encoder reads, the mean of the chunks' vectors (weighted by tokens) or "
        "the chunk that is closest, instead of the beginning; over all responses. Truncated: of the responses with a "
        "trace, those of which the encoder read only the beginning of the problem or the trace."
    )
    return [
        Figure(Column(f"qrel_{encoder}", f"QRel {encoder}"), values("cosine", False), note=QREL_NOTE, kind="mean"),
        Figure(
            Column(f"nonempty_qrel_{encoder}", f"non-empty QRel {encoder}"),
            values("cosine", True),
            none,
            QREL_NOTE,
            kind="mean",
        ),
        Figure(Column(f"chunk_mean_{encoder}", "chunks, mean"), values("chunk_mean", False), note=chunks, kind="mean"),
        Figure(Column(f"chunk_max_{encoder}", "chunks, closest"), values("chunk_max", False), note=chunks, kind="mean"),
        Figure(Column(f"truncated_{encoder}", "truncated %", "percent"), values("truncated", True), none, chunks),
    ]


def explicit_figure(judge: str, kind: str) -> Figure:
    """The share of responses that a judge calls explicit reasoning; a judge of rules is named as one."""
    rules = kind == "rules"
    return Figure(
        Column(f"explicit_{judge}", f"rules judge ({judge}) %" if rules else f"EIR {judge} %", "percent"),
        label_shares(judge, EXPLICIT),
        "no response has a label",
        f"{EIR_NOTE} {RULES_NOTE}" if rules else EIR_NOTE,
    )


def bound_figures(judge: str, kind: str, suffix: str = "") -> list[Figure]:
    """What the rate would be if all responses without a label were no inference, and if all were."""
    note = explicit_figure(judge, kind).note
    return [
        Figure(Column(f"{name}{suffix}", f"{name} %", "percent"), label_shares(judge, EXPLICIT, end), note=note)
        for name, end in (("low", 0.0), ("high", 1.0))
    ]


def label_shares(judge: str, label: str, unlabelled: float = np.nan) -> Callable[[pd.DataFrame], Values]:
    """Whether each response has that label of a judge; `unlabelled` where it has none."""

    def of(frame: pd.DataFrame) -> Values:
        found = frame[column_of("label", judge)]
        return np.where(found.isna(), unlabelled, (found == label).astype(float))

    return of
