"""`probe=linear`: linear probes on stored states, one for each condition and layer, and what controls them.

Orchestration: rows and states are `captured`'s matter, fits `fitting`'s, figures `linear_report`'s.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from probes.captured import Captured, parts, write_roles
from probes.code import probes_digest
from probes.compare import MODEL_FIELDS
from probes.controls.run import Parts, run_controls
from probes.controls.stored import CONTROLS_FOLDER
from probes.fits_file import best_places
from probes.fitting import control_fitter, fit_places
from probes.heads import surest
from probes.linear_report import Finished, report_linear
from probes.linear_settings import check_linear
from probes.part import Part
from probes.random_weights import with_random_weights
from probes.tables import ProbeReport
from probes.tracked import tracked
from thinkgap.evaluation.describe import code_digest
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.parallel import ALONE, World
from thinkgap.readouts.sheet import Missing
from thinkgap.schema import TrainConfig
from thinkgap.store.fingerprint import check_fingerprint, read_fingerprint
from thinkgap.store.manifest import library_versions
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging

log = logging.getLogger(__name__)

BLOCKS = "blocks"
"""In a run's folder: fitted probes, from which an interrupted run goes on, as it does from `CONTROLS_FOLDER`."""
_NO_TEXT_ONLY = Missing("too few items have an image that could be left out")


def run_linear(cfg: TrainConfig, folder: Path, group: str | None = None, world: World = ALONE) -> ProbeReport | None:
    """Find or compute states, fit a probe for every condition and state, control, test and report.

    Args:
        cfg: the settings.
        folder: of the run; an unfinished run of the same settings is resumed.
        group: W&B group.
        world: the processes that work on it.

    Returns:
        The report; None in processes other than the first.

    Raises:
        ThinkgapError: settings, data, features, a model or a folder that cannot be used.
    """
    setup_logging(rank=world.rank)
    quiet_libraries()
    check_linear(cfg)
    started = datetime.now(UTC)
    held = RunFolder(folder).held() if world.is_first else contextlib.nullcontext()
    with tracked(cfg, folder, group, cfg.probe.solver.name, world) as tracker, held:
        captured = parts(cfg, world)
        others = _other_states(cfg, captured, world)
        if world.is_first:
            check_fingerprint(folder, _fingerprint(cfg, captured), any(folder.glob(f"{BLOCKS}/*.json")))
            write_roles(folder, captured.parts)
        world.barrier()
        trained = [name for name in captured.fit.conditions if name in (cfg.probe.conditions or [name])]
        fitted = fit_places(
            cfg, captured.fit, captured.select, trained, captured.fit.names, folder / BLOCKS, world,
            tracker.lightning_logger(),
        )  # fmt: skip
        n_slots = int(captured.fit.k.max())
        fitter, coder = control_fitter(cfg.probe, n_slots), control_fitter(cfg.probe, n_slots, surest)
        run_controls(
            cfg.probe, captured.parts, others, fitted, fitter, coder, folder / CONTROLS_FOLDER, world,
            seed=cfg.seed, shown=cfg.trainer.progress,
        )  # fmt: skip
        if not world.is_first:
            return None
        finished = Finished(captured, fitted, best_places(fitted, trained))
        return report_linear(cfg, finished, folder, tracker, started)


def _other_states(cfg: TrainConfig, captured: Captured, world: World) -> dict[str, Parts | Missing]:
    """States of the same items that controls read: without images, and of random weights."""
    others: dict[str, Parts | Missing] = {"text_only": captured.text_only or _NO_TEXT_ONLY}
    if cfg.probe.controls.random_weights:
        others["random_weights"] = with_random_weights(cfg, captured, cfg.seed, world)
    return others


def _fingerprint(cfg: TrainConfig, captured: Captured) -> dict[str, Any]:
    """Everything that the figures of a run depend on, as JSON data."""
    libraries = library_versions()
    probe = dataclasses.asdict(cfg.probe)
    del probe["lora"]
    return {
        "probe": plain(probe),
        "seed": cfg.seed,
        "model": {key: captured.model.get(key) for key in MODEL_FIELDS},
        "prompts": dict(captured.prompt_hash),
        "states": list(captured.fit.names),
        "runs": sorted(_digest(read_fingerprint(Path(run))) for run in captured.manifests),
        "rows": {part.role: _rows_digest(part) for part in captured.parts},
        "code": code_digest() + probes_digest(),
        "libraries": {name: libraries.get(name) for name in ("numpy", "pytorch-lightning", "scipy", "torch")},
    }


def _rows_digest(part: Part) -> str:
    return _digest([part.item_id.tolist(), part.presentation.tolist(), part.k.tolist(), part.gold.tolist()])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
