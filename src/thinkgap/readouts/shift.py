"""Where probability moves: the change of p(gold) by the slot of the right answer, and its histograms (study A).

On the source's order of the options; yes/no items, which show no options, are left out. `docs/position_shift.md` says
what the figures mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.metrics.pride import over_labels
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.orders import usable
from thinkgap.readouts.sheet import Cell, Chart, Column, Sheet, by_condition, slot_name

if TYPE_CHECKING:
    import pandas as pd

BINS = 10
"""Bins of p(gold), all of one width from 0 to 1; each but the last leaves out its upper bound."""

_SHIFT = (
    Column("condition", "condition", "text"),
    Column("slot", "gold at", "text"),
    Column("n", "items", "count"),
    Column("reference", "p(gold), reference", "mass"),
    Column("p", "p(gold)", "mass"),
    Column("shift", "shift of p(gold)", "points"),
    Column("shift_full", "shift, whole vocabulary", "points"),
)


def _edges(bin_: int) -> str:
    return f"{bin_ / BINS:.1f}-{(bin_ + 1) / BINS:.1f}"


_HISTOGRAM = (
    Column("condition", "condition", "text"),
    Column("n", "items", "count"),
    Column("p", "mean p(gold)", "mass"),
    *(Column(f"bin_{bin_ + 1}", _edges(bin_), "count") for bin_ in range(BINS)),
)


def shift_sheets(frame: pd.DataFrame, conditions: Sequence[str], *, reference: str = "direct") -> list[Sheet]:
    """The shift of p(gold) to the reference by gold slot, and the histogram of p(gold); none without rows.

    Args:
        frame: Rows of one readout with the columns of `store.records.SCHEMA`; other presentations are ignored.
        conditions: The run's order of conditions.
        reference: Condition that the shift is taken to; without its rows there is no sheet of shifts.

    Raises:
        StoreError: An item occurs twice under one condition.
    """
    rows, left_out = _rows(frame)
    present = _present(rows, conditions)
    if not present:
        return []
    sheets = []
    if shifts := _shifts(rows, present, reference):
        notes = (
            "Shift: mean over the items with the right answer in that slot of p(gold) minus p(gold) under "
            f"{reference}, in points, with its 95% interval; p(gold) is renormalised over the item's labels, the last "
            "column is not.",
            "Slot and letter move together here, and items of any number of options share a slot: see the tables by "
            "number of options and of letters.",
            *left_out,
        )
        sheets.append(
            Sheet("position_shift", "Shift of p(gold) by the slot of the right answer", _SHIFT, shifts, notes)
        )
    histograms = []
    for name in present:
        part = rows.loc[rows["condition"] == name]
        p = part["p"].to_numpy()
        histograms.append((name, len(p), metrics.mean(p, part["group"].to_numpy()), *_counts(p).tolist()))
    notes = ("Items by p(gold), renormalised over the item's labels.", *left_out)
    return [*sheets, Sheet("gold_probability", "p(gold) by condition", _HISTOGRAM, tuple(histograms), notes)]


def shift_charts(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Chart]:
    """Bars of the share of items in each bin of p(gold), by condition; arguments as above."""
    rows, _ = _rows(frame)
    bars: list[tuple[float | str, float, str]] = []
    for name in _present(rows, conditions):
        counts = _counts(rows.loc[rows["condition"] == name, "p"].to_numpy())
        bars += [(_edges(bin_), float(share), name) for bin_, share in enumerate(counts / counts.sum())]
    if not bars:
        return []
    return [Chart("gold_probability", "p(gold) by condition", "bar", "p_gold", "share", "condition", tuple(bars))]


def _present(rows: pd.DataFrame, conditions: Sequence[str]) -> list[str]:
    return by_condition(conditions, [str(name) for name in rows["condition"].unique()])


def _counts(p: NDArray[np.float64]) -> NDArray[np.int64]:
    # Not numpy's histogram: its edges are rounded, so that 0.3 may fall below 0.3.
    return np.bincount(np.minimum((p * BINS).astype(np.int64), BINS - 1), minlength=BINS)


def _rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Rows of the source's order with p(gold) over labels (`p`) and over the vocabulary (`p_full`); notes."""
    frame, yes_no = usable(frame.loc[frame["presentation"] == IDENTITY])
    gold = frame["gold_slot"].to_numpy()
    logprobs = frame["label_logprobs"].tolist()
    own = np.array([of_item[slot] for of_item, slot in zip(logprobs, gold, strict=True)], dtype=np.float64)
    among = [over_labels(of_item)[slot] for of_item, slot in zip(logprobs, gold, strict=True)]
    p = np.exp(np.array(among, dtype=np.float64))
    frame = frame.assign(group=frame["group_id"].factorize()[0], p=p, p_full=np.exp(own))
    unread = int(np.isnan(p).sum())
    left_out = [f"Left out: {yes_no} yes/no items, which show no options."] if yes_no else []
    left_out += [f"Left out: {unread} rows in which no label has any probability."] if unread else []
    return frame.loc[~np.isnan(p)], left_out


def _shifts(rows: pd.DataFrame, present: Sequence[str], reference: str) -> tuple[tuple[Cell, ...], ...]:
    base = rows.loc[rows["condition"] == reference, ["item_id", "p", "p_full"]]
    shifts: list[tuple[Cell, ...]] = []
    for name in present:
        if name == reference:
            continue
        pairs = rows.loc[rows["condition"] == name].merge(base, on="item_id", suffixes=("", "_reference"))
        for slot, part in pairs.groupby("gold_slot", sort=True):
            groups = part["group"].to_numpy()
            before, after = part["p_reference"].to_numpy(), part["p"].to_numpy()
            full = part["p_full"].to_numpy() - part["p_full_reference"].to_numpy()
            figures = (metrics.mean(values, groups) for values in (before, after, after - before, full))
            shifts.append((name, slot_name(int(str(slot))), len(part), *figures))
    return tuple(shifts)
