"""The figures of a finished run under the names that W&B shows them by: single figures, and curves over layers.

Dashboards are built from the same names, so they stand here once. Computes nothing: figures are those of the sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinkgap.readouts.report import Report
from thinkgap.readouts.sheet import Chart, Sheet, sheet_dicts
from thinkgap.readouts.table_text import to_dicts

POOLED = "pooled"
"""The average of `nothinking_levels` that goes into the summary: responses of all data sets alike."""
PERMUTATION = {
    "permutation": ("accuracy_orders", "first_slot_orders"),
    "permutation_consistency": ("pairwise_agreement", "all_agree", "all_correct"),
}
"""Sheet -> its figures over orders that go into the summary."""
LEVELS = ("accuracy", "etr_", "qrel_", "explicit_")
"""How the figures of the no-thinking levels that go into the summary begin."""
_BOUNDS = ("_low", "_high", "_n")


@dataclass(frozen=True)
class Curve:
    """Lines over one axis, such as accuracy over layers for each condition."""

    name: str
    """Of the chart that it comes from."""
    x: str
    """Name of the axis."""
    points: Mapping[float, Mapping[str, float]]
    """x -> series -> y."""

    @property
    def axis(self) -> str:
        """Key of the axis."""
        return f"curves/{self.name}/{self.x}"

    def key(self, series: str) -> str:
        """Key of one line."""
        return f"curves/{self.name}/{series}"

    @property
    def series(self) -> list[str]:
        """Names of the lines, in order of appearance."""
        return list(dict.fromkeys(name for values in self.points.values() for name in values))


def native_figures(report: Report) -> dict[str, float]:
    """`CONDITION/FIGURE` of a run of label readouts: table, verdict, other readouts, and orders of the options."""
    overall = [row for row in to_dicts(report.table) if row.get("k") is None]
    figures: dict[str, Any] = {f"{row['condition']}/{name}": value for row in overall for name, value in row.items()}
    for one in report.verdicts:
        condition = one.evidence.condition
        figures[f"{condition}/match"] = one.match
        for readout, share in (("generated", one.evidence.generated), ("aligned", one.evidence.aligned)):
            if share is not None:
                figures[f"{condition}/{readout}"] = share.value
    for sheet in report.sheets:
        for row in sheet_dicts(sheet) if sheet.name in PERMUTATION else ():
            for name in PERMUTATION[sheet.name]:
                figures[f"{row['condition']}/permutation/{name}"] = row.get(name)
    return _numbers(figures)


def response_figures(sheets: Iterable[Sheet]) -> dict[str, float]:
    """`MODE/SPACE/FIGURE` of a no-thinking run, over the responses of all its data sets: accuracy, ETR, QRel, EIR."""
    figures: dict[str, Any] = {}
    for sheet in sheets:
        for row in sheet_dicts(sheet) if sheet.name == "nothinking_levels" else ():
            if row["average"] == POOLED:
                own = {name: value for name, value in row.items() if name.startswith(LEVELS)}
                figures |= {f"{row['mode']}/{row['space']}/{name}": value for name, value in own.items()}
    return {name: value for name, value in _numbers(figures).items() if not name.endswith(_BOUNDS)}


def curves_of(charts: Sequence[Chart]) -> list[Curve]:
    """The line charts among `charts`, as curves."""
    found = []
    for chart in charts:
        if chart.kind == "line":
            points: dict[float, dict[str, float]] = {}
            for x, y, series in chart.rows:
                points.setdefault(float(x), {})[series] = y
            found.append(Curve(chart.name, chart.x, dict(sorted(points.items()))))
    return found


def _numbers(figures: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if isinstance(value, int | float) and value == value}
