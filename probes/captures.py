"""Captures: finished runs with states that probes are fitted and tested on, found again without the language model.

A capture is made by the code that `evaluate.py` runs, once for each data set, and shared by all trainings that ask for
the same. Knows no role and no probe.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.capture_key import capture_facts, checkpoint_facts, facts_digest, hub_facts
from probes.compare import require_model
from probes.head_rows import write_head_rows
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.prepare import load_model
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import (
    BackendKind,
    CaptureConfig,
    DatasetConfig,
    EvaluateConfig,
    EvaluationConfig,
    LoggerConfig,
    TrainConfig,
)
from thinkgap.store.atomic import disk_errors, write_text
from thinkgap.store.features import Features
from thinkgap.store.manifest import read_manifest
from thinkgap.store.records import read_run
from thinkgap.types import Item

log = logging.getLogger(__name__)

CAPTURE_FILE = "capture.json"
"""Written last: a folder with it is a finished capture."""
EMBEDDINGS, FINAL_NORM, LAYER = "embeddings", "final_norm", "layer_"


def evaluation_of(
    cfg: TrainConfig, evaluation: EvaluationConfig, dataset: DatasetConfig | None = None
) -> EvaluateConfig:
    """The evaluation whose states a training reads: its model, prompts and conditions, and nothing logged.

    Args:
        cfg: the training.
        evaluation: what is computed.
        dataset: None is the training's own.
    """
    return EvaluateConfig(
        model=cfg.model,
        dataset=dataset or cfg.dataset,
        trigger=cfg.trigger,
        prompt=cfg.prompt,
        evaluation=evaluation,
        trainer=cfg.trainer,
        logger=LoggerConfig(enabled=False),  # the training's own W&B run is open
        paths=cfg.paths,
        labels=cfg.labels,
        label_ids=cfg.label_ids,
        scoring=cfg.scoring,
        seed=cfg.seed,
    )


def run_quietly(cfg: EvaluateConfig, folder: Path, backend: HFBackend, world: Any = None) -> None:
    """`run_native` without its table, which is in its folder: the one that a training is about comes at the end.

    Args:
        cfg: the evaluation.
        folder: of the run.
        backend: the model of `cfg`.
        world: the processes of this run, handed on to `run_native`; None is this one alone.
    """
    shared = {} if world is None else {"world": world}
    with contextlib.redirect_stdout(io.StringIO()):
        run_native(cfg, folder, backend=backend, **shared)


def wanted_states(names: Sequence[str] | None, state: str) -> CaptureConfig:
    """Which states are kept: those named and the headline's; all if none are named.

    Args:
        names: `probe.states`.
        state: `probe.state`.

    Raises:
        ConfigError: a name that is none of a state.
    """
    if names is None:
        _layer("probe.state", state)
        return CaptureConfig(enabled=True, embeddings=True, final_norm=True)
    if not names:
        raise ConfigError("probe.states is empty: name states, or null for all")
    found = [("probe.states", name) for name in names] + [("probe.state", state)]
    layers = sorted({layer for setting, name in found if (layer := _layer(setting, name)) is not None})
    asked = {name for _, name in found}
    return CaptureConfig(enabled=True, layers=layers, embeddings=EMBEDDINGS in asked, final_norm=FINAL_NORM in asked)


def _layer(setting: str, name: str) -> int | None:
    """Number of the layer that a state comes after; None for the two states that are no layer's."""
    number = name.removeprefix(LAYER)
    if name.startswith(LAYER) and number.isascii() and number.isdigit():
        return int(number)
    if name not in (EMBEDDINGS, FINAL_NORM):
        raise ConfigError(f"{setting}: '{name}' is no state; write {EMBEDDINGS}, {LAYER}0 and up, or {FINAL_NORM}")
    return None


class Captures:
    """Finds captures of one model, or makes them; the model is loaded once, when the first one is missing.

    Args:
        given: runs that are used beside captures, by folder, as their models describe themselves: another model is
            refused before it reads anything.
        world: the processes of this training (`rank`, `size`, `is_first`, `barrier()`); None is this one alone.
    """

    def __init__(self, given: Mapping[Path, Mapping[str, Any]] | None = None, world: Any = None) -> None:
        self.given, self.world = given or {}, world
        self._backend: HFBackend | None = None

    def get(self, cfg: EvaluateConfig, items: Sequence[Item]) -> Path:
        """The folder of a capture, which is computed if it is not there.

        Args:
            cfg: the run that the capture is.
            items: the items of its data set.

        Raises:
            ThinkgapError: what the evaluation raises, or states that are gone as soon as they were written.
        """
        if cfg.model.backend is not BackendKind.hf:
            raise ConfigError(
                f"model={cfg.model.name} is served and gives no hidden states: choose a local model, or give the "
                "folders of finished runs (probe.fit_features and the like)"
            )
        checkpoint = self._checkpoint(cfg) or self._loaded(cfg)
        facts = capture_facts(cfg, items, checkpoint)
        digest = facts_digest(facts)
        folder = Path(cfg.paths.captures_dir).expanduser() / f"{cfg.model.name}-{digest[:16]}"
        what = f"{cfg.model.name} on {cfg.dataset.name} ({cfg.dataset.split})"
        with self._alone(folder):
            if self._is_there(folder):
                log.info("features present: %s, %s", what, folder)
                return folder
            backend = self._load(cfg)
            if self._checkpoint(cfg) == checkpoint:
                log.info("features: %s, %d items, into %s", what, len(items), folder)
                run_quietly(cfg, folder, backend, self.world)
                self._finish(folder, backend, {"sha256": digest, **facts})
                return folder
        return self.get(cfg, items)  # loading brought a newer commit than the hub's cache held

    @property
    def _is_first(self) -> bool:
        return self.world is None or self.world.is_first

    def _wait(self) -> None:
        if self.world is not None:
            self.world.barrier()

    @contextlib.contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Other trainings that want the same capture wait until it is finished."""
        from filelock import FileLock

        if not self._is_first:
            yield
            return
        with disk_errors(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):
            yield

    def _is_there(self, folder: Path) -> bool:
        """Whether a finished capture is in `folder`; what is no more use is removed from there."""
        if self._is_first and not _is_usable(folder) and folder.exists():
            # Nothing is lost: the cells of an unfinished capture are in the store of cells.
            shutil.rmtree(folder)
        self._wait()
        there = (folder / CAPTURE_FILE).is_file()
        self._wait()  # nobody writes before all have looked
        return there

    def _finish(self, folder: Path, backend: HFBackend, facts: Mapping[str, Any]) -> None:
        self._wait()
        if self._is_first:
            manifest = read_manifest(folder)
            _require_states(folder, manifest)
            write_head_rows(folder, backend, manifest["conditions"])
            write_text(folder / CAPTURE_FILE, json.dumps(facts, indent=2, ensure_ascii=False))
        self._wait()

    def _checkpoint(self, cfg: EvaluateConfig) -> dict[str, Any] | None:
        if self._backend is not None and not self._backend.checkpoint.local:
            return hub_facts(cfg.model.path, self._backend.revision)
        return checkpoint_facts(cfg.model)

    def _loaded(self, cfg: EvaluateConfig) -> dict[str, Any]:
        """The same where only the loaded model knows it."""
        self._load(cfg)
        found = self._checkpoint(cfg)
        assert found is not None, "a model was loaded from neither a path nor a hub id"
        return found

    def _load(self, cfg: EvaluateConfig) -> HFBackend:
        if self._backend is None:
            self._backend = load_model(cfg)
            for folder, model in self.given.items():
                require_model(cfg.model.name, self._backend.describe(), folder, model)
        return self._backend


def _is_usable(folder: Path) -> bool:
    """Whether `folder` holds a finished capture whose states can be opened."""
    if not (folder / CAPTURE_FILE).is_file():
        return False
    try:
        _require_states(folder, read_manifest(folder))
    except StoreError as error:
        log.warning("the capture in %s cannot be used and is computed again: %s", folder, error)
        return False
    return True


def _require_states(folder: Path, manifest: Mapping[str, Any]) -> None:
    features = open_features(folder, manifest)
    rows = read_run(folder)
    prompts = [
        prompt
        for prompt, readout in zip(
            *(rows.column(name).to_pylist() for name in ("prompt_sha256", "readout")), strict=True
        )
        if readout == NATIVE
    ]
    features.require(list(dict.fromkeys(prompts)), manifest["states"])


def open_features(folder: Path, manifest: Mapping[str, Any]) -> Features:
    """The states of a finished run; the manifest's `cells` is absolute or relative to the run's folder.

    Raises:
        StoreError: a run that kept none, or whose cells are gone.
    """
    if not manifest.get("states") or not manifest.get("cells"):
        raise StoreError(f"{folder} kept no states; run that evaluation with evaluation.capture.enabled=true")
    return Features.open(folder / manifest["cells"], manifest.get("state_dtype"))
