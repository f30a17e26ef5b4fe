"""`surface` of a native run: the same items shuffled, under other labels, or as bullets, beside the source's form.

What moves with the contents when they are shuffled is no effect of the slot; what stays in the slot under numerals is
no effect of the letter A. How the forms are made is `data.surface`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.presentation_names import IDENTITY, LABELS, SURFACE
from thinkgap.readouts.frames import NATIVE, groups_of, parts_of, values
from thinkgap.readouts.letters import mean_mass, with_groups
from thinkgap.readouts.orders import YES_NO
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_NOTES = (
    "Over the items that have the form; base: over those of the source's form that have options. Δ, consistency: "
    "beside the same items in the source's form under the same condition.",
    "Consistency: share of items with the same content predicted. A reader of contents has 100 % everywhere; one that "
    "always takes the first slot has 100 % where the order stays and, shuffled, the share of items whose first option "
    "stays.",
)


def surface_sheets(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Sheet]:
    """The sheet `surface`, a row for each form and condition; none for a run without perturbations.

    Args:
        frame: native records of one run, with the columns of `store.records.SCHEMA`.
        conditions: in the run's order.
    """
    present = dict.fromkeys(map(str, frame["presentation"]))
    names = sorted(name for name in present if name.startswith((LABELS, SURFACE)))
    if not names:
        return []
    bare = [tuple(labels) == YES_NO for labels in frame["labels"]]
    frame = with_groups(frame.loc[[not one for one in bare]])
    base = parts_of(frame, NATIVE, conditions, IDENTITY)
    rows: list[tuple[Cell, ...]] = []
    for name in (IDENTITY, *names):
        for condition, part in parts_of(frame, NATIVE, conditions, name).items():
            rows.append((name, condition, *_row(part, None if name == IDENTITY else base.get(condition))))
    columns = (
        Column("form", "form", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count"),
        Column("accuracy", "accuracy %", "percent"),
        Column("accuracy_difference", "Δ", "points"),
        Column("first_slot", "first slot %", "percent"),
        Column("gold_first", "gold first %", "percent"),
        Column("consistency", "consistency %", "percent"),
        Column("label_mass", "label mass", "mass"),
    )
    return [Sheet("surface", "The same items in other forms", columns, tuple(rows), _NOTES)]


def _row(part: pd.DataFrame, base: pd.DataFrame | None) -> tuple[Cell, ...]:
    groups = groups_of(part)
    difference: Cell = Missing("the source's form itself")
    consistency: Cell = difference
    if base is not None:
        place = {item: row for row, item in enumerate(base["item_id"])}
        here = np.array([row for row, item in enumerate(part["item_id"]) if item in place], dtype=np.intp)
        there = np.array([place[item] for item in part["item_id"] if item in place], dtype=np.intp)
        correct = values(part, "correct")[here] - values(base, "correct")[there]
        same = values(part, "pred_content")[here] == values(base, "pred_content")[there]
        difference = metrics.mean(correct, groups[here])
        consistency = metrics.rate(same, groups[here])
    return (
        len(part),
        metrics.rate(values(part, "correct"), groups),
        difference,
        metrics.first_slot_rate(values(part, "pred_slot"), groups),
        metrics.gold_first_rate(values(part, "gold_slot"), groups),
        consistency,
        mean_mass(part),
    )
