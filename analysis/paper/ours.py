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

from analysis.paper.from_sheets import Key, Ours, of_sheets
from analysis.paper.sources import LORA, NATIVE, NOTHINKING, PROBES
from analysis.reference.blocks import KEYS
from thinkgap.errors import StoreError
from thinkgap.frames.columns import PARTS
from thinkgap.frames.folders import check_run, names_of, refuse_mixed_models
from thinkgap.metrics import Estimate
from thinkgap.nothinking.run_sheets import nothinking_sheets
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.readouts.report import report_of_run
from thinkgap.readouts.sheet import Sheet
from thinkgap.store.item_fields import field_values
from thinkgap.store.items import read_items
from thinkgap.store.records import facts_of, read_records
from thinkgap.store.records import read_run as read_table


@dataclass(frozen=True)
class Run:
    """A finished run and what its settings differ in from the study's."""

    folder: Path
    manifest: Mapping[str, Any]
    figures: tuple[Ours, ...]
    departures: tuple[str, ...] = field(default_factory=tuple)


_SETTINGS = ("B.1", "B.2")
"""Tables that are no measurements."""


def read_run(folder: Path) -> Run:
    """All figures of a run under the keys of the studies.

    Raises:
        StoreError: no finished run, or damaged files.
    """
    manifest = check_run(folder)
    if (folder / RESPONSES_FILE).exists():
        figures = [*of_sheets(_with_areas(folder), NOTHINKING, "inertia", folder, _of_responses(folder))]
        figures += _of_settings(folder, manifest)
    elif (folder / PARTS["predictions"].file).exists():
        figures = [*_of_probes(folder, manifest)]
    elif (manifest.get("config", {}).get("probe") or {}).get("kind") == "lm_head_lora":
        figures = [*_of_adapters(folder, manifest)]
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
    yield from of_sheets(report.sheets, NATIVE, "prefix", folder, fixed)


def _of_probes(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ours]:
    # Probes import torch, which other runs need not wait for.
    from probes.tables import report_of_probes

    yield from of_sheets(report_of_probes(folder).sheets, PROBES, "prefix", folder, _of_manifest(manifest))


def _of_adapters(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ours]:
    """Adapters read on the condition that they were trained on; the own head's figures are a native run's."""
    from probes.lm_head_sheet import lora_sheet

    records = read_records(folder)
    trained = dict.fromkeys(one.readout.partition(":")[2] for one in records if one.readout != "native")
    sheet = lora_sheet(records, facts_of(read_table(folder)).conditions, list(trained), "")
    yield from of_sheets([sheet], LORA, "prefix", folder, _of_manifest(manifest))


def _of_manifest(manifest: Mapping[str, Any]) -> dict[str, str]:
    config = manifest.get("config", {})
    model, dataset = config.get("model", {}).get("name", ""), config.get("dataset", {}).get("name", "")
    if config.get("dataset", {}).get("images") == "only":
        dataset += "_image"
    return {"model": str(model), "dataset": str(dataset)}


def _of_settings(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ours]:
    """Sizes of the data sets that a run asked, and how it decoded; a run over stored responses knows neither."""
    config = manifest.get("config", {})
    settings = config.get("datasets") or {config.get("dataset", {}).get("name"): config.get("dataset", {})}
    for name, told in manifest.get("datasets", {}).items() if isinstance(manifest.get("datasets"), Mapping) else ():
        keys = {"dataset": name, "split": str(settings.get(name, {}).get("split") or "")}
        yield _exactly("B.1", keys, "items", told["items"], folder)
    asked = config.get("evaluation", {}).get("generation", {})
    if manifest.get("decoding") and config.get("responses") is None:
        keys = {"model": str(config.get("model", {}).get("name", ""))}
        yield _exactly("B.2", keys, "max_tokens", asked.get("max_new_tokens", 0), folder)
        # Local models and vLLM take the most probable token; a server is asked for the same, if its profile sends it.
        yield _exactly("B.2", keys, "temperature", 0.0, folder)


def _exactly(table: str, keys: Mapping[str, str], measure: str, value: float, folder: Path) -> Ours:
    return Ours(table, "inertia", keys, measure, Estimate(float(value), math.nan, math.nan, 0), str(folder))


def _of_responses(folder: Path) -> dict[str, str]:
    """The model of a no-thinking run, for tables over all its models; "" where it has several."""
    models = set(read_responses(folder / RESPONSES_FILE).column("model").to_pylist())
    return {"model": str(models.pop())} if len(models) == 1 else {}


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Several runs, of which no two give the same figure.

    Raises:
        StoreError: no run, no finished one, two that give one figure, or two models of one name.
    """
    runs = [read_run(folder) for folder in folders]
    refuse_mixed_models(dict(zip(names_of(folders), (dict(run.manifest) for run in runs), strict=True)))
    seen: dict[tuple[str, str, str, Key], str] = {}
    # Runs of one model or one data set have settings in common; notes name what they differ in.
    for one in (one for run in runs for one in run.figures if one.table not in _SETTINGS):
        key = (one.study, one.table, one.measure, tuple(sorted(one.keys.items())))
        other = seen.setdefault(key, one.run)
        if other != one.run:
            said = ", ".join(f"{name} {value}" for name, value in key[3])
            raise StoreError(f"{other} and {one.run} both have {one.measure} of {said}: give one of them")
    unknown = {name for run in runs for one in run.figures for name in one.keys} - {*KEYS, "channels"}
    assert not unknown, unknown
    return runs
