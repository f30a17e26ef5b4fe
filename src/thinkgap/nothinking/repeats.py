"""Sheet of how often a label changes when the same requests are sent again at temperature 0.

Made from labels in long form; knows neither servers nor judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.metrics.agreement import all_agree, pairwise_agreement
from thinkgap.metrics.bootstrap import bootstrap_means
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.rated import (
    SHEET_DRAWS,
    Codes,
    cells_of,
    check_columns,
    explicit,
    group_codes,
    label_codes,
    places_in,
    values_of,
)
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

NEEDED = (*KEY, "space", "group_id", "repeat", "label")


def repeat_sheet(frame: pd.DataFrame, modes: Sequence[str] = (), draws: int = SHEET_DRAWS) -> Sheet:
    """`repeats`: label flips among repeats of the same requests, by model, data set and mode.

    Args:
        frame: a row for each output and repeat, with dataset, item_id, mode, model, space, group_id, repeat (any name)
            and label: one of the five, `empty`, or missing.
        modes: order of the modes; others follow.
        draws: of the intervals of flips.

    Raises:
        DataError: columns that are not there, a row that occurs twice, or an unknown label.
    """
    check_columns(frame, NEEDED, (*KEY, "repeat"), "repeats")
    rows: list[tuple[Cell, ...]] = []
    for key, places in cells_of(frame, ("model", "dataset", "space", "mode"), modes):
        codes, groups = _by_repeat(frame.iloc[places])
        whole = (codes >= 0).all(axis=1)
        codes, groups = codes[whole], groups[whole]
        counts = (codes.shape[1], len(codes), int((~whole).sum()))
        if codes.shape[1] < 2 or not len(codes):
            reason = "no output has a label in every repeat" if codes.shape[1] > 1 else "there is one repeat only"
            rows.append((*key, *counts, *[Missing(reason)] * 3))
            continue
        flips = np.stack([1 - pairwise_agreement(codes), 1 - pairwise_agreement(explicit(codes))], axis=1)
        by_label, by_explicit = bootstrap_means(flips, groups, draws)
        rows.append((*key, *counts, by_label, metrics.rate(all_agree(codes) == 0, groups), by_explicit))
    return Sheet(
        "repeats",
        "Served models are not deterministic at temperature 0",
        (
            Column("model", "model", "text"),
            Column("dataset", "data set", "text"),
            Column("mode", "mode", "text"),
            Column("space", "answer space", "text"),
            Column("repeats", "repeats", "count"),
            Column("n", "n", "count"),
            Column("excluded", "excluded", "count"),
            Column("flips", "flips %", "percent"),
            Column("changed", "ever changed %", "percent"),
            Column("flips_explicit", "flips, explicit or not %", "percent"),
        ),
        tuple(rows),
        (
            "Flips: mean over outputs of the share of pairs of repeats with different labels; ever changed: outputs "
            "whose repeats do not all have one label, which grows with the number of repeats.",
            "n: outputs with a label in every repeat; excluded: the others. A judge's own changes are part of it where "
            "it was asked again for a trace; cached judgements of equal traces do not change.",
        ),
    )


def _by_repeat(frame: pd.DataFrame) -> tuple[Codes, Codes]:
    """Labels as integers, shape [outputs, repeats], -1 where there is none or no row; and the outputs' groups."""
    output = frame.groupby(list(KEY), sort=True).ngroup().to_numpy()
    repeats = values_of(frame, "repeat")
    codes = np.full((output.max() + 1, len(repeats)), -1, dtype=np.int64)
    codes[output, places_in(repeats, frame, "repeat")] = label_codes(frame, "repeats")
    return codes, group_codes(frame)[np.unique(output, return_index=True)[1]]
