"""The native readout of a data set under Direct and its triggers: items in, records, table, manifest and W&B out.

Orchestration only: what is read is `scoring`'s and `readouts`' matter, what it means `metrics`'.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.backends.hf import HFBackend
from thinkgap.data import LoadedDataset
from thinkgap.errors import DataError, PromptError
from thinkgap.evaluation.describe import run_fingerprint, run_title
from thinkgap.evaluation.finished import Finished, mirror, write_report
from thinkgap.evaluation.further import Further, read_further, report_settings
from thinkgap.evaluation.predict import run_predict
from thinkgap.evaluation.prepare import Prepared, prepare
from thinkgap.evaluation.reuse import Reuse, open_cells
from thinkgap.evaluation.several import check_same, require_all, silent, together, verify_together
from thinkgap.parallel import ALONE, World
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.predict import PromptDataset
from thinkgap.scoring.verify import Sample
from thinkgap.store.items import write_items
from thinkgap.store.manifest import MANIFEST_FILE, collect_manifest, read_manifest, write_manifest
from thinkgap.store.records import RecordFacts, read_run
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.wandb_run import wandb_run

log = logging.getLogger(__name__)


def run_native(
    cfg: EvaluateConfig,
    folder: Path,
    group: str | None = None,
    backend: HFBackend | None = None,
    world: World = ALONE,
) -> Finished:
    """Measure every condition on the same items; print the table and leave it in `folder`.

    Each process scores its share of the items; the first alone merges, prints, and logs to W&B.

    Args:
        cfg: the settings.
        folder: the run's folder.
        group: W&B group.
        backend: the model of `cfg`, for a caller that has loaded it.
        world: the processes of the run, each of which calls this.

    Raises:
        ThinkgapError: bad settings, data, model, labels or folder.
        ProcessError: another process has ended.
    """
    setup_logging(rank=world.rank)
    if not world.is_first:
        cfg = silent(cfg)
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
        manifest = _measure(cfg, folder, backend, world)
        finished = Finished(folder, manifest)
        if world.is_first:
            write_report(finished)
            mirror(tracker, finished)
    world.barrier()
    return finished


def _measure(cfg: EvaluateConfig, folder: Path, backend: HFBackend | None, world: World) -> dict[str, Any]:
    prepared = prepare(cfg, backend, world)
    run = RunFolder(folder)
    with run.held() if world.is_first else contextlib.nullcontext():
        done = _open(cfg, prepared, run, world)
        return _score(cfg, prepared, run, done, world)


def _open(cfg: EvaluateConfig, prepared: Prepared, run: RunFolder, world: World) -> set[tuple[str, str]]:
    """Open the folder in every process; the same answer in each: which presentations of items are done.

    Raises:
        StoreError: the folder holds another run, or is in use.
        ConfigError: this process would score otherwise than the first.
    """
    fingerprint = run_fingerprint(
        cfg,
        prepared.backend.describe(),
        prepared.presentations,
        prepared.builder.conditions,
        prepared.described,
        prepared.engine,
    )
    done: list[tuple[str, str]] = []
    if world.is_first:
        if run.open(fingerprint):
            log.info("resuming the run in %s", run.path)
        done = sorted(run.finished_items(prepared.names, NATIVE))
    # Told and not looked up by each: a folder on a network may look different from another machine.
    opened = world.from_first({"fingerprint": fingerprint, "next_shard": run.next_shard, "done": done})
    check_same(opened["fingerprint"], fingerprint, world)
    run.join(opened["next_shard"])
    return {(item, presentation) for item, presentation in opened["done"]}


def _score(
    cfg: EvaluateConfig, prepared: Prepared, run: RunFolder, done: set[tuple[str, str]], world: World
) -> dict[str, Any]:
    """Score what is left, merge, and write the manifest, which is returned."""
    engine, total = prepared.engine, len(prepared.items)
    stored = _stored_manifest(run.path)
    started = datetime.now(UTC)
    dataset = PromptDataset(prepared.items, prepared.builder, engine, done, world)
    sample = Sample(len(world.share(range(cfg.evaluation.verify))), cfg.seed)
    reuse = Reuse(engine, open_cells(cfg, engine))
    world.barrier()  # each has seen the cells of earlier runs, and none of this one
    predicted = together(world, run_predict(cfg, reuse, dataset, run, total=total, sample=sample, world=world))
    excluded = predicted.excluded
    _tell_excluded(excluded, total, world)
    n_items = total - len(excluded)
    further, nothing_new = Further(), False
    if world.is_first:
        further = read_further(cfg, prepared, run, set(excluded))
        nothing_new = not run.has_shards and bool(stored.get("finished"))
        require_all(run, prepared, excluded, world)
        # Also beside records that were complete before, which may be of a time without this file.
        write_items(run.path, {cfg.dataset.name: prepared.loaded.items})
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
    verified = verify_together(engine, sample, world)
    if not world.is_first:
        return world.from_first({})
    if nothing_new:
        if cfg.evaluation.verify:
            log.warning(
                "nothing was left to score, so evaluation.verify had nothing to check: use another hydra.run.dir"
            )
        return world.from_first(stored)  # nothing was computed: what stands there is still what made the records
    if verified is not None:
        log.info("%s", verified)
    finished = datetime.now(UTC)
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
            "session": {
                "started": started,
                "finished": finished,
                "processes": world.size,
                "prompts": predicted.n_prompts,
                "reused_prompts": predicted.n_reused,
                "seconds": round(predicted.seconds, 3),
            },
        },
        started=started,
        finished=finished,
    )
    write_manifest(run.path, manifest)
    return world.from_first(manifest)


def _stored_manifest(folder: Path) -> dict[str, Any]:
    return read_manifest(folder) if (folder / MANIFEST_FILE).exists() else {}


def _tell_excluded(excluded: Mapping[str, PromptError], n: int, world: World) -> None:
    if len(excluded) == n:
        item, reason = next(iter(excluded.items()))
        raise DataError(f"all {n} items were excluded, the first, {item}, because {reason}")
    if not world.is_first:
        return
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
