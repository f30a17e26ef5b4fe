"""Plots as data: figures with their intervals, which the page draws. Computes no figure that a table does not show.

Forms: `lines` (over layers), `dots` (a figure by group and series), `bars` (shares of slots), `shift` (before and after
by slot), `strips` (slot of each item in each order), `heat` (a matrix of shares). Knows no file and no HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.report.shapes import Plain, cell, named, number
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import IDENTITY, is_order
from thinkgap.readouts.frames import parts_of
from thinkgap.readouts.overview import READOUTS
from thinkgap.readouts.sheet import Cell, Sheet

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
            charts.append(_lines(f"layers_{name}", title, layers, "layer", name, form, note))
    charts += _slots(native, conditions)
    if (shift := _shift(sheets)) is not None:
        charts.append(shift)
    if (strips := _strips(native, conditions)) is not None:
        charts.append(strips)
    return charts


def probe_charts(sheets: Sequence[Sheet]) -> list[Plain]:
    """Plots of a run of linear probes."""
    charts = []
    if rows := named(sheets, "linear_probes"):
        series = (("native", "native readout"), ("probe", "linear probe"))
        charts.append(_dots("probes", "Right answers: native readout and linear probe", rows, "condition", series))
    if rows := named(sheets, "probe_layers"):
        states = list(dict.fromkeys(str(row["state"]) for row in rows))
        placed: list[dict[str, Cell]] = [{**row, "place": states.index(str(row["state"]))} for row in rows]
        note = "The probe of each state and condition on the test rows. A description: the highest point is no result."
        one = _lines("layers_probe", "Accuracy of linear probes by layer", placed, "place", "test", "percent", note)
        charts.append({**one, "ticks": states, "xLabel": "state"})
    if rows := named(sheets, "probe_transfer"):
        names = [name.removeprefix("read_") for name in rows[0] if name != "trained_on"]
        charts.append(
            {
                "kind": "heat",
                "name": "transfer",
                "title": "Transfer of linear probes: right answers in percent",
                "note": "Trained on the row's condition, read under the column's. Last row: the model's own readout.",
                "rowLabel": "trained on",
                "columnLabel": "read under",
                "rows": [str(row["trained_on"]) for row in rows],
                "columns": names,
                "values": [[_share(row[f"read_{name}"]) for name in names] for row in rows],
            }
        )
    return charts


def response_charts(sheets: Sequence[Sheet]) -> list[Plain]:
    """ETR, question relevance and judged inference by answer space and mode."""
    rows = named(sheets, "nothinking_levels") or named(sheets, "nothinking_spaces")
    if not rows:
        return []
    averages = list(dict.fromkeys(str(row.get("average", "")) for row in rows))
    rows = [row for row in rows if str(row.get("average", "")) == averages[0]]
    models = {str(row["model"]) for row in rows}
    modes = list(dict.fromkeys(str(row["mode"]) for row in rows))
    charts = []
    for name in rows[0]:
        if (told := _level_title(name)) is None:
            continue
        groups: dict[str, list[Any]] = {}
        for row in rows:
            group = str(row["space"]) if len(models) == 1 else f"{row['model']}, {row['space']}"
            groups.setdefault(group, [None] * len(modes))[modes.index(str(row["mode"]))] = cell(row[name])
        charts.append(
            {
                "kind": "dots",
                "name": name,
                "title": told[0],
                "note": f"By answer space and mode, {averages[0] or 'all rows'}; 95% intervals.",
                "format": told[1],
                "groups": list(groups),
                "series": modes,
                "values": list(groups.values()),
            }
        )
    return charts


def _level_title(column: str) -> tuple[str, str] | None:
    fixed = {
        "etr_strict": ("Empty thinking rate, strict (ETR)", "percent"),
        "etr_prefix": ("Empty thinking rate, with a lead-in (ETR)", "percent"),
        "accuracy": ("Right answers", "percent"),
    }
    if column in fixed:
        return fixed[column]
    for start, title, form in (
        ("nonempty_qrel_", "Question relevance of traces that are not empty (QRel)", "number"),
        ("qrel_", "Question relevance of traces (QRel)", "number"),
        ("explicit_", "Explicit inference before the answer (EIR)", "percent"),
    ):
        if column.startswith(start):
            return f"{title}, by {column.removeprefix(start)}", form
    return None


def _readouts(sheets: Sequence[Sheet]) -> Plain:
    rows = named(sheets, "readouts")
    series = [(name, told) for name, told in READOUTS.items() if name in rows[0]]
    return _dots("readouts", "Right answers by readout, on the same items", rows, "condition", series)


def _dots(
    name: str, title: str, rows: Sequence[dict[str, Cell]], group: str, series: Sequence[tuple[str, str]]
) -> Plain:
    return {
        "kind": "dots",
        "name": name,
        "title": title,
        "note": "95% intervals.",
        "format": "percent",
        "groups": [str(row[group]) for row in rows],
        "series": [told for _, told in series],
        "values": [[cell(row[column]) for column, _ in series] for row in rows],
    }


def _lines(name: str, title: str, rows: Sequence[dict[str, Cell]], x: str, y: str, form: str, note: str) -> Plain:
    series: dict[str, list[Any]] = {}
    for row in rows:
        figure = cell(row[y])
        point = figure[:3] if isinstance(figure, list) else [figure, None, None]
        place = row[x]
        assert isinstance(place, int | float)
        series.setdefault(str(row["condition"]), []).append([number(place), *point])
    return {
        "kind": "lines",
        "name": name,
        "title": title,
        "note": f"{note} Bands: 95% intervals.",
        "format": form,
        "xLabel": "layer",
        "series": [{"name": one, "points": points} for one, points in series.items()],
    }


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
        "note": "A column is an item, a row an order of its options; a right answer has a white tick. A readout that "
        f"follows the content changes slot from row to row, one that follows the position does not.{some}",
        "orders": orders,
        "items": chosen,
        "panels": panels,
    }


def _share(value: Cell) -> float | None:
    found = value.value if isinstance(value, Estimate) else value
    return number(found) if isinstance(found, int | float) else None
