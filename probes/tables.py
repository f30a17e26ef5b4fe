"""All tables, charts and sentences of linear probes, from the predictions and fits on disk alone.

The same function serves the run itself and whoever makes a finished run's tables again. Knows no model and no solver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from probes.controls.curves import curve_charts, curve_sheets
from probes.controls.sheet import ConditionControls, control_sheet, lower_bounds, selectivities
from probes.controls.stored import CONTROLS_FOLDER, read_controls
from probes.directions import cosine_sheets, fixed_sheets
from probes.fits_file import Fits, read_fits
from probes.headline import (
    headline_chart,
    headline_figures,
    headline_sheet,
    k_sheets,
    order_sheets,
    slot_charts,
    slot_sheet,
)
from probes.heat_map import TRANSFER_FILE, transfer_picture
from probes.predictions import Predictions, read_predictions
from probes.profile import profile_charts, profile_sheets
from probes.sentence import probe_sentence
from probes.transfer import Transfer, transfer, transfer_sheets
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Chart, Sheet, sheet_dicts, sheet_markdown
from thinkgap.readouts.table_text import to_csv
from thinkgap.store.atomic import write_bytes, write_text

REPORT_FILE = "linear_probes.md"
PRINTED = ("linear_probes", "linear_probes_orders", "probe_layers", "probe_transfer", "probe_controls")
"""Sheets that a run prints; all are in its folder."""
_BOUND = (
    "Selectivity: minus the control task on its own fitted rows, so a lower bound, which says nothing where it is not "
    "above 0; probe.permutations=2 and more measure it."
)


@dataclass(frozen=True)
class ProbeReport:
    """What a run of linear probes shows."""

    sheets: tuple[Sheet, ...]
    """The headline first."""
    charts: tuple[Chart, ...]
    transfer: Transfer
    sentence: str
    """Empty if no probe was tested on items in the source's order."""


def probe_report(
    found: Predictions,
    fits: Fits,
    selectivity: Mapping[str, Estimate] | None = None,
    controls: Sequence[ConditionControls] = (),
) -> ProbeReport:
    """Everything that predictions and fits say.

    Args:
        found: predictions of the run.
        fits: what was fitted and chosen.
        selectivity: condition -> accuracy minus that on the control task, if there was one.
        controls: of each condition's probe.
    """
    own = headline_figures(found, fits)
    known, bounds = selectivity or {}, lower_bounds(controls)
    slots = slot_sheet(found, fits)
    sheets = (
        headline_sheet(found, fits, known, (*fits.notes, *([_BOUND] if bounds else []))),
        *order_sheets(found, fits),
        *k_sheets(found, fits),
        slots,
        *profile_sheets(found, fits),
        *transfer_sheets(found, fits),
        *cosine_sheets(fits),
        *fixed_sheets(found, fits),
        *control_sheet(controls),
        *curve_sheets(controls),
    )
    charts = (headline_chart(own), *slot_charts(slots), *profile_charts(found, fits), *curve_charts(controls))
    # A lower bound that is not above 0 says nothing, and must not speak against a probe.
    said_of = {name: one for name, one in known.items() if name not in bounds or one.low > 0}
    said = probe_sentence(own, fits.study_state, fits.reference, said_of)
    return ProbeReport(sheets, charts, transfer(found, fits), said)


def report_of_probes(folder: Path) -> ProbeReport:
    """`probe_report` of a finished run, with the controls that it kept.

    Raises:
        StoreError: the folder holds no finished run of linear probes, or a damaged file.
    """
    fits = read_fits(folder)
    controls = read_controls(folder / CONTROLS_FOLDER, fits.trained)
    return probe_report(read_predictions(folder), fits, selectivities(controls), controls)


def report_markdown(report: ProbeReport, shown: Collection[str] | None = None) -> str:
    """The report as text; the sentence comes first after the headline table.

    Args:
        report: of a run.
        shown: names of the sheets to show; None is all.
    """
    headline, *others = [sheet for sheet in report.sheets if shown is None or sheet.name in shown]
    said = [f"{report.sentence}\n"] if report.sentence else []
    return "\n".join([sheet_markdown(headline), *said, *map(sheet_markdown, others)])


def write_report(folder: Path, report: ProbeReport) -> Path | None:
    """Write the report as text, every sheet as CSV, and the transfer matrix as a picture.

    Returns:
        The picture; None where no pair was tested.

    Raises:
        StoreError: the folder cannot be written.
    """
    write_text(folder / REPORT_FILE, report_markdown(report))
    for sheet in report.sheets:
        write_text(folder / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    picture = transfer_picture(report.transfer, "Transfer of linear probes: accuracy in percent")
    if picture is None:
        return None
    write_bytes(folder / TRANSFER_FILE, picture)
    return folder / TRANSFER_FILE
