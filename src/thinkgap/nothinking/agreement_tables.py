"""Sheets of how far judges agree over the same outputs, and whether another judge finds the same (tables D.3 to D.5).

Made from judgements in long form; knows no judge. Published tables are those of arXiv 2610.11765.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.nothinking.judged import NOT_ASKED, Judged
from thinkgap.nothinking.rated import (
    AGREEMENT,
    AGREEMENT_NOTE,
    EQUAL,
    LABELS,
    POOLED,
    SHEET_DRAWS,
    agreement_cells,
    cells_of,
    dimensions,
    explicit,
    outputs,
    space_cells,
    values_of,
)
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_DIMENSIONS = (("model", "model"), ("mode", "mode"), ("space", "answer space"))


def judge_agreement_sheets(judged: pd.DataFrame, modes: Sequence[str] = (), draws: int = SHEET_DRAWS) -> list[Sheet]:
    """How far judges agree; no sheets without rows, and those of pairs only with two judges.

    Args:
        judged: a row for each output and judge, with dataset, item_id, mode, model, space, group_id, judge, label and
            status. The label of an empty trace is `empty`; there is none where the status is not `ok`. A column `kind`
            may say which judges are of rules: they are marked.
        modes: order of the modes; others follow.
        draws: of the intervals of kappa.

    Returns:
        `judge_labels`, `judge_replication`, `judge_agreement` and `judge_confusion`.

    Raises:
        DataError: see `Judged.of`.
    """
    if not len(judged):
        return []
    found = Judged.of(judged)
    if len(found.labels) < 2:
        return [_labels(found, modes)]
    return [
        _labels(found, modes),
        _replication(found, modes),
        _agreement(found, modes, draws),
        _confusion(found, modes),
    ]


def _labels(judged: Judged, modes: Sequence[str]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    everything = (("all", "all"), np.arange(len(judged.frame)))
    cells = [everything, *cells_of(judged.frame, ("mode", "space"), modes)]
    for judge, codes in judged.labels.items():
        for key, places in cells:
            asked = places[codes[places] != NOT_ASKED]
            known = asked[codes[asked] >= 0]
            shares: list[Cell] = [
                metrics.rate(codes[known] == label, judged.groups[known])
                if len(known)
                else Missing("no output has a label")
                for label in range(len(LABELS))
            ]
            if len(asked):
                rows.append((judge, *key, len(asked), len(asked) - len(known), *shares))
    return Sheet(
        "judge_labels",
        "Labels by judge",
        (
            Column("judge", "judge", "text"),
            Column("mode", "mode", "text"),
            Column("space", "answer space", "text"),
            Column("n", "n", "count"),
            Column("unlabelled", "without a label", "count"),
            *(Column(label, f"{label.replace('_', ' ')} %", "percent") for label in LABELS),
        ),
        tuple(rows),
        ("Shares of the outputs with a label, all models pooled; their sum is 100 % (arXiv 2610.11765, table D.4).",),
    )


def _replication(judged: Judged, modes: Sequence[str]) -> Sheet:
    spaces = values_of(judged.frame, "space")
    by_all = np.all([codes >= 0 for codes in judged.labels.values()], axis=0)
    frame = judged.frame.loc[by_all]
    rows: list[tuple[Cell, ...]] = []
    for mode in values_of(frame, "mode", modes):
        at = (frame["mode"] == mode).to_numpy()
        for average in (EQUAL, POOLED):
            for judge, codes in judged.labels.items():
                values = explicit(codes[by_all])[at]
                cells = space_cells(values, frame.loc[at], spaces, average, is_rate=True)
                rows.append((mode, average, judge, *cells))
    return Sheet(
        "judge_replication",
        "Explicit inference by judge",
        (
            Column("mode", "mode", "text"),
            Column("average", "average", "text"),
            Column("judge", "judge", "text"),
            *(Column(space, f"{space} %", "percent") for space in spaces),
        ),
        tuple(rows),
        (
            f"Explicit reasoning, empty traces being none, as share of the {len(frame):,} of {len(judged.frame):,} "
            "outputs that every judge labelled (arXiv 2610.11765, table D.3).",
            f"{EQUAL}: the mean over models and data sets, each pair counting once; {POOLED}: over all rows, so that "
            "large data sets decide.",
        ),
    )


def _agreement(judged: Judged, modes: Sequence[str], draws: int) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    one_asked = 0
    for first, second in combinations(judged.labels, 2):
        one, other = judged.labels[first], judged.labels[second]
        asked = (one != NOT_ASKED) & (other != NOT_ASKED)
        one_asked += int(((one != NOT_ASKED) != (other != NOT_ASKED)).sum())
        for dimension, group, at in dimensions(judged.frame, _DIMENSIONS, modes):
            for name, kept in outputs(judged.empty):
                places = np.flatnonzero(at & kept & asked)
                excluded = int(((one[places] < 0) | (other[places] < 0)).sum())
                cells = agreement_cells(one[places], other[places], judged.groups[places], draws)
                rows.append((first, second, dimension, group, name, *cells, excluded))
    return Sheet(
        "judge_agreement",
        "Agreement of judges",
        (
            Column("first", "judge", "text"),
            Column("second", "and judge", "text"),
            Column("dimension", "dimension", "text"),
            Column("group", "group", "text"),
            Column("outputs", "outputs", "text"),
            *AGREEMENT,
            Column("excluded", "excluded", "count"),
        ),
        tuple(rows),
        (
            f"{AGREEMENT_NOTE} Form of arXiv 2610.11765, table D.5, which has no kappa.",
            "n: outputs that both labelled; excluded: those to which one of them gave no label."
            + (f" {one_asked:,} outputs that only one judge of a pair was given are in no row." if one_asked else ""),
        ),
    )


def _confusion(judged: Judged, modes: Sequence[str]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    everything = (("all", "all", "all"), np.arange(len(judged.frame)))
    cells = [everything, *cells_of(judged.frame, ("model", "mode", "space"), modes)]
    for first, second in combinations(judged.labels, 2):
        for key, places in cells:
            one, other = judged.labels[first][places], judged.labels[second][places]
            asked = (one != NOT_ASKED) & (other != NOT_ASKED)
            # Without a label is the last row and column, which -1 is the place of.
            table = np.zeros((len(LABELS) + 1, len(LABELS) + 1), dtype=np.int64)
            np.add.at(table, (one[asked], other[asked]), 1)
            for label, counts in zip((*LABELS, "without a label"), table.tolist(), strict=True):
                if any(counts):
                    rows.append((first, second, *key, label.replace("_", " "), *counts))
    return Sheet(
        "judge_confusion",
        "Labels of one judge against another's",
        (
            Column("first", "judge", "text"),
            Column("second", "against", "text"),
            Column("model", "model", "text"),
            Column("mode", "mode", "text"),
            Column("space", "answer space", "text"),
            Column("label", "label of the first", "text"),
            *(Column(label, label.replace("_", " "), "count") for label in LABELS),
            Column("unlabelled", "without a label", "count"),
        ),
        tuple(rows),
        ("Counts of outputs; columns are the labels of the second judge, rows that would be all 0 are left out.",),
    )
