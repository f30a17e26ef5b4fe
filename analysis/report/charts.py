"""Plots as data: figures with their intervals, which the page draws; here of probes and of no-thinking runs.

Forms: `lines` (over layers), `dots` (a figure by group and series), `bars` (shares of slots), `shift` (before and after
by slot), `strips` (slot of each item in each order), `heat` (a matrix of shares). Computes no figure of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.report.shapes import Plain, cell, named, number
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Cell, Sheet


def probe_charts(sheets: Sequence[Sheet]) -> list[Plain]:
    """Plots of a run of linear probes."""
    charts = []
    if rows := named(sheets, "linear_probes"):
        series = (("native", "native readout"), ("probe", "linear probe"))
        charts.append(dots("probes", "Right answers: native readout and linear probe", rows, "condition", series))
    if rows := named(sheets, "probe_layers"):
        states = list(dict.fromkeys(str(row["state"]) for row in rows))
        placed: list[dict[str, Cell]] = [{**row, "place": states.index(str(row["state"]))} for row in rows]
        note = "The probe of each state and condition on the test rows. A description: the highest point is no result."
        one = lines("layers_probe", "Accuracy of linear probes by layer", placed, "place", "test", "percent", note)
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


def dots(
    name: str, title: str, rows: Sequence[dict[str, Cell]], group: str, series: Sequence[tuple[str, str]]
) -> Plain:
    """Shares with their intervals: a band for each row, a mark for each of `series` (column, its name)."""
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


def lines(name: str, title: str, rows: Sequence[dict[str, Cell]], x: str, y: str, form: str, note: str) -> Plain:
    """A curve of column `y` over column `x` for each condition, with its band."""
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


def _share(value: Cell) -> float | None:
    found = value.value if isinstance(value, Estimate) else value
    return number(found) if isinstance(found, int | float) else None
