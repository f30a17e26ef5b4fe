"""All tables, charts and verdicts of a finished run, from its records and side tables alone.

The same function serves the run itself and `python -m analysis.table`, so both print the same text. Which tables there
are follows from what was measured and from the run's `evaluation.kind`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.presentation_names import FACTORIAL, IDENTITY, LABELS
from thinkgap.readouts.answers import aligned_sheets, generation_sheets
from thinkgap.readouts.by_fields import by_fields_sheet
from thinkgap.readouts.controls import control_sheet
from thinkgap.readouts.frames import NATIVE, frame_of
from thinkgap.readouts.layers import layer_charts, layer_sheets
from thinkgap.readouts.letter_charts import letter_charts
from thinkgap.readouts.letters import letter_sheets
from thinkgap.readouts.likelihood import likelihood_sheets
from thinkgap.readouts.overview import overview_charts, overview_sheets
from thinkgap.readouts.permutation import permutation_charts, permutation_sheets
from thinkgap.readouts.proposals import proposal_sheets
from thinkgap.readouts.sheet import Chart, Sheet, sheet_markdown
from thinkgap.readouts.shift import shift_charts, shift_sheets
from thinkgap.readouts.surface import surface_sheets
from thinkgap.readouts.table import REFERENCE, Table, make_table, tables_of_run
from thinkgap.readouts.table_text import to_markdown
from thinkgap.readouts.verdict import Thresholds, Verdict, verdict_sheet, verdicts
from thinkgap.readouts.vocabulary import vocabulary_charts, vocabulary_sheets
from thinkgap.store.items import ITEMS_FILE, read_items
from thinkgap.store.likelihoods import LIKELIHOODS_FILE, read_likelihoods
from thinkgap.store.records import RecordFacts, facts_of, read_run
from thinkgap.store.side import read_side

WHOLE = "prefix_study"
"""The `evaluation.kind` that asks for every table."""


@dataclass(frozen=True)
class Report:
    """What a run shows."""

    table: Table
    """The native readout by condition."""
    sheets: tuple[Sheet, ...]
    charts: tuple[Chart, ...]
    verdicts: tuple[Verdict, ...]


def report_of_run(run_dir: Path | str, by: Sequence[str] | None = None) -> Report:
    """Everything that can be said of a finished run of `evaluate.py`.

    Args:
        run_dir: the folder of the run.
        by: fields of its items to group by; None is what the run asked for.

    Raises:
        StoreError: the folder holds no finished run, or a damaged file.
        ConfigError: a field that no item has.
    """
    folder = Path(run_dir)
    stored = read_run(folder)
    facts = facts_of(stored)
    settings: Mapping[str, Any] = facts.settings
    kind = settings.get("kind", NATIVE)
    native = stored.filter(_equal(stored, "readout", NATIVE))
    if kind != NATIVE:
        # Readouts are compared on the items as the source shows them; orders have tables of their own.
        native = native.filter(_equal(native, "presentation", IDENTITY))
    reference = facts.reference or REFERENCE
    table = make_table(native, facts.conditions, reference=reference, title=facts.title, excluded=facts.excluded)
    frame = frame_of(stored)
    conditions = [row.condition for row in table.rows]
    requests = settings.get("requests", {})
    sheets, charts = _sheets(folder, frame, conditions, reference, kind, facts)
    if fields := settings.get("by", ()) if by is None else by:
        items = read_items(folder)
        if items is None:
            raise StoreError(f"{folder} has no {ITEMS_FILE}, so nothing is known to group by; start the run again")
        sheets.append(by_fields_sheet(native, items, fields, conditions, reference))
    thresholds = Thresholds(**settings.get("thresholds", {}))
    found = verdicts(frame, conditions, requests, thresholds)
    return Report(table, (*sheets, verdict_sheet(found)), tuple(charts), tuple(found))


def report_markdown(report: Report) -> str:
    """The whole report as text; the verdicts come last."""
    blocks = [to_markdown(report.table), *map(sheet_markdown, report.sheets)]
    blocks.append("\n".join(f"- {verdict}" for verdict in report.verdicts) + "\n")
    return "\n".join(blocks)


def report_text(run_dir: Path | str, by: Sequence[str] | None = None) -> str:
    """What `python -m analysis.table` prints of a run: its report, or its plain tables if it has no native readout.

    Raises:
        StoreError: the folder holds no finished run, or a damaged file.
    """
    readouts = read_run(run_dir).column("readout").unique().to_pylist()
    if NATIVE in readouts:
        return report_markdown(report_of_run(run_dir, by))
    if by:
        raise StoreError(f"{run_dir} has no native readout to group: it has {', '.join(sorted(set(readouts)))}")
    return "\n".join(map(to_markdown, tables_of_run(run_dir)))


def _sheets(
    folder: Path, frame: Any, conditions: list[str], reference: str, kind: str, facts: RecordFacts
) -> tuple[list[Sheet], list[Chart]]:
    settings = facts.settings
    draws, seed = settings.get("draws", 10_000), settings.get("seed", 0)
    native = frame[frame["readout"] == NATIVE]
    sheets = overview_sheets(frame, conditions, settings.get("requests", {}))
    charts = overview_charts(frame, conditions) if sheets else []
    if kind in ("permutation", WHOLE):
        sheets += permutation_sheets(
            native,
            conditions,
            reference=reference,
            draws=draws,
            seed=seed,
            prior_share=settings.get("prior_share", 0.1),
            referring=settings.get("referring", ()),
        )
        sheets += shift_sheets(native, conditions, reference=reference)
        charts += permutation_charts(native, conditions) + shift_charts(native, conditions)
    if kind in ("permutation", WHOLE) or any(map(_other_letters, native["presentation"].unique())):
        letters = letter_sheets(native, conditions, draws=draws, seed=seed, unread=settings.get("unread", {}))
        sheets += letters
        charts += letter_charts(letters)
    if kind in ("vocabulary", WHOLE):
        ids, strict = settings.get("reasoning_ids", ()), settings.get("strict_ids", ())
        sheets += vocabulary_sheets(native, conditions, reference=reference, reasoning_ids=ids, strict_ids=strict)
        charts += vocabulary_charts(native, conditions)
    sheets += layer_sheets(native, conditions)
    charts += layer_charts(native, conditions)
    if (folder / LIKELIHOODS_FILE).exists():
        sheets += likelihood_sheets(frame, read_likelihoods(folder), conditions, reference=reference)
    replies = read_side(folder, "replies")
    if replies is not None:
        sheets += generation_sheets(frame, replies, conditions, reference=reference)
        sheets += aligned_sheets(frame, conditions, reference=reference, cue=settings.get("cue", ""))
    sheets += control_sheet(native, conditions)
    sheets += surface_sheets(native, conditions) + proposal_sheets(native, conditions, reference=reference)
    return sheets, charts


def _equal(table: pa.Table, column: str, value: str) -> pa.Array:
    return pa.array(table.column(column).to_numpy() == value)


def _other_letters(presentation: str) -> bool:
    return presentation.startswith((LABELS, FACTORIAL))
