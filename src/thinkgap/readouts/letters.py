"""Slot or letter: the native readout under other labels, under letters apart from slots, and letter by letter.

From native records to sheets; the split into slot, letter and content is `readouts.factorial`'s, charts are
`readouts.letter_charts`'s. Knows records and label sets, no prompt and no tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.presentation_names import IDENTITY, LABEL_SETS, LABELS
from thinkgap.readouts.factorial import factorial_sheets
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, by_condition
from thinkgap.types import LETTERS

if TYPE_CHECKING:
    import pandas as pd


def letter_sheets(
    frame: pd.DataFrame,
    conditions: Sequence[str],
    *,
    draws: int,
    seed: int,
    unread: Mapping[str, str] | None = None,
) -> list[Sheet]:
    """What goes with the slot and what with the letter: `label_sets`, `factorial`, `factorial_effects`, `label_tokens`.

    Sheets without rows are left out.

    Args:
        frame: native records of one run, with the columns of `store.records.SCHEMA`.
        conditions: order of the conditions.
        draws: of the bootstrap.
        seed: of the draws.
        unread: label sets that this tokenizer could not read -> reason.
    """
    frame = with_groups(frame)
    order = by_condition(conditions, frame["condition"].unique().tolist())
    lettered = _lettered(frame.loc[frame["presentation"] == IDENTITY])
    sheets = [
        _label_sets(frame, lettered, order, unread or {}),
        *factorial_sheets(frame, order, draws, seed),
        _label_tokens(lettered, order),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def with_groups(frame: pd.DataFrame) -> pd.DataFrame:
    """`frame` with a column `group` of integers, which sort faster than texts."""
    return frame.assign(group=np.unique(frame["group_id"], return_inverse=True)[1])


def mean_mass(rows: pd.DataFrame) -> Cell:
    """Mean label mass with its interval; a mean over some of the rows would pass for one over all of them."""
    mass = rows["label_mass"].to_numpy()
    if np.isnan(mass).any():
        return Missing("label mass is missing in some records")
    return metrics.mean(mass, rows["group"].to_numpy())


def _lettered(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of items that show options under letters from A; yes/no items are read under their words."""
    return rows.loc[[tuple(labels) == tuple(LETTERS[: len(labels)]) for labels in rows["labels"]]]


_SET_COLUMNS = (
    Column("set", "label set", "text"),
    Column("labels", "labels", "text"),
    Column("condition", "condition", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("first_slot", "first slot %", "percent"),
    Column("first_label", "first label %", "percent"),
    Column("last_slot", "last slot %", "percent"),
    Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
    Column("label_mass", "label mass", "mass"),
)


def _label_sets(frame: pd.DataFrame, lettered: pd.DataFrame, order: Sequence[str], unread: Mapping[str, str]) -> Sheet:
    present = set(frame["presentation"])
    most = max(lettered["k"], default=0)
    rows: list[tuple[Cell, ...]] = []
    for name, labels in LABEL_SETS.items():
        shown = " ".join(labels.shown(min(most, len(labels.labels))))
        if name in unread:
            reason = Missing(f"label set {name} cannot be read: {unread[name]}")
            rows += [(name, shown, condition, *[reason] * (len(_SET_COLUMNS) - 3)) for condition in order]
        elif f"{LABELS}{name}" in present:
            own = frame.loc[frame["presentation"] == f"{LABELS}{name}"]
            rows += _set_rows(name, shown, own, order, backwards=labels.backwards)
    if rows:
        letters = " ".join(LETTERS[:most])
        rows = _set_rows(IDENTITY, letters, lettered, order, backwards=False) + rows
    return Sheet(
        "label_sets",
        "The source's order under other labels",
        _SET_COLUMNS,
        tuple(rows),
        (
            "Labels are those of the most options, from the first slot to the last; contents stand in the same slots "
            "under every set.",
            "First label: the one that comes first in the set's own order; under reversed that is A, in the last slot. "
            "What stays in the first slot under every set is a preference for the slot, what goes with A one for A.",
            "A set without enough labels for an item leaves that item out: compare n.",
        ),
    )


def _set_rows(
    name: str, labels: str, rows: pd.DataFrame, order: Sequence[str], *, backwards: bool
) -> list[tuple[Cell, ...]]:
    found: list[tuple[Cell, ...]] = []
    for condition in order:
        own = rows.loc[rows["condition"] == condition]
        slots, groups = own["pred_slot"].to_numpy(), own["group"].to_numpy()
        first, last = metrics.rate(slots == 0, groups), metrics.rate(slots == own["k"].to_numpy() - 1, groups)
        found.append(
            (
                name,
                labels,
                condition,
                len(own),
                metrics.rate(own["correct"].to_numpy(), groups),
                first,
                last if backwards else first,
                last,
                metrics.mean_reciprocal_k(own["k"].to_numpy()),
                mean_mass(own),
            )
        )
    return found


def _label_tokens(lettered: pd.DataFrame, order: Sequence[str]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for condition in order:
        own = lettered.loc[lettered["condition"] == condition]
        for slot in range(max(own["k"], default=0)):
            having = own.loc[own["k"] > slot]
            groups = having["group"].to_numpy()
            rows.append(
                (
                    condition,
                    LETTERS[slot],
                    len(having),
                    metrics.mean([np.exp(logprobs[slot]) for logprobs in having["label_logprobs"]], groups),
                    metrics.rate(having["pred_slot"].to_numpy() == slot, groups),
                    metrics.rate(having["gold_slot"].to_numpy() == slot, groups),
                )
            )
    return Sheet(
        "label_tokens",
        "Each letter in the source's order",
        (
            Column("condition", "condition", "text"),
            Column("letter", "letter", "text"),
            Column("n", "n", "count"),
            Column("probability", "probability", "mass"),
            Column("predicted", "predicted %", "percent"),
            Column("gold", "right %", "percent"),
        ),
        tuple(rows),
        (
            "Over the items that have the letter, in the source's order and letters. Probability: mean full-vocabulary "
            "probability of the letter's tokens. Right: how often the letter is the right one.",
        ),
    )
