"""Our figures of finished runs under the keys of the published ones, so that the two can stand side by side.

Takes them from the tables that runs print themselves. A run gives a table of a study if it has what the table is made
of; which cells are then there follows from the runs, whatever their models are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.paper.sources import NATIVE, NOTHINKING, SPACE, VARIANTS, Source
from analysis.reference.blocks import KEYS
from thinkgap.errors import StoreError
from thinkgap.frames.columns import PARTS
from thinkgap.frames.folders import check_run, names_of, refuse_mixed_models
from thinkgap.metrics import Estimate
from thinkgap.nothinking.run_sheets import nothinking_sheets
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.nothinking.tables import EQUAL, POOLED
from thinkgap.readouts.report import report_of_run
from thinkgap.readouts.sheet import Cell, Sheet
from thinkgap.store.item_fields import field_values
from thinkgap.store.items import read_items

Key = tuple[tuple[str, str], ...]
"""Values of some of `KEYS`, sorted."""


@dataclass(frozen=True)
class Ours:
    """One of our figures."""

    table: str
    """Catalogue id of the table that it belongs to."""
    study: str
    keys: Mapping[str, str]
    measure: str
    estimate: Estimate
    """Shares are in [0, 1]."""
    run: str
    """Folder of the run."""


@dataclass(frozen=True)
class Run:
    """A finished run and what its settings differ in from the study's."""

    folder: Path
    manifest: Mapping[str, Any]
    figures: tuple[Ours, ...]
    departures: tuple[str, ...] = field(default_factory=tuple)


def read_run(folder: Path) -> Run:
    """All figures of a run under the keys of the studies.

    Raises:
        StoreError: no finished run, or damaged files.
    """
    manifest = check_run(folder)
    if (folder / RESPONSES_FILE).exists():
        figures = [*_of_sheets(_with_areas(folder), NOTHINKING, "inertia", folder, {})]
    elif (folder / PARTS["predictions"].file).exists():
        figures = [*_of_probes(folder, manifest)]
    else:
        figures = [*_of_native(folder, manifest)]
    return Run(folder, manifest, tuple(figures), departures(manifest))


def departures(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """What a run's settings differ in from the studies', in a few words each; models are told apart by their rows."""
    config = manifest.get("config", {})
    evaluation = config.get("evaluation", {})
    found = []
    sets = config.get("datasets") or {"": config.get("dataset", {})}
    for one in sets.values():
        if one.get("limit") is not None:
            found.append(f"a sample of {one['limit']} items of {one['name']}")
    if evaluation.get("kind") == "no_thinking":
        if (tokens := evaluation.get("generation", {}).get("max_new_tokens")) not in (None, 8192):
            found.append(f"replies of up to {tokens} new tokens, the study's of 8192")
        negative = evaluation.get("variants", {}).get("negative")
        if "verification" in evaluation.get("variants", {}).get("rewrites", ()) and negative != "first":
            found.append(f"negative proposals: {negative}, the study's: first")
    elif (placement := config.get("trigger", {}).get("placement")) not in (None, "user"):
        found.append(f"trigger placed at {placement}")
    if config.get("model", {}).get("quantization"):
        found.append("quantised weights")
    return tuple(found)


def _with_areas(folder: Path) -> Sequence[Sheet]:
    sheets = {sheet.name: sheet for sheet in nothinking_sheets(folder, ())}
    items = read_items(folder)
    if items is not None and any(dict(meta).get("area") for meta in items.column("meta").to_pylist()):
        for by in (("area",), ("area", "subject")):
            field_values(items, by)
            sheets |= {sheet.name: sheet for sheet in nothinking_sheets(folder, by) if sheet.name.startswith("by_")}
    return list(sheets.values())


def _of_native(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ours]:
    fixed = _of_manifest(manifest)
    report = report_of_run(folder)
    for row in report.table.all_rows:
        keys = {**fixed, "condition": row.condition, "readout": "native"}
        if row.k is not None:
            keys["k"] = str(row.k)
        found = {"accuracy": row.accuracy, "first_slot": row.first_slot, "gold_first": row.gold_first}
        if row.difference is not None:
            found["difference"] = row.difference.difference
        for measure, estimate in found.items():
            for table in ("text",) if row.k is not None else ("table1", "table2", "text"):
                yield Ours(table, "prefix", keys, measure, estimate, str(folder))
    yield from _of_sheets(report.sheets, NATIVE, "prefix", folder, fixed)


def _of_probes(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ours]:
    # Probes import torch, which other runs need not wait for.
    from probes.tables import report_of_probes

    sheets = {sheet.name: sheet for sheet in report_of_probes(folder).sheets}
    sources = {
        "linear_probes": Source(
            ("table2", "text"),
            {"condition": "condition"},
            {
                "probe": ("accuracy", {"readout": "probe"}),
                "probe_first": ("first_slot", {"readout": "probe"}),
                "gap": ("gap", {"readout": "probe"}),
            },
        )
    }
    yield from _of_sheets([*sheets.values()], sources, "prefix", folder, _of_manifest(manifest))


def _of_manifest(manifest: Mapping[str, Any]) -> dict[str, str]:
    config = manifest.get("config", {})
    model, dataset = config.get("model", {}).get("name", ""), config.get("dataset", {}).get("name", "")
    if config.get("dataset", {}).get("images") == "only":
        dataset += "_image"
    return {"model": str(model), "dataset": str(dataset)}


def _of_sheets(
    sheets: Sequence[Sheet], sources: Mapping[str, Source], study: str, folder: Path, fixed: Mapping[str, str]
) -> Iterator[Ours]:
    for sheet in sheets:
        source = sources.get(sheet.name)
        if sheet.name.startswith("nothinking_judged_") and "lengths" not in sheet.name:
            judge = sheet.name.removeprefix("nothinking_judged_")
            source = Source(("D.4",), SPACE, {"paraphrase_only": ("paraphrase_only", {"judge": judge})})
        if source is not None:
            yield from _of_sheet(sheet, source, study, folder, fixed)


def _of_sheet(sheet: Sheet, source: Source, study: str, folder: Path, fixed: Mapping[str, str]) -> Iterator[Ours]:
    places = {column.name: place for place, column in enumerate(sheet.columns)}
    equally = {
        _identity(row, places, source) for row in sheet.rows if "average" in places and row[places["average"]] == EQUAL
    }
    for row in sheet.rows:
        # Where data sets can count equally they do, as in the studies' families.
        if "average" in places and row[places["average"]] != EQUAL and _identity(row, places, source) in equally:
            continue
        own = {key: str(row[places[name]]) for name, key in source.keys.items()}
        if own.get("dataset") == POOLED:
            own["dataset"] = ""
        if "variant" in own:
            own["variant"] = VARIANTS.get(own["variant"], own["variant"])
        for name, place in places.items():
            named = _measure(name, source)
            estimate = _estimate(row[place], row, places)
            if named is None or estimate is None:
                continue
            measure, more = named
            for table in source.tables:
                yield Ours(table, study, {**fixed, **own, **more}, measure, estimate, str(folder))


def _identity(row: Sequence[Cell], places: Mapping[str, int], source: Source) -> tuple[str, ...]:
    return tuple(str(row[places[name]]) for name in source.keys)


def _measure(column: str, source: Source) -> tuple[str, dict[str, str]] | None:
    if column in source.measures and not column.endswith("_"):
        measure, more = source.measures[column]
        return measure, dict(more)
    for start, (measure, more) in source.measures.items():
        if start.endswith("_") and column.startswith(start) and not column.endswith("_difference"):
            rest = column.removeprefix(start)
            return measure, {key: rest if value == "*" else value for key, value in more.items()}
    return None


def _estimate(cell: Cell, row: Sequence[Cell], places: Mapping[str, int]) -> Estimate | None:
    if isinstance(cell, Estimate):
        return cell if cell.n else None
    if isinstance(cell, bool | str) or not isinstance(cell, int | float) or math.isnan(cell):
        return None
    n = row[places["n"]] if "n" in places else 0
    return Estimate(float(cell), math.nan, math.nan, int(n) if isinstance(n, int) else 0)


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Several runs, of which no two give the same figure.

    Raises:
        StoreError: no run, no finished one, two that give one figure, or two models of one name.
    """
    runs = [read_run(folder) for folder in folders]
    refuse_mixed_models(dict(zip(names_of(folders), (dict(run.manifest) for run in runs), strict=True)))
    seen: dict[tuple[str, str, str, Key], str] = {}
    for one in (one for run in runs for one in run.figures):
        key = (one.study, one.table, one.measure, tuple(sorted(one.keys.items())))
        other = seen.setdefault(key, one.run)
        if other != one.run:
            said = ", ".join(f"{name} {value}" for name, value in key[3])
            raise StoreError(f"{other} and {one.run} both have {one.measure} of {said}: give one of them")
    unknown = {name for run in runs for one in run.figures for name in one.keys} - {*KEYS, "channels"}
    assert not unknown, unknown
    return runs
