"""`verification`: the same items as choices and as proposals to accept or reject (inertia study, table I.4)."""

from __future__ import annotations

import math

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.nothinking.variants import KEYS, Places, Variants, common, figure_notes, places
from thinkgap.presentation_names import IDENTITY, NEGATIVE, POSITIVE
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

_OWN = (
    Column("accuracy_positive", "Pos. %", "percent"),
    Column("accuracy_negative", "Neg. %", "percent"),
    Column("balanced_accuracy", "balanced %", "percent"),
    Column("yes_rate", "yes, of answers %", "percent"),
    Column("yes_rate_all", "yes, of all %", "percent"),
    Column("yes_bias", "yes bias", "points"),
    Column("unparsed", "no answer %", "percent"),
)
_NOTE = (
    "Over the items that have the choice form and both proposals. MCQ: the choice form; Bool: both proposals, so 2 n "
    "responses. Pos., Neg.: accuracy where the right, a wrong option was proposed; balanced: their mean. Yes: of those "
    "of the 2 n responses that have an answer, and of all 2 n. Yes bias: share of yes minus share of no over all 2 n, "
    "halved: +50 points is always yes, -50 always no; where all answer, it is the yes of all minus 50. Δ: Bool (mean "
    "of an item's proposals) minus MCQ within items. Intervals allow for items that share a group."
)


def verification_sheet(variants: Variants) -> Sheet | None:
    """A row for each model, data set and mode; None without proposals beside their items."""
    found: list[tuple[Cell, ...]] = []
    for key, shown in variants.cells():
        base, positive, negative = (shown.get(name, {}) for name in (IDENTITY, POSITIVE, NEGATIVE))
        items = common(base, positive, negative)
        if not items:
            continue
        first, yes, no = (places(one, items) for one in (base, positive, negative))
        both = np.concatenate([yes, no])
        found.append(
            (
                *key,
                len(items),
                *(variants.cell(one, first) for one in variants.figures),
                *(variants.cell(one, both) for one in variants.figures),
                *_proposals(variants, yes, no),
                *(variants.difference(one, first, [yes, no]) for one in variants.figures),
            )
        )
    if not found:
        return None
    columns = (
        *KEYS,
        Column("n", "n", "count"),
        *(headed(figure.column, "mcq", "MCQ") for figure in variants.figures),
        *(headed(figure.column, "bool", "Bool") for figure in variants.figures),
        *_OWN,
        *(variants.spread(figure) for figure in variants.figures),
    )
    notes = (_NOTE, *figure_notes(variants.figures))
    return Sheet("verification", "Boolean verification with a proposed answer shown", columns, tuple(found), notes)


def headed(column: Column, name: str, heading: str) -> Column:
    """A column of one answer space."""
    return Column(f"{name}_{column.name}", f"{heading} {column.heading}", column.format)


def _proposals(variants: Variants, yes: Places, no: Places) -> tuple[Cell, ...]:
    accuracy = next(figure for figure in variants.figures if figure.column.name == "accuracy")
    right, wrong = variants.values(accuracy, yes), variants.values(accuracy, no)
    groups = variants.rows.group[yes]
    answers = variants.rows.frame["answer"].to_numpy(dtype=object)
    both = np.concatenate([yes, no])
    says = np.array([_says(answers[row]) for row in both])
    all_groups = np.concatenate([groups, groups])
    answered = says != 0
    balanced = (right + wrong) / 2
    known = ~np.isnan(balanced)
    return (
        variants.cell(accuracy, yes),
        variants.cell(accuracy, no),
        _share(metrics.mean(balanced[known], groups[known])) if known.any() else Missing(accuracy.missing),
        metrics.rate((says[answered] > 0).astype(float), all_groups[answered])
        if answered.any()
        else Missing("no answer to a proposal"),
        metrics.rate((says > 0).astype(float), all_groups),
        metrics.mean(says / 2, all_groups),
        metrics.rate((~answered).astype(float), all_groups),
    )


def _share(found: Estimate) -> Estimate:
    """A mean of rates with an interval that keeps to what it can be."""
    if math.isnan(found.low):
        return found
    return Estimate(found.value, max(found.low, 0.0), min(found.high, 1.0), found.n)


def _says(answer: object) -> int:
    """+1 for yes, -1 for no, 0 for no answer."""
    return {"yes": 1, "no": -1}.get(answer.lower(), 0) if isinstance(answer, str) else 0
