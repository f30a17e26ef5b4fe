"""`verification` of a native run: the same items read as choices and as proposals to accept or reject.

A proposal shows no options, so no answer can follow a slot: what a trigger does to it is no effect of position. Its
labels are other tokens than letters, so what it does to both is no effect of the letter A.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.presentation_names import IDENTITY, NEGATIVE, POSITIVE
from thinkgap.readouts.frames import NATIVE, parts_of
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_NOTE = (
    "Over the items that have the choice form and both proposals. Pos., Neg.: accuracy where the right, a wrong "
    "option was proposed; balanced: their mean. Yes bias: share of yes over both minus 50 %, so that +50 points is "
    "always yes. Difference: balanced accuracy minus that under {reference}, within items. Mass: probability of all "
    "labels together."
)


def proposal_sheets(frame: pd.DataFrame, conditions: Sequence[str], *, reference: str) -> list[Sheet]:
    """`verification` by condition; none for a run without proposals.

    Args:
        frame: records of the native readout.
        conditions: in the run's order.
        reference: condition that differences are taken to.
    """
    forms = [parts_of(frame, NATIVE, conditions, name) for name in (IDENTITY, POSITIVE, NEGATIVE)]
    found: list[tuple[Cell, ...]] = []
    base: pd.Series | None = None
    for condition in forms[0]:
        parts = [form[condition].set_index("item_id") for form in forms if condition in form]
        if len(parts) < len(forms):
            continue
        items = sorted(set.intersection(*(set(part.index) for part in parts)))
        if not items:
            continue
        choice, positive, negative = (part.loc[items] for part in parts)
        groups = choice["group_id"].to_numpy()
        balanced = (positive["correct"].astype(float) + negative["correct"].astype(float)) / 2
        difference: Cell = Missing("the reference itself")
        if condition == reference:
            base = balanced
        elif base is None or not base.index.equals(balanced.index):
            difference = Missing("no pair")
        else:
            difference = metrics.mean((balanced - base).to_numpy(), groups)
        # Yes is slot 0 of a proposal, though it is shown nowhere.
        yes = np.mean([(part["pred_slot"] == 0).to_numpy(dtype=float) for part in (positive, negative)], axis=0)
        mass = np.mean([part["label_mass"].to_numpy(dtype=float) for part in (positive, negative)], axis=0)
        found.append(
            (
                condition,
                len(items),
                metrics.rate(choice["correct"].to_numpy(dtype=float), groups),
                metrics.first_slot_rate(choice["pred_slot"].to_numpy(), groups),
                metrics.mean(choice["label_mass"].to_numpy(dtype=float), groups),
                metrics.rate(positive["correct"].to_numpy(dtype=float), groups),
                metrics.rate(negative["correct"].to_numpy(dtype=float), groups),
                metrics.mean(balanced.to_numpy(), groups),
                metrics.mean(yes - 0.5, groups),
                metrics.mean(mass, groups),
                difference,
            )
        )
    if not found:
        return []
    columns = (
        Column("condition", "condition", "text"),
        Column("n", "items", "count"),
        Column("mcq_accuracy", "MCQ accuracy %", "percent"),
        Column("mcq_first_slot", "MCQ first slot %", "percent"),
        Column("mcq_label_mass", "MCQ mass", "mass"),
        Column("accuracy_positive", "Pos. %", "percent"),
        Column("accuracy_negative", "Neg. %", "percent"),
        Column("balanced_accuracy", "balanced %", "percent"),
        Column("yes_bias", "yes bias", "points"),
        Column("label_mass", "yes/no mass", "mass"),
        Column("difference", f"balanced, difference to {reference}", "points"),
    )
    title = "Proposed answers, read as yes or no"
    return [Sheet("verification", title, columns, tuple(found), (_NOTE.format(reference=reference),))]
