"""The native readout of a data set under Direct and its triggers: items in, records, table, manifest and W&B out.

Orchestration only: what is read is `scoring`'s and `readouts`' matter, what it means `metrics`'.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.data import LoadedDataset, load_dataset_items
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError, DataError
from thinkgap.evaluation.describe import describe_conditions, label_warnings, run_fingerprint, run_title
from thinkgap.evaluation.predict import run_predict
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.readouts.native import READOUT
from thinkgap.readouts.table import Table, tables_of_run
from thinkgap.readouts.table_text import to_csv, to_dicts, to_markdown
from thinkgap.schema import BackendKind, EvaluateConfig
from thinkgap.scoring.predict import PromptDataset
from thinkgap.store.atomic import write_text
from thinkgap.store.manifest import collect_manifest, write_manifest
from thinkgap.store.records import RecordFacts, read_run
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run
from thinkgap.types import Presentation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """What a finished run hands to tests and notebooks."""

    folder: Path
    table: Table
    manifest: dict[str, Any]


def run_native(cfg: EvaluateConfig, folder: Path, group: str | None = None) -> Finished:
    """Measure every condition on the same items; print the table and leave it in `folder`.

    Raises:
        ThinkgapError: bad settings, data, model, labels or folder.
    """
    setup_logging()
    tags = [cfg.model.name, cfg.dataset.name, READOUT, cfg.trigger.placement.name, *cfg.trigger.conditions]
    with wandb_run(
        cfg.logger,
        config=plain(asdict(cfg)),
        name=f"{cfg.model.name}-{cfg.dataset.name}-{folder.name}",
        group=group,
        job_type="evaluate",
        tags=tags,
        folder=folder,
    ) as tracker:
        finished = _measure(cfg, folder)
        _mirror(tracker, finished)
    return finished


def _measure(cfg: EvaluateConfig, folder: Path) -> Finished:
    started = datetime.now(UTC)
    _check_settings(cfg)
    conditions = all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    loaded = load_dataset_items(cfg.dataset)
    _tell(loaded)
    presentations = _presentations(cfg, loaded)
    backend = _load_model(cfg, loaded)
    builder = PromptBuilder(
        backend.fmt, conditions, cfg.labels, cfg.label_ids, cfg.prompt.instruction, cfg.prompt.system
    )
    described = describe_conditions(builder, presentations)
    for warning in label_warnings(described):
        log.warning(warning)

    run = RunFolder(folder)
    if run.open(run_fingerprint(cfg, backend.describe(), presentations, conditions)):
        log.info("resuming the run in %s", folder)
    names = [condition.name for condition in conditions]
    dataset = PromptDataset(presentations, builder, cfg.evaluation.batch_size, run.finished_items(names, READOUT))
    before = time.monotonic()
    predicted = run_predict(cfg, backend, dataset, run, total=len(presentations))
    seconds = time.monotonic() - before

    excluded = predicted.excluded
    if len(excluded) == len(presentations):
        item, reason = next(iter(excluded.items()))
        raise DataError(f"all {len(excluded)} items were excluded, the first, {item}, because {reason}")
    for item, reason in list(excluded.items())[:5]:
        log.warning("item %s is excluded: %s", item, reason)
    facts = RecordFacts(
        tuple(names),
        run_title(cfg, len(presentations) - len(excluded), described[0]["natural_variant"]),
        names[0],
        dict(Counter(reason.kind for reason in excluded.values())),
    )
    run.merge(names, facts)
    image_tokens = _image_tokens(folder)
    if image_tokens:
        log.info("image tokens per prompt with images: %(min)d to %(max)d, mean %(mean).1f", image_tokens)
    manifest = collect_manifest(
        {
            "config": asdict(cfg),
            "model": backend.describe(),
            "dataset": _describe_dataset(loaded),
            "conditions": described,
            "excluded": [{"item": item, "reason": str(reason)} for item, reason in excluded.items()],
            "n_items": len(presentations) - len(excluded),
            "scored": {"prompts": predicted.n_prompts, "seconds": round(seconds, 3)},
            "image_tokens": image_tokens,
        },
        started=started,
        finished=datetime.now(UTC),
    )
    write_manifest(folder, manifest)
    return _report(folder, manifest)


def _check_settings(cfg: EvaluateConfig) -> None:
    if cfg.model.backend is not BackendKind.hf:
        raise ConfigError(
            f"model={cfg.model.name} is served: label log-probabilities at a read position are not available from it. "
            "Choose a local model, or evaluation=prompts to see what would be sent"
        )
    if cfg.trainer.devices != 1 or cfg.trainer.num_nodes != 1:
        raise ConfigError(
            "evaluation=native runs in one process: set trainer.devices=1, spread a large model with "
            "model.device_map=auto, and use -m for several models or data sets"
        )
    if cfg.evaluation.batch_size < 1:
        raise ConfigError(f"evaluation.batch_size={cfg.evaluation.batch_size}: must be at least 1")


def _tell(loaded: LoadedDataset) -> None:
    for note in loaded.notes:
        log.info(note)
    for bad in loaded.bad[:5]:
        log.warning("row %s is skipped: %s", bad.id, bad.reason)
    if len(loaded.bad) > 5:
        log.warning("and %d more rows; all are in the manifest", len(loaded.bad) - 5)


def _presentations(cfg: EvaluateConfig, loaded: LoadedDataset) -> list[Presentation]:
    if any(item.answer_space == "open" for item in loaded.items):
        raise ConfigError(
            f"dataset={cfg.dataset.name} has open questions, which have no labels to read: choose a multiple-choice "
            "or yes/no data set"
        )
    return [identity(item) for item in loaded.items]


def _load_model(cfg: EvaluateConfig, loaded: LoadedDataset) -> HFBackend:
    import torch

    from thinkgap.evaluation.predict import quiet_libraries

    quiet_libraries()
    torch.manual_seed(cfg.seed)
    on_accelerator = cfg.trainer.accelerator != "cpu" and torch.accelerator.is_available()
    backend = load_backend(
        cfg.model,
        on_accelerator=on_accelerator,
        chat_template=cfg.prompt.chat_template,
        cache_dir=cfg.paths.cache_dir,
    )
    with_image = sum(bool(item.images) for item in loaded.items)
    if with_image and not backend.fmt.is_vision:
        raise ConfigError(
            f"{with_image} of {len(loaded.items)} items have images and model={cfg.model.name} reads text only: "
            "set dataset.images=none, or choose an image-text model"
        )
    return backend


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
    """Print the table from what is on disk, so that the records are known to reproduce it."""
    (table,) = tables_of_run(folder)
    text = to_markdown(table)
    write_text(folder / "table.md", text)
    write_text(folder / "table.csv", to_csv(to_dicts(table)))
    print(text)
    print(f"records, manifest and table: {folder}")
    return Finished(folder, table, manifest)


def _mirror(tracker: WandbTracker, finished: Finished) -> None:
    rows: Sequence[dict[str, Any]] = to_dicts(finished.table)
    tracker.table("conditions", rows)
    overall = [row for row in rows if row.get("k") is None]
    tracker.summary(
        {
            f"{row['condition']}/{name}": value
            for row in overall
            for name, value in row.items()
            if isinstance(value, int | float)
        }
    )
