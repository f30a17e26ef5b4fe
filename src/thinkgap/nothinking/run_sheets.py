"""All tables of a no-thinking run, and the text that the run prints, made from the files in its folder.

The run itself and whoever prints it again later call the same functions, so that the files are known to hold all of
it. Loads no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thinkgap.nothinking.audit_tables import audit_sheets
from thinkgap.nothinking.comprehension import COMPREHENSION_FILE, read_exchanges
from thinkgap.nothinking.comprehension_table import comprehension_sheet
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.nothinking.tables import response_sheets
from thinkgap.readouts.sheet import Sheet, sheet_markdown
from thinkgap.store.manifest import read_manifest

PRINTED = ("nothinking", "nothinking_outcomes", "nothinking_spaces", "nothinking_comprehension")
"""Sheets that a run prints; all are in its folder."""


def nothinking_sheets(folder: Path) -> list[Sheet]:
    """Every table that the files of a run give; a part of a run that was not asked for has none.

    Raises:
        StoreError: no finished run, or files that are damaged.
    """
    # `modes` of the manifest: the rows are sorted by name, tables have the modes in the order in which they were asked.
    modes = read_manifest(folder).get("modes", ())
    frame = read_responses(folder / RESPONSES_FILE).to_pandas()
    sheets = [*response_sheets(frame, modes), *audit_sheets(frame)]
    if (file := folder / COMPREHENSION_FILE).exists():
        sheets.append(comprehension_sheet(read_exchanges(file), frame, modes))
    return sheets


def nothinking_text(folder: Path, sheets: Sequence[Sheet], names: Sequence[str] | None = PRINTED) -> str:
    """Tables as Markdown, and below them the run's notes.

    Args:
        folder: of the run.
        sheets: as `nothinking_sheets` gives them.
        names: those that are shown; None shows all.

    Raises:
        StoreError: a folder without a manifest.
    """
    notes = "".join(f"- {note}\n" for note in read_manifest(folder).get("notes", ()))
    shown = [sheet_markdown(sheet) for sheet in sheets if names is None or sheet.name in names]
    return "\n".join([*shown, notes] if notes else shown)
