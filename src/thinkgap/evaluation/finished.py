"""What a finished run leaves behind: tables in its folder and on the screen, figures in W&B.

All of it is made from what is on disk, so that the records are known to reproduce it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thinkgap.readouts.report import Report, report_markdown, report_of_run
from thinkgap.readouts.sheet import sheet_dicts
from thinkgap.readouts.table import Table
from thinkgap.readouts.table_text import to_csv, to_dicts
from thinkgap.store.atomic import write_text
from thinkgap.tracking.figures import curves_of, native_figures
from thinkgap.tracking.wandb_run import WandbTracker


@dataclass(frozen=True)
class Finished:
    """What a finished run hands to tests and notebooks, in each of its processes."""

    folder: Path
    manifest: dict[str, Any]

    @cached_property
    def report(self) -> Report:
        """Table, sheets, charts and verdicts, made from the records when first asked for."""
        return report_of_run(self.folder)

    @property
    def table(self) -> Table:
        """The native readout by condition."""
        return self.report.table


def write_report(finished: Finished) -> None:
    """Print the tables and write them beside the records."""
    folder, report = finished.folder, finished.report
    text = report_markdown(report)
    write_text(folder / "table.md", text)
    write_text(folder / "table.csv", to_csv(to_dicts(report.table)))
    sheets = folder / "sheets"
    sheets.mkdir(exist_ok=True)
    for sheet in report.sheets:
        write_text(sheets / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    print(text)
    print(f"records, manifest and tables: {folder}")


def mirror(tracker: WandbTracker, finished: Finished) -> None:
    """Show the report in W&B."""
    report = finished.report
    tracker.table("conditions", to_dicts(report.table))
    for sheet in report.sheets:
        tracker.table(sheet.name, sheet_dicts(sheet))
    for chart in report.charts:
        tracker.chart(chart.name, chart.title, chart.kind, (chart.x, chart.y, chart.series), chart.rows)
    for curve in curves_of(report.charts):
        tracker.curve(curve)
    tracker.summary(native_figures(report))
