"""Whether conditions keep the answer in one direction: cosines of probe directions, and fixed label rows as a probe.

Cosines come from weights and are kept in `fits.json`; the sheets are made from it and the predictions. Knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from probes.figures import accuracy, difference
from probes.fits_file import Cosine, Fits
from probes.linear_probe import LinearProbe
from probes.predictions import UNEMBEDDING, Predictions
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

_OWN_ROWS = "unembedding"


def direction_cosines(
    probes: Mapping[str, LinearProbe], head_rows: Mapping[str, Tensor] | None = None
) -> tuple[Cosine, ...]:
    """Cosines of what the slots' logits add per unit of the raw state, every pair of conditions in both orders.

    Args:
        probes: condition -> its probe, all at one state.
        head_rows: condition -> `[K, d]` unembedding rows of its labels, one to a slot; None if they are not at hand,
            or the state is not what the head reads. They give rows of their own.

    Returns:
        Each the mean over slots of the cosine of two directions, both centred over the slots that both sides have.
    """
    own = {name: probe.directions() for name, probe in probes.items()}
    found = [Cosine(row, column, mean_cosine(own[row], own[column])) for row in own for column in own]
    for column in own:
        if head_rows is not None and column in head_rows:
            found.append(Cosine(_OWN_ROWS, column, mean_cosine(head_rows[column], own[column])))
    return tuple(found)


def mean_cosine(one: Tensor, other: Tensor) -> float:
    """Mean over slots of the cosine of rows `[K, d]` of two matrices, centred over their common slots.

    In [-1, 1]; NaN where a row has no length after centring, or there is one slot alone.
    """
    k = min(len(one), len(other))
    first, second = (rows[:k].double() - rows[:k].double().mean(0) for rows in (one, other))
    lengths = first.norm(dim=1) * second.norm(dim=1)
    if not bool((lengths > 0).all()):
        return math.nan
    value = float(((first * second).sum(1) / lengths).mean())
    return min(1.0, max(-1.0, value))


def cosine_sheets(fits: Fits) -> list[Sheet]:
    """The cosines of `fits` as a matrix; none if there are none."""
    values = {(one.row, one.column): one.value for one in fits.cosines}
    rows = [*fits.trained, _OWN_ROWS]
    rows = [name for name in rows if any(row == name for row, _ in values)]
    if not rows:
        return []
    missing = Missing("the label rows of this condition were not at hand")
    flat = Missing("a direction has no length")

    def cell(row: str, column: str) -> Cell:
        value = values.get((row, column))
        return missing if value is None else flat if math.isnan(value) else value

    notes = (
        f"Mean over slots of the cosine between what the slot's logit adds per unit of the raw state at "
        f"{fits.study_state}, centred over slots.",
        f"{_OWN_ROWS}: the head's own rows of the condition's labels. Directions of a regularised probe also depend on "
        "which features vary together: a low cosine does not show that another feature is read. See the transfer.",
    )
    columns = (Column("of", "directions of", "text"), *(Column(f"to_{name}", name) for name in fits.trained))
    cells = tuple((row, *(cell(row, column) for column in fits.trained)) for row in rows)
    return [Sheet("probe_directions", "Cosines between probe directions", columns, cells, notes)]


def fixed_sheets(found: Predictions, fits: Fits) -> list[Sheet]:
    """Accuracy of fixed label rows under each condition beside the native readout; none if they were not read."""
    shown = found.shown(IDENTITY)
    rows = []
    for name in fits.conditions:
        for one, slots in shown.probes.items():
            if one.role == UNEMBEDDING and one.condition == name:
                native = shown.native[name]
                pair = difference(shown, native, slots)
                own = accuracy(shown, slots), accuracy(shown, native), pair.difference, pair.p_value
                rows.append((name, one.trained_on, len(shown), *own))
    columns = (
        Column("condition", "condition", "text"),
        Column("rows_of", "label rows of", "text"),
        Column("n", "n", "count"),
        Column("fixed", "fixed rows %", "percent"),
        Column("native", "native %", "percent"),
        Column("difference", "fixed - native", "points"),
        Column("mcnemar_p", "p", "p"),
    )
    notes = (
        f"The logit of a slot is the state at {fits.study_state} times the unembedding row of the slot's label, plus "
        "the head's bias if it has one. Nothing is trained.",
        "Where conditions share their label tokens, each label is one token and the model leaves its logits as they "
        "are, this repeats the native readout.",
    )
    title = "The model's own label rows as a fixed probe"
    return [Sheet("probe_fixed_rows", title, columns, tuple(rows), notes)] if rows else []
