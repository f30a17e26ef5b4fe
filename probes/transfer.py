"""Whether a probe carries over: trained on the states of one condition, tested on those of another.

Made from predictions at the study's state, on items in the source's order. Knows no model and no file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probes.figures import accuracy, difference, study_probe
from probes.fits_file import Fits
from probes.predictions import Predictions
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet


@dataclass(frozen=True)
class Transfer:
    """Accuracy of each probe under each condition."""

    trained: tuple[str, ...]
    """Rows."""
    read: tuple[str, ...]
    """Columns."""
    accuracy: NDArray[np.float64]
    """`[trained, read]`, in [0, 1]; NaN where a pair was not tested."""
    native: NDArray[np.float64]
    """`[read]`, in [0, 1]."""


def transfer(found: Predictions, fits: Fits) -> Transfer:
    """The matrix of the probes at the study's state."""
    shown = found.shown(IDENTITY)
    trained, read = tuple(fits.trained), tuple(name for name in fits.conditions if name in shown.native)
    matrix = np.full((len(trained), len(read)), np.nan)
    for row, own in enumerate(trained):
        for column, name in enumerate(read):
            slots = shown.probes.get(study_probe(name, fits.study_state, own))
            if slots is not None:
                matrix[row, column] = accuracy(shown, slots).value
    native = np.array([accuracy(shown, shown.native[name]).value for name in read])
    return Transfer(trained, read, matrix, native)


def transfer_sheets(found: Predictions, fits: Fits) -> list[Sheet]:
    """The matrix, and one row per pair with intervals and what is lost against the condition's own probe."""
    table = transfer(found, fits)
    if np.isnan(table.accuracy).all():
        return []
    missing = Missing("this pair was not tested")
    matrix = [
        (own, *(missing if np.isnan(value) else float(value) for value in values))
        for own, values in zip(table.trained, table.accuracy, strict=True)
    ]
    matrix.append(("native readout", *map(float, table.native)))
    columns = (
        Column("trained_on", "trained on", "text"),
        *(Column(f"read_{name}", f"{name} %", "percent") for name in table.read),
    )
    notes = (
        f"Accuracy of the probe at {fits.study_state} trained on the row's condition and read under the column's; on "
        "the diagonal stands the headline's figure.",
        "A probe that keeps its accuracy reads the answer along directions that serve both conditions.",
    )
    title = "Transfer of linear probes between conditions"
    return [
        Sheet("probe_transfer", title, columns, tuple(matrix), notes),
        Sheet("probe_transfer_pairs", f"{title}, pair by pair", _PAIRS, tuple(_pairs(found, fits, table)), _NOTES),
    ]


_PAIRS = (
    Column("trained_on", "trained on", "text"),
    Column("read_under", "read under", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("native", "native %", "percent"),
    Column("difference", "difference to own probe", "points"),
    Column("mcnemar_p", "p", "p"),
)
_NOTES = (
    "Difference: accuracy minus that of the probe trained on the condition that is read, on the same rows; p by "
    "McNemar's test.",
)


def _pairs(found: Predictions, fits: Fits, table: Transfer) -> list[tuple[Cell, ...]]:
    shown = found.shown(IDENTITY)
    rows = []
    for own in table.trained:
        for name in table.read:
            slots = shown.probes.get(study_probe(name, fits.study_state, own))
            if slots is None:
                continue
            base = shown.probes.get(study_probe(name, fits.study_state))
            lost: tuple[Cell, ...] = (Missing("this row is the condition's own probe"),) * 2
            if base is None:
                lost = (Missing("the condition has no probe of its own"),) * 2
            elif own != name:
                pair = difference(shown, base, slots)
                lost = (pair.difference, pair.p_value)
            native = accuracy(shown, shown.native[name])
            rows.append((own, name, len(shown), accuracy(shown, slots), native, *lost))
    return rows
