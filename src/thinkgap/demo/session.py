"""One training of a demo model: world, lessons, Lightning's loop, saved states, curves and the finished folder.

A training is its folder: the same call goes on with one that was killed. It knows no command line.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from thinkgap.demo.batches import School, Writer, open_school
from thinkgap.demo.lessons import wordings
from thinkgap.demo.model.folder import build_model, build_processor, save_folder
from thinkgap.demo.model.vocabulary import learn_tokenizer
from thinkgap.demo.phases import check_settings, rate_factor
from thinkgap.demo.state import MODEL, TRAINING, claim_folder, load_state, read_curves, save_state, write_curves
from thinkgap.demo.training import DemoTraining, Lessons, Progress
from thinkgap.demo.validate import validate
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.schema import DemoTrainConfig
from thinkgap.store.atomic import write_text
from thinkgap.store.manifest import library_versions
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.progress import progress
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run

log = logging.getLogger(__name__)

_POINT_EVERY = 25
_SENTENCE_FACTS = 6000


def train(cfg: DemoTrainConfig, folder: Path) -> Path:
    """Train, or go on with a training that `folder` holds; returns the finished model's folder.

    Raises:
        ThinkgapError: settings that cannot be honoured, or a folder with another training.
    """
    setup_logging()
    quiet_libraries()
    check_settings(cfg.demo)
    with RunFolder(folder).held():
        claim_folder(folder, plain(asdict(cfg.demo)))
        finished = folder / MODEL
        if (finished / TRAINING).exists():
            log.info("this training is finished: %s", finished)
        else:
            _train(cfg, folder, finished)
    return finished


def _train(cfg: DemoTrainConfig, folder: Path, finished: Path) -> None:
    demo = cfg.demo
    torch.manual_seed(demo.seed)
    school = open_school("train", demo.seed, demo.facts)
    tokenizer = learn_tokenizer(*wordings(school.facts[:_SENTENCE_FACTS]))
    processor, model = build_processor(tokenizer), build_model(tokenizer, demo.sizes)
    writer, stand = Writer(processor, model), Progress()
    module = DemoTraining(demo, model, writer, stand)
    if load_state(folder, module):
        log.info("going on at step %d of %d in %s", stand.step, demo.steps, folder)
    log.info(
        "%s: %s parameters, %d steps, %d threads",
        demo.name, f"{_size(model):,}", demo.steps, torch.get_num_threads(),
    )  # fmt: skip
    with wandb_run(
        cfg.logger,
        config=plain(asdict(cfg)),
        name=f"{demo.name}-seed{demo.seed}",
        group="demo_train",
        job_type="demo_train",
        tags=[demo.name],
        folder=folder,
    ) as tracker:
        keeper = Keeper(cfg, folder, writer, open_school("validation", 0, demo.validation_facts), tracker)
        trainer = pl.Trainer(
            accelerator=cfg.trainer.accelerator,
            devices=1,
            max_epochs=1,
            callbacks=[keeper],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        if stand.step < demo.steps:
            lessons = Lessons(demo, school, writer, stand)
            trainer.fit(module, DataLoader(lessons, batch_size=None))
        save_folder(finished, model.to("cpu", torch.bfloat16), processor)
        about = {
            "settings": plain(asdict(demo)),
            "parameters": _size(model),
            "threads": torch.get_num_threads(),
            "seconds": read_curves(folder, demo.steps)[-1]["seconds"],
            "versions": library_versions(),
        }
        write_text(finished / TRAINING, json.dumps(about, indent=1) + "\n")
    log.info("the finished model: %s", finished)


class Keeper(pl.Callback):
    """Shows, measures and saves a training as it goes."""

    def __init__(
        self, cfg: DemoTrainConfig, folder: Path, writer: Writer, school: School, tracker: WandbTracker
    ) -> None:
        self.demo, self.folder = cfg.demo, folder
        self.writer, self.school, self.tracker = writer, school, tracker
        self.shown = cfg.trainer.progress
        self.points: list[dict[str, Any]] = []
        self.bar: Any = None
        self.began, self.spent = time.monotonic(), 0.0
        self.mean = _Mean()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Take up the points of the steps already done."""
        done = _training(pl_module).progress.step
        self.points = read_curves(self.folder, done)
        self.spent = float(self.points[-1]["seconds"]) if self.points else 0.0
        self.began = time.monotonic()
        self.bar = progress(
            total=self.demo.steps, initial=done, description=self.demo.name, unit="step", enabled=self.shown
        )

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """After each step: the bar; at times a point of the curves, a measurement, a saved state."""
        module = _training(pl_module)
        step = module.progress.step
        self.mean.add(module.tally.loss, module.tally.accuracy)
        last = step == self.demo.steps
        measured, saved = (last or step % every == 0 for every in (self.demo.validate_every, self.demo.save_every))
        self.bar.update(1)
        # A saved state comes with a point, so that the means of a resumed training are over the same steps.
        if step % _POINT_EVERY == 0 or measured or saved:
            point = {
                "step": step,
                "seconds": round(self.spent + time.monotonic() - self.began, 1),
                **{f"options/{lesson}": n for lesson, n in module.progress.options.items()},
                "rate": rate_factor(self.demo, step - 1),
                **self.mean.taken(),
            }
            self.bar.set_postfix({lesson: f"{value:.2f}" for lesson, value in module.progress.running.items()})
            if measured:
                found = validate(module.model, self.writer, self.school, self.demo.mixture)
                point |= {f"validation/{name}": value for name, value in found.items()}
                log.info("step %d: %s", step, ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
            self.points.append(point)
            self.tracker.log(point, step=step)
        if saved:
            # Curves first: points beyond a saved state are cut when it is taken up, missing ones would stay missing.
            write_curves(self.folder, self.points)
            save_state(self.folder, module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Close the bar."""
        self.bar.close()


class _Mean:
    """Means of losses and accuracies by lesson since they were last taken."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[float, int]] = {}

    def add(self, loss: Mapping[str, float], accuracy: Mapping[str, float]) -> None:
        for kind, values in (("loss", loss), ("accuracy", accuracy)):
            for lesson, value in values.items():
                total, n = self.sums.get(f"{kind}/{lesson}", (0.0, 0))
                self.sums[f"{kind}/{lesson}"] = (total + value, n + 1)

    def taken(self) -> dict[str, float]:
        means = {name: total / n for name, (total, n) in self.sums.items()}
        self.sums = {}
        return means


def _size(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _training(module: pl.LightningModule) -> DemoTraining:
    assert isinstance(module, DemoTraining)
    return module
