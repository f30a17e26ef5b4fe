"""The native readout of a data set under Direct and its triggers: items in, records, table, manifest and W&B out.

Orchestration only: what is read is `scoring`'s and `readouts`' matter, what it means `metrics`'.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.backends.hf import HFBackend
from thinkgap.data import LoadedDataset
from thinkgap.errors import DataError, PromptError
from thinkgap.evaluation.describe import run_fingerprint, run_title
from thinkgap.evaluation.further import read_further, report_settings
from thinkgap.evaluation.predict import run_predict
from thinkgap.evaluation.prepare import Prepared, prepare
from thinkgap.evaluation.reuse import Reuse, open_cells
from thinkgap.readouts.frames import NATIVE
from thinkgap.readouts.report import Report, report_markdown, report_of_run
from thinkgap.readouts.sheet import sheet_dicts
from thinkgap.readouts.table import Table
from thinkgap.readouts.table_text import to_csv, to_dicts
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.predict import PromptDataset
from thinkgap.scoring.verify import Sample, verify
from thinkgap.store.atomic import write_text
from thinkgap.store.manifest import MANIFEST_FILE, collect_manifest, read_manifest, write_manifest
from thinkgap.store.records import RecordFacts, read_run
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """What a finished run hands to tests and notebooks."""

    folder: Path
    report: Report
    manifest: dict[str, Any]

    @property
    def table(self) -> Table:
        """The native readout by condition."""
        return self.report.table


def run_native(
    cfg: EvaluateConfig, folder: Path, group: str | None = None, backend: HFBackend | None = None
) -> Finished:
    """Measure every condition on the same items; print the table and leave it in `folder`.

    Args:
        cfg: the settings.
        folder: the run's folder.
        group: W&B group.
        backend: the model of `cfg`, for a caller that has loaded it.

    Raises:
        ThinkgapError: bad settings, data, model, labels or folder.
    """
    setup_logging()
    tags = [
        cfg.model.name,
        cfg.dataset.name,
        cfg.evaluation.kind.name,
        cfg.trigger.placement.name,
        *cfg.trigger.conditions,
    ]
    with wandb_run(
        cfg.logger,
        config=plain(asdict(cfg)),
        name=f"{cfg.model.name}-{cfg.dataset.name}-{folder.name}",
        group=group,
        job_type="evaluate",
        tags=tags,
        folder=folder,
    ) as tracker:
        finished = _measure(cfg, folder, backend)
        _mirror(tracker, finished)
    return finished


def _measure(cfg: EvaluateConfig, folder: Path, backend: HFBackend | None) -> Finished:
    prepared = prepare(cfg, backend)
    run = RunFolder(folder)
    with run.held():
        fingerprint = run_fingerprint(
            cfg,
            prepared.backend.describe(),
            prepared.presentations,
            prepared.builder.conditions,
            prepared.described,
            prepared.engine,
        )
        if run.open(fingerprint):
            log.info("resuming the run in %s", folder)
        manifest = _score(cfg, prepared, run)
    return _report(folder, manifest)


def _score(cfg: EvaluateConfig, prepared: Prepared, run: RunFolder) -> dict[str, Any]:
    """Score what is left, merge, and write the manifest, which is returned."""
    engine, total = prepared.engine, len(prepared.items)
    stored = _stored_manifest(run.path)
    session = {"started": datetime.now(UTC), "finished": None, "prompts": 0, "seconds": 0.0}
    finished_items = run.finished_items(prepared.names, NATIVE)
    dataset = PromptDataset(prepared.items, prepared.builder, engine, finished_items)
    sample = Sample(cfg.evaluation.verify, cfg.seed)
    before = time.monotonic()
    reuse = Reuse(engine, open_cells(cfg, engine))
    predicted = run_predict(cfg, reuse, dataset, run, total=total, sample=sample)
    seconds = time.monotonic() - before
    excluded = predicted.excluded
    _tell_excluded(excluded, total)
    n_items = total - len(excluded)
    further = read_further(cfg, prepared, run, set(excluded))
    nothing_new = not run.has_shards and bool(stored.get("finished"))
    run.merge(
        prepared.names,
        RecordFacts(
            tuple(prepared.names),
            run_title(cfg, n_items, prepared.described[0]["natural_variant"]),
            prepared.names[0],
            dict(Counter(reason.kind for reason in excluded.values())),
            report_settings(cfg, prepared),
        ),
    )
    if nothing_new:
        if cfg.evaluation.verify:
            log.warning(
                "nothing was left to score, so evaluation.verify had nothing to check: use another hydra.run.dir"
            )
        return stored  # nothing was computed, so what stands there is still what made the records
    verified = verify(engine, sample)
    if verified is not None:
        log.info("%s", verified)
    session |= {
        "finished": datetime.now(UTC),
        "prompts": predicted.n_prompts,
        "reused_prompts": reuse.n_reused,
        "seconds": round(seconds, 3),
    }
    image_tokens = _image_tokens(run.path)
    if image_tokens:
        log.info("image tokens per prompt with images: %(min)d to %(max)d, mean %(mean).1f", image_tokens)
    manifest = collect_manifest(
        {
            "config": asdict(cfg),
            "model": prepared.backend.describe(),
            "dataset": _describe_dataset(prepared.loaded),
            "conditions": prepared.described,
            "excluded": [{"item": item, "reason": str(reason)} for item, reason in excluded.items()],
            "excluded_from": {
                readout: [{"item": item, "reason": str(reason)} for item, reason in reasons.items()]
                for readout, reasons in further.excluded.items()
            },
            "left_out_referring": list(prepared.referring),
            "unread_label_sets": prepared.unread,
            "n_items": n_items,
            "image_tokens": image_tokens,
            **reuse.describe(),
            "scoring": engine.describe() | {"verified": verified.as_dict() if verified is not None else None},
            **further.described,
            "session": session,
        },
        started=session["started"],
        finished=session["finished"],
    )
    write_manifest(run.path, manifest)
    return manifest


def _stored_manifest(folder: Path) -> dict[str, Any]:
    return read_manifest(folder) if (folder / MANIFEST_FILE).exists() else {}


def _tell_excluded(excluded: Mapping[str, PromptError], n: int) -> None:
    if len(excluded) == n:
        item, reason = next(iter(excluded.items()))
        raise DataError(f"all {n} items were excluded, the first, {item}, because {reason}")
    for item, reason in list(excluded.items())[:5]:
        log.warning("item %s is excluded: %s", item, reason)
    if len(excluded) > 5:
        log.warning("and %d more items; all are in the manifest", len(excluded) - 5)


def _describe_dataset(loaded: LoadedDataset) -> dict[str, Any]:
    return {
        "source": dict(loaded.source),
        "n_rows": loaded.n_rows,
        "n_filtered": dict(loaded.n_filtered),
        "bad_rows": [{"id": bad.id, "reason": bad.reason} for bad in loaded.bad],
        "notes": list(loaded.notes),
    }


def _image_tokens(folder: Path) -> dict[str, float] | None:
    """Image tokens per prompt over the prompts that have any; None for a run without images."""
    counts = [count for count in read_run(folder).column("n_image_tokens").to_pylist() if count]
    return {"min": min(counts), "mean": sum(counts) / len(counts), "max": max(counts)} if counts else None


def _report(folder: Path, manifest: dict[str, Any]) -> Finished:
    """Print the tables from what is on disk, so that the records are known to reproduce them."""
    report = report_of_run(folder)
    text = report_markdown(report)
    write_text(folder / "table.md", text)
    write_text(folder / "table.csv", to_csv(to_dicts(report.table)))
    sheets = folder / "sheets"
    sheets.mkdir(exist_ok=True)
    for sheet in report.sheets:
        write_text(sheets / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    print(text)
    print(f"records, manifest and tables: {folder}")
    return Finished(folder, report, manifest)


def _mirror(tracker: WandbTracker, finished: Finished) -> None:
    report = finished.report
    rows: Sequence[dict[str, Any]] = to_dicts(report.table)
    tracker.table("conditions", rows)
    for sheet in report.sheets:
        tracker.table(sheet.name, sheet_dicts(sheet))
    for chart in report.charts:
        tracker.chart(chart.name, chart.title, chart.kind, (chart.x, chart.y, chart.series), chart.rows)
    overall = [row for row in rows if row.get("k") is None]
    figures = {f"{row['condition']}/{name}": value for row in overall for name, value in row.items()}
    for one in report.verdicts:
        condition = one.evidence.condition
        figures[f"{condition}/match"] = one.match
        for readout, share in (("generated", one.evidence.generated), ("aligned", one.evidence.aligned)):
            if share is not None:
                figures[f"{condition}/{readout}"] = share.value
    tracker.summary({name: value for name, value in figures.items() if isinstance(value, int | float)})
