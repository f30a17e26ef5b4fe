"""Plots of a run of `evaluate.py`: readouts, layers, slots, shifts of probability, orders of the options.

Forms are those of `analysis.report.charts`. Knows no file and no HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.report.charts import dots, lines
from analysis.report.shapes import Plain, cell, named
from thinkgap.presentation_names import IDENTITY, is_order
from thinkgap.readouts.frames import parts_of
from thinkgap.readouts.overview import READOUTS
from thinkgap.readouts.sheet import Sheet

if TYPE_CHECKING:
    import pandas as pd

STRIP_ITEMS = 150
"""Items of a strip at most; more would be narrower than a pixel on a phone."""
_MOST_KS = 6


def native_charts(sheets: Sequence[Sheet], frame: pd.DataFrame, conditions: Sequence[str]) -> list[Plain]:
    """Plots of a run of `evaluate.py`.

    Args:
        sheets: of the run.
        frame: its records.
        conditions: in the run's order.
    """
    native = frame.loc[(frame["readout"] == "native").to_numpy()]
    charts = [_readouts(sheets)] if named(sheets, "readouts") else []
    layers = named(sheets, "layers")
    for name, title, form in (
        ("accuracy", "Accuracy of the label readout by layer (lens)", "percent"),
        ("first_slot", "How often the first slot is read, by layer (lens)", "percent"),
        ("label_mass", "Probability of all labels together, by layer (lens)", "mass"),
    ):
        if layers:
            note = "Each layer's state through the model's own norm and head; the last layer is the native readout."
            charts.append(lines(f"layers_{name}", title, layers, "layer", name, form, note))
    charts += _slots(native, conditions)
    if (shift := _shift(sheets)) is not None:
        charts.append(shift)
    if (strips := _strips(native, conditions)) is not None:
        charts.append(strips)
    return charts


def _readouts(sheets: Sequence[Sheet]) -> Plain:
    rows = named(sheets, "readouts")
    series = [(name, told) for name, told in READOUTS.items() if name in rows[0]]
    return dots("readouts", "Right answers by readout, on the same items", rows, "condition", series)


def _slots(native: pd.DataFrame, conditions: Sequence[str]) -> list[Plain]:
    parts = parts_of(native, "native", conditions, IDENTITY)
    ks = sorted({int(k) for part in parts.values() for k in part["k"].unique()})
    charts = []
    for k in ks[:_MOST_KS]:
        series, gold = [], None
        for name, part in parts.items():
            own = part.loc[part["k"] == k]
            counts = np.bincount(own["pred_slot"].to_numpy().clip(min=0), minlength=k)[:k]
            gold = np.bincount(own["gold_slot"].to_numpy(), minlength=k)[:k]
            series.append({"name": name, "counts": counts.tolist(), "n": len(own)})
        if gold is not None and int(gold.sum()):
            series.insert(0, {"name": "right answers", "counts": gold.tolist(), "n": int(gold.sum()), "gold": True})
        charts.append(
            {
                "kind": "bars",
                "name": f"slots_{k}",
                "title": f"Which slot is read, items with {k} options",
                "note": "Native readout in the source's order; the grey bars are where the right answers stand.",
                "categories": [f"slot {slot + 1}" for slot in range(k)],
                "series": series,
            }
        )
    return charts


def _shift(sheets: Sequence[Sheet]) -> Plain | None:
    rows = named(sheets, "position_shift")
    if not rows:
        return None
    panels: dict[str, list[Any]] = {}
    for row in rows:
        panels.setdefault(str(row["condition"]), []).append(
            [str(row["slot"]), cell(row["n"]), cell(row["reference"]), cell(row["p"]), cell(row["shift"])]
        )
    return {
        "kind": "shift",
        "name": "shift",
        "title": "Where probability moves: p(right answer) by the slot it stands in",
        "note": "Hollow: under the reference; filled: under the trigger. Renormalised over the item's labels.",
        "panels": [{"name": name, "rows": own} for name, own in panels.items()],
    }


def _strips(native: pd.DataFrame, conditions: Sequence[str]) -> Plain | None:
    shown = [str(name) for name in native["presentation"].unique() if is_order(str(name))]
    orders = [IDENTITY] if IDENTITY in shown else []
    orders += sorted(set(shown) - {IDENTITY})
    if len(orders) < 2:
        return None
    rows = native.loc[native["presentation"].isin(orders).to_numpy()]
    items = sorted(map(str, rows["item_id"].unique()))
    step = max(1, -(-len(items) // STRIP_ITEMS))
    chosen = items[::step]
    place = {item: at for at, item in enumerate(chosen)}
    panels = []
    for name, part in parts_of(rows, "native", conditions).items():
        slots = [[-1] * len(chosen) for _ in orders]
        right = [[0] * len(chosen) for _ in orders]
        columns = (part[key] for key in ("item_id", "presentation", "pred_slot", "correct"))
        for item, order, slot, correct in zip(*columns, strict=True):
            if item in place:
                slots[orders.index(order)][place[item]] = int(slot)
                right[orders.index(order)][place[item]] = int(correct)
        panels.append({"name": name, "slots": slots, "right": right})
    some = "" if step == 1 else f" Every {step}th of {len(items):,} items."
    return {
        "kind": "strips",
        "name": "strips",
        "title": "Which slot is read when the options change places",
        "note": "A column is an item, a row an order of its options; a right answer has a small square in it. A "
        f"readout that follows the content changes slot from row to row, one that follows the position does not.{some}",
        "orders": orders,
        "items": chosen,
        "panels": panels,
    }
