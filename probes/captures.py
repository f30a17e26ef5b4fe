"""Captures: finished runs with states that probes are fitted and tested on, found again without the language model.

A capture is made by the code that `evaluate.py` runs, once for each data set, and shared by all trainings that ask for
the same. Knows no role and no probe.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.capture_key import capture_facts, checkpoint_facts, facts_digest, hub_facts
from probes.capture_run import FINAL_NORM, check_layers, run_quietly
from probes.compare import require_model
from probes.head_rows import write_head_rows
from probes.runs import Run, open_run
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.prepare import load_model
from thinkgap.parallel import ALONE, World
from thinkgap.schema import BackendKind, EvaluateConfig
from thinkgap.store.atomic import disk_errors, write_text
from thinkgap.types import Item

log = logging.getLogger(__name__)

CAPTURE_FILE = "capture.json"
"""Written last: a folder with it is a finished capture."""


class Captures:
    """Finds captures of one model, or makes them; the model is loaded once, when the first one is missing.

    Args:
        given: runs that are used beside captures, by folder, as their models describe themselves: another model is
            refused before it reads anything.
        world: the processes of this training.
        state: one that the training reads; a model without it is refused before it reads anything.
    """

    def __init__(
        self,
        given: Mapping[Path, Mapping[str, Any]] | None = None,
        world: World = ALONE,
        state: str = FINAL_NORM,
    ) -> None:
        self.given, self.world, self.state = given or {}, world, state
        self._backend: HFBackend | None = None

    def get(self, cfg: EvaluateConfig, items: Sequence[Item]) -> Run:
        """A capture, which is computed if it is not there.

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
        what = f"{cfg.model.name} on {cfg.dataset.name} ({cfg.dataset.split}), {len(items)} items"
        with self._alone(folder):
            run = self._found(folder)
            if run is not None:
                log.info("features present: %s, in %s", what, folder)
                return run
            backend = self._load(cfg)
            if self._checkpoint(cfg) == checkpoint:
                log.info("features: %s, into %s", what, folder)
                check_layers(cfg, len(backend.structure.layers), self.state)
                run_quietly(cfg, folder, backend, self.world)
                return self._finished(folder, backend, {"sha256": digest, **facts})
        return self.get(cfg, items)  # loading brought a newer commit than the hub's cache held

    @contextlib.contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Other trainings that want the same capture wait until it is finished."""
        from filelock import FileLock

        if not self.world.is_first:
            yield
            return
        with disk_errors(folder.parent):
            folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):
            yield

    def _found(self, folder: Path) -> Run | None:
        """The finished capture in `folder`; what is of no more use is removed from there."""
        run = _usable(folder) if self.world.is_first else None
        if self.world.is_first and run is None and folder.exists():
            # Nothing is lost: the cells of an unfinished capture are in the store of cells.
            shutil.rmtree(folder)
        self.world.barrier()
        there = (folder / CAPTURE_FILE).is_file()
        self.world.barrier()  # nobody writes before all have looked
        return run or (open_run(folder) if there else None)

    def _finished(self, folder: Path, backend: HFBackend, facts: Mapping[str, Any]) -> Run:
        """The capture that was just computed, with what is kept beside it."""
        self.world.barrier()
        run = open_run(folder)
        if self.world.is_first:
            run.require_states()
            write_head_rows(folder, backend, run.manifest["conditions"])
            write_text(folder / CAPTURE_FILE, json.dumps(facts, indent=2, ensure_ascii=False))
        self.world.barrier()
        return run

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


def _usable(folder: Path) -> Run | None:
    """The finished capture in `folder`, with all its states; None, and a warning if it is damaged."""
    if not (folder / CAPTURE_FILE).is_file():
        return None
    try:
        run = open_run(folder)
        run.require_states()
    except StoreError as error:
        log.warning("the capture in %s cannot be used and is computed again: %s", folder, error)
        return None
    return run
