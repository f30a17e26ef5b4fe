"""What is still right with something taken away: each control beside the same items as they are.

From native records to one sheet; how controls are made is `data.controls`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkgap import metrics
from thinkgap.presentation_names import CONTROL, CONTROLS, IDENTITY
from thinkgap.readouts.letters import mean_mass, with_groups
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, by_condition

if TYPE_CHECKING:
    import pandas as pd


def control_sheet(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Sheet]:
    """The sheet `controls`, one row to a control and condition; none if no item was shown as a control.

    Args:
        frame: native records of one run, with the columns of `store.records.SCHEMA`.
        conditions: order of the conditions.
    """
    frame = with_groups(frame)
    order = by_condition(conditions, frame["condition"].unique().tolist())
    present = set(frame["presentation"])
    rows = [
        _row(name, condition, frame.loc[frame["condition"] == condition])
        for name in CONTROLS
        if f"{CONTROL}{name}" in present
        for condition in order
    ]
    if not rows:
        return []
    columns = (
        Column("control", "control", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count"),
        Column("accuracy", "accuracy %", "percent"),
        Column("shown", "as shown %", "percent"),
        Column("difference", "difference", "points"),
        Column("p", "p", "p"),
        Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
        Column("first_slot", "first slot %", "percent"),
        Column("label_mass", "label mass", "mass"),
    )
    notes = (
        "On the items that have the control. text_only: without their images; options_only: without question, context "
        "and images; shuffled_images: with the images of another item.",
        "As shown: accuracy of the same items as they are. Difference: control minus that, in points, p by McNemar's "
        "test. An accuracy above mean(1/k) is what can be had without what was taken away.",
    )
    return [Sheet("controls", "With something taken away", columns, tuple(rows), notes)]


def _row(name: str, condition: str, rows: pd.DataFrame) -> tuple[Cell, ...]:
    pairs = rows.loc[rows["presentation"] == f"{CONTROL}{name}"].merge(
        rows.loc[rows["presentation"] == IDENTITY, ["item_id", "correct"]], on="item_id", suffixes=("", "_shown")
    )
    groups = pairs["group"].to_numpy()
    pair = metrics.paired_difference(pairs["correct_shown"].to_numpy(), pairs["correct"].to_numpy(), groups)
    return (
        name,
        condition,
        len(pairs),
        metrics.rate(pairs["correct"].to_numpy(), groups),
        metrics.rate(pairs["correct_shown"].to_numpy(), groups),
        pair.difference,
        pair.p_value if len(pairs) else Missing("no rows"),
        metrics.mean_reciprocal_k(pairs["k"].to_numpy()) if len(pairs) else Missing("no rows"),
        metrics.first_slot_rate(pairs["pred_slot"].to_numpy(), groups),
        mean_mass(pairs),
    )
