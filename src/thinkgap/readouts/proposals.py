"""`verification` of a native run: the same items read as choices and as proposals to accept or reject.

A proposal shows no options, so no answer can follow a slot: what a trigger does to it is no effect of position. Its
labels are other tokens than letters, so what it does to both is no effect of the letter A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.presentation_names import IDENTITY, NEGATIVE, POSITIVE
from thinkgap.readouts.frames import NATIVE, groups_of, parts_of, values
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_NOTE = (
    "Over the items that have the choice form and both proposals. Pos., Neg.: accuracy where the right, a wrong option "
    "was proposed; balanced: their mean; always yes has 50 %. Yes bias: share of yes over both minus "
    "50 %, so that +50 points is always yes. Mass: probability of all labels together."
)
_CHANGES = "Δ: minus the same under {reference}, within the items that have all forms under both conditions."


def proposal_sheets(frame: pd.DataFrame, conditions: Sequence[str], *, reference: str) -> list[Sheet]:
    """`verification` by condition; none for a run without proposals.

    Args:
        frame: records of the native readout.
        conditions: in the run's order.
        reference: condition that changes are taken to.
    """
    forms = [parts_of(frame, NATIVE, conditions, name) for name in (IDENTITY, POSITIVE, NEGATIVE)]
    by_condition = {
        condition: items
        for condition in forms[0]
        if all(condition in form for form in forms) and (items := _Items.of([form[condition] for form in forms])).ids
    }
    if not by_condition:
        return []
    base = by_condition.get(reference)
    columns = (
        Column("condition", "condition", "text"),
        Column("n", "items", "count"),
        Column("mcq_accuracy", "MCQ accuracy %", "percent"),
        Column("mcq_accuracy_change", "Δ", "points"),
        Column("mcq_first_slot", "MCQ first slot %", "percent"),
        Column("mcq_first_slot_change", "Δ", "points"),
        Column("mcq_label_mass", "MCQ mass", "mass"),
        Column("accuracy_positive", "Pos. %", "percent"),
        Column("accuracy_negative", "Neg. %", "percent"),
        Column("balanced_accuracy", "balanced %", "percent"),
        Column("balanced_accuracy_change", "Δ", "points"),
        Column("yes_bias", "yes bias", "points"),
        Column("yes_bias_change", "Δ", "points"),
        Column("label_mass", "yes/no mass", "mass"),
    )
    rows = tuple(
        (name, *_row(items, None if name == reference else base, name)) for name, items in by_condition.items()
    )
    title = "Proposed answers, read as yes or no"
    return [Sheet("verification", title, columns, rows, (_NOTE, _CHANGES.format(reference=reference)))]


@dataclass(frozen=True)
class _Items:
    """The items that have all three forms under one condition; arrays in the order of `ids`."""

    ids: list[str]
    groups: NDArray[Any]
    figures: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, forms: Sequence[pd.DataFrame]) -> _Items:
        """From the rows of the choice form, of the right proposal and of the wrong one."""
        parts = [form.set_index("item_id") for form in forms]
        ids = sorted(set.intersection(*(set(part.index) for part in parts)))
        choice, positive, negative = (part.loc[ids] for part in parts)
        right, wrong = values(positive, "correct"), values(negative, "correct")
        mass = (values(positive, "label_mass") + values(negative, "label_mass")) / 2
        figures = {
            "mcq_accuracy": values(choice, "correct"),
            "mcq_first_slot": (values(choice, "pred_slot") == 0).astype(float),
            "mcq_label_mass": values(choice, "label_mass"),
            "accuracy_positive": right,
            "accuracy_negative": wrong,
            "balanced_accuracy": (right + wrong) / 2,
            # Yes is right of the one and wrong of the other.
            "yes_bias": (right + 1 - wrong) / 2 - 0.5,
            "label_mass": mass,
        }
        return cls(ids, groups_of(choice), figures)


def _row(items: _Items, base: _Items | None, condition: str) -> list[Cell]:
    found: list[Cell] = [len(items.ids)]
    for name, figure in items.figures.items():
        rate = name in ("mcq_accuracy", "mcq_first_slot", "accuracy_positive", "accuracy_negative")
        if np.isnan(figure).any():
            found.append(Missing("label mass is missing in some records"))
        else:
            found.append(metrics.rate(figure, items.groups) if rate else metrics.mean(figure, items.groups))
        if name in ("mcq_accuracy", "mcq_first_slot", "balanced_accuracy", "yes_bias"):
            found.append(_change(items, base, name))
    return found


def _change(items: _Items, base: _Items | None, name: str) -> Cell:
    if base is None:
        return Missing("the reference itself, or a run without it")
    place = {item: row for row, item in enumerate(base.ids)}
    here = [row for row, item in enumerate(items.ids) if item in place]
    if not here:
        return Missing("no item has all forms under both conditions")
    there = [place[items.ids[row]] for row in here]
    return metrics.mean(items.figures[name][here] - base.figures[name][there], items.groups[here])
