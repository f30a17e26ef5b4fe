"""`probe=lm_head_lora`: one low-rank adapter on the vocabulary projection for each condition, from stored final states.

The prefix study's secondary check (arXiv 2609.29278: rank 32, 3,000 examples, 10 epochs, layers frozen, no selection).
Orchestration: states are `features`' matter, the projection `head`'s, the loop `fit`'s, the table `lm_head_sheet`'s.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from probes.fit import fit
from probes.head import adapted, readings, save_adapter
from probes.lm_head_ready import Ready, check_settings, lora_fingerprint, make_ready
from probes.lm_head_sheet import PREFIX, lora_sheet, sentence
from probes.targets import adapter_loss, label_table
from probes.tracked import tracked
from thinkgap.evaluation.predict import device_of, quiet_libraries
from thinkgap.readouts.frames import NATIVE
from thinkgap.readouts.native import native_record
from thinkgap.readouts.sheet import Sheet, sheet_dicts, sheet_markdown
from thinkgap.readouts.table_text import to_csv
from thinkgap.schema import TrainConfig
from thinkgap.scoring.engine import Scored
from thinkgap.scoring.readings import ReadOptions
from thinkgap.scoring.vocabulary import reasoning_tokens
from thinkgap.store.atomic import write_text
from thinkgap.store.manifest import MANIFEST_FILE, collect_manifest, read_manifest, write_manifest
from thinkgap.store.records import facts_of, read_records, read_run
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.wandb_run import WandbTracker
from thinkgap.types import Record

log = logging.getLogger(__name__)

_TRAINING = "training.json"
_TOP = 5


def run_lm_head_lora(cfg: TrainConfig, folder: Path, group: str | None = None) -> Sheet:
    """Capture or read the states, train an adapter per condition, report each under every condition.

    Raises:
        ThinkgapError: settings, data, features, a model or a folder that cannot be used.
    """
    setup_logging()
    quiet_libraries()
    check_settings(cfg)
    with tracked(cfg, folder, group, cfg.trigger.placement.name) as tracker:
        run = RunFolder(folder)
        with run.held():
            ready = make_ready(cfg, folder)
            _train(cfg, ready, run, tracker)
        sheet = _report(ready, folder)
        _mirror(tracker, sheet)
    return sheet


def _train(cfg: TrainConfig, ready: Ready, run: RunFolder, tracker: WandbTracker) -> None:
    """Train what is left, and merge."""
    if run.open(lora_fingerprint(cfg, ready)):
        log.info("resuming the run in %s", run.path)
    started, n_new = datetime.now(UTC), 0
    done = run.finished_keys()
    evaluated = {(record.item_id, record.presentation, record.condition) for record in ready.evaluation.records}
    if not {(*key, NATIVE) for key in evaluated} <= done:
        run.write_shard(ready.evaluation.records)
    for number, condition in enumerate(ready.trained):
        folder = run.path / "adapters" / condition
        finished = {(*key, PREFIX + condition) for key in evaluated} <= done and (folder / _TRAINING).exists()
        if not finished:
            n_new += 1
            run.write_shard(_adapter(cfg, ready, condition, folder, tracker, number))
    facts = facts_of(read_run(ready.evaluation.folder))
    run.merge(ready.read, facts)
    losses = {name: _stored(run.path, name)["losses"] for name in ready.trained}
    rows = [
        {"condition": name, "epoch": epoch, "loss": loss}
        for name, values in losses.items()
        for epoch, loss in enumerate(values, 1)
    ]
    write_text(run.path / "losses.csv", to_csv(rows))
    stored = read_manifest(run.path) if (run.path / MANIFEST_FILE).exists() else {}
    if n_new or not stored.get("finished"):
        write_manifest(
            run.path, collect_manifest(_facts(cfg, ready, run.path), started=started, finished=datetime.now(UTC))
        )


def _adapter(
    cfg: TrainConfig, ready: Ready, condition: str, folder: Path, tracker: WandbTracker, number: int
) -> list[Record]:
    """Train, save and read one adapter."""
    rows = ready.train.under(condition)
    model = adapted(ready.readout, cfg.probe.lora, cfg.seed, cfg.model.path)
    labels, gold = label_table(rows.records)
    before = time.monotonic()
    losses = fit(
        model,
        partial(adapter_loss, cfg.probe.lora.loss),
        (rows.states.float(), gold, labels),
        cfg.probe,
        cfg.trainer,
        cfg.seed,
        condition,
        # W&B's steps only go up, so the adapters follow one another; `epoch` is the axis on which they compare.
        lambda epoch, loss: tracker.log(
            {f"loss/{condition}": loss, "epoch": epoch}, step=number * cfg.probe.epochs + epoch
        ),
    )
    seconds = round(time.monotonic() - before, 3)
    log.info(
        "%s: %d rows, loss %.4f after the first epoch, %.4f after the last, %.1f s",
        condition, len(rows.records), losses[0], losses[-1], seconds,
    )  # fmt: skip
    save_adapter(model, folder)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    about = {"rows": len(rows.records), "parameters": trained, "seconds": seconds, "losses": losses}
    write_text(folder / _TRAINING, json.dumps(about, indent=1) + "\n")
    return adapter_records(ready, model, condition, device_of(cfg.trainer))


def adapter_records(ready: Ready, model: Any, condition: str, device: torch.device) -> list[Record]:
    """What the adapter trained on `condition` says of every row of the evaluation split."""
    fmt = ready.backend.fmt
    options = ReadOptions(reasoning_tokens(fmt.tokenize), _TOP)
    split = ready.evaluation
    found = readings(model, split.states, split.records, options, device)
    return [
        dataclasses.replace(
            native_record(Scored(prompt, reading), lambda token: fmt.tokenizer.decode([token])),
            readout=PREFIX + condition,
            n_tokens=record.n_tokens,
            n_image_tokens=record.n_image_tokens,
        )
        for record, (prompt, reading) in zip(split.records, found, strict=True)
    ]


def _stored(folder: Path, condition: str) -> dict[str, Any]:
    return json.loads((folder / "adapters" / condition / _TRAINING).read_text(encoding="utf-8"))


def _facts(cfg: TrainConfig, ready: Ready, folder: Path) -> dict[str, Any]:
    return {
        "config": dataclasses.asdict(cfg),
        "model": ready.backend.describe(),
        "train_features": str(ready.train.folder.resolve()),
        "eval_features": str(ready.evaluation.folder.resolve()),
        "n_train_items": ready.n_items,
        "n_eval_items": len({record.item_id for record in ready.evaluation.records}),
        "dropped_train_items": dict(ready.dropped),
        "head_check_error": ready.check_error,
        "conditions": ready.evaluation.manifest["conditions"],
        "adapters": {name: _stored(folder, name) for name in ready.trained},
    }


def _report(ready: Ready, folder: Path) -> Sheet:
    """Print the table from what is on disk."""
    table = read_run(folder)
    records = read_records(folder)
    trained_on = f"Each adapter was trained on {ready.n_items:,} items of {_split_names(ready.train.records)}."
    title = f"{facts_of(table).title} (adapters on the vocabulary projection)"
    sheet = lora_sheet(records, ready.read, ready.trained, title, (trained_on, *ready.notes))
    text = sheet_markdown(sheet)
    if said := sentence(records, ready.read, ready.trained):
        text += f"\n{said}\n"
    write_text(folder / f"{sheet.name}.md", text)
    write_text(folder / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    print(text)
    print(f"records, adapters, manifest and table: {folder}")
    return sheet


def _split_names(records: Sequence[Record]) -> str:
    names = sorted({record.split for record in records})
    return f"the {' and '.join(names)} split{'s' if len(names) > 1 else ''}"


def _mirror(tracker: WandbTracker, sheet: Sheet) -> None:
    rows = sheet_dicts(sheet)
    tracker.table(sheet.name, rows)
    tracker.summary(
        {
            f"{row['read_under']}/{row['trained_on']}/{name}": row[name]
            for row in rows
            for name in ("accuracy", "difference", "first_slot", "label_mass")
        }
    )
