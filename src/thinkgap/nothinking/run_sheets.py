"""All tables of a no-thinking run, and the text that the run prints, made from the files in its folder.

The run itself and whoever prints it again later call the same functions, so that the files are known to hold all of
it. Loads no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.metrics.bootstrap import DRAWS
from thinkgap.nothinking.agreement_tables import judge_agreement_sheets
from thinkgap.nothinking.audit_tables import audit_sheets
from thinkgap.nothinking.by_fields import by_fields_sheet, values_of_responses
from thinkgap.nothinking.check_table import check_sheet
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.comprehension import COMPREHENSION_FILE, read_exchanges
from thinkgap.nothinking.comprehension_table import comprehension_sheet
from thinkgap.nothinking.encoder_tables import balanced_sensitivity_sheets, encoder_sensitivity_sheets
from thinkgap.nothinking.level_tables import level_sheets
from thinkgap.nothinking.levels import read_judgements, read_relevance
from thinkgap.nothinking.open_table import open_sheets
from thinkgap.nothinking.staircase import staircase_sheet
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.nothinking.surface_table import surface_sheet
from thinkgap.nothinking.tables import response_sheets
from thinkgap.nothinking.variants import Variants
from thinkgap.nothinking.verification_table import verification_sheet
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Sheet, sheet_markdown
from thinkgap.store.item_fields import field_values
from thinkgap.store.items import read_items
from thinkgap.store.manifest import read_manifest

if TYPE_CHECKING:
    import pandas as pd

PRINTED = (
    *("nothinking", "nothinking_outcomes", "nothinking_spaces", "nothinking_levels", "nothinking_comprehension"),
    *("surface", "verification", "open_numeric", "open_text", "staircase"),
)
"""Sheets that a run prints; all are in its folder."""


def nothinking_sheets(folder: Path, by: Sequence[str] | None = None) -> list[Sheet]:
    """Every table that the files of a run give; a part of a run that was not asked for has none.

    Args:
        folder: of the run.
        by: fields of its items to group by; None is what the run asked for.

    Raises:
        StoreError: no finished run, or files that are damaged.
        ConfigError: a field that no item has.
    """
    # `modes` of the manifest: the rows are sorted by name, tables have the modes in the order in which they were asked.
    manifest = read_manifest(folder)
    modes = manifest.get("modes", ())
    everything = read_responses(folder / RESPONSES_FILE).to_pandas()
    frame = as_given(everything)
    sheets = [*response_sheets(frame, modes), *audit_sheets(frame)]
    sheets += further_sheets(folder, frame, modes)
    sheets += variant_sheets(folder, everything, modes)
    if fields := manifest.get("config", {}).get("evaluation", {}).get("by", ()) if by is None else by:
        items = read_items(folder)
        values = values_of_responses(frame, fields) if items is None else field_values(items, fields)
        sheets.append(by_fields_sheet(_variants(folder, frame, modes), values, fields))
    if (file := folder / COMPREHENSION_FILE).exists():
        sheets.append(comprehension_sheet(read_exchanges(file), frame, modes))
    return sheets


def variant_sheets(folder: Path, frame: pd.DataFrame, modes: Sequence[str]) -> list[Sheet]:
    """Tables of items that are shown in several ways, and the staircase over answer spaces.

    Args:
        folder: of the run.
        frame: rows of its `responses.parquet`, of all presentations.
        modes: in their order.

    Raises:
        StoreError: files that are damaged, or do not belong together.
    """
    if not len(frame):
        return []
    draws = read_manifest(folder).get("config", {}).get("evaluation", {}).get("draws", DRAWS)
    variants = _variants(folder, frame, modes)
    found = [surface_sheet(variants), verification_sheet(variants), *open_sheets(variants)]
    found.append(staircase_sheet(variants, draws))
    return [sheet for sheet in found if sheet is not None]


def _variants(folder: Path, frame: pd.DataFrame, modes: Sequence[str]) -> Variants:
    return Variants.of(frame, read_relevance(folder).to_pandas(), read_judgements(folder).to_pandas(), modes)


def as_given(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of items as their sources give them; all rows where there are none of those.

    Rewrites and perturbations have tables of their own, and would count an item twice here.
    """
    own = frame.loc[frame["presentation"] == IDENTITY]
    return own if len(own) else frame


def further_sheets(folder: Path, frame: pd.DataFrame, modes: Sequence[str]) -> list[Sheet]:
    """Levels 2 and 3 of a run, and how far its encoders and its judges agree.

    Args:
        folder: of the run.
        frame: rows of its `responses.parquet`.
        modes: in their order.

    Raises:
        StoreError: files that are damaged, or do not belong together.
    """
    relevance = as_given(read_relevance(folder).to_pandas())
    judgements = as_given(read_judgements(folder).to_pandas())
    sheets = level_sheets(frame, relevance, judgements, modes)
    about = frame[[*KEY, "space", "group_id"]]
    if len(judgements["judge"].unique()) > 1:
        judged = judgements.merge(about, on=list(KEY), validate="m:1")
        sheets += judge_agreement_sheets(judged, modes)
    if (checks := check_sheet(read_manifest(folder).get("levels", {}).get("judges", {}))) is not None:
        sheets.append(checks)
    if len(relevance["encoder"].unique()) > 1:
        encoded = relevance.merge(about, on=list(KEY), validate="m:1")
        sheets += encoder_sensitivity_sheets(encoded, modes)
        sheets += balanced_sensitivity_sheets(encoded, modes)
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
    # Who asked for a grouping wants to see it.
    shown = [sheet for sheet in sheets if names is None or sheet.name in names or sheet.name.startswith("by_")]
    blocks = [*map(sheet_markdown, shown)]
    return "\n".join([*blocks, notes] if notes else blocks)
