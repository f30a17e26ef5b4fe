"""What W&B shows of a run of linear probes: its tables, charts, the transfer picture, and the headline figures.

Computes nothing; what is shown is on disk already.
"""

from __future__ import annotations

from pathlib import Path

from probes.tables import ProbeReport
from thinkgap.readouts.sheet import Sheet, sheet_dicts
from thinkgap.tracking.figures import curves_of
from thinkgap.tracking.wandb_run import WandbTracker

_FIGURES = (
    "n",
    "native",
    "probe",
    "gap",
    "native_first",
    "probe_first",
    "gamma",
    "best_state",
    "best_select",
    "best_test",
    "selectivity",
)
_ENDINGS = ("", "_low", "_high")


def mirror(tracker: WandbTracker, report: ProbeReport, picture: Path | None) -> None:
    """Log a report.

    Args:
        tracker: of the run.
        report: what to log.
        picture: file of the transfer matrix, if there is one.
    """
    for sheet in report.sheets:
        tracker.table(sheet.name, sheet_dicts(sheet))
    for chart in report.charts:
        tracker.chart(chart.name, chart.title, chart.kind, (chart.x, chart.y, chart.series), chart.rows)
    for curve in curves_of(report.charts):
        tracker.curve(curve)
    if picture is not None:
        tracker.image("probe_transfer", picture)
    tracker.summary({**headline_summary(report.sheets[0]), "in_short": report.sentence})


def headline_summary(sheet: Sheet) -> dict[str, str | int | float | None]:
    """`probe/CONDITION/FIGURE` of the headline sheet, with FIGURE_low and FIGURE_high where it has an interval."""
    return {
        f"probe/{row['condition']}/{name}{ending}": row[name + ending]
        for row in sheet_dicts(sheet)
        for name in _FIGURES
        for ending in _ENDINGS
        if name + ending in row
    }
