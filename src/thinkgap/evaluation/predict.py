"""Lightning's predict loop over a `PromptDataset`, with records written as it goes.

Shards are written after whole batches only, so that what a killed run leaves behind is a set of whole batches.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import BasePredictionWriter
from pytorch_lightning.strategies import SingleDeviceStrategy

from thinkgap.errors import ConfigError, PromptError, StoreError
from thinkgap.evaluation.reuse import Reuse
from thinkgap.parallel import ALONE, World
from thinkgap.readouts.native import native_record
from thinkgap.schema import EvaluateConfig, TrainerConfig
from thinkgap.scoring.predict import PromptDataset, ScoredItem, ScoringModule, batches_of
from thinkgap.scoring.verify import Sample
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.progress import progress
from thinkgap.types import Record

log = logging.getLogger(__name__)

_SHARD_RECORDS = 4096
_SHARD_SECONDS = 60.0


@dataclass
class Predicted:
    """What one predict loop did."""

    excluded: dict[str, PromptError] = field(default_factory=dict)
    """Item id -> why it was excluded."""
    n_prompts: int = 0
    n_reused: int = 0
    """Prompts whose cells were there already."""
    seconds: float = 0.0


def run_predict(
    cfg: EvaluateConfig,
    reuse: Reuse,
    dataset: PromptDataset,
    run: RunFolder,
    total: int,
    sample: Sample,
    world: World = ALONE,
) -> Predicted:
    """Score what `dataset` holds and write it into `run`.

    Args:
        cfg: for trainer settings.
        reuse: the engine, behind the store of finished cells.
        dataset: batches left to score.
        run: where shards go.
        total: items of the whole run, those already done included.
        sample: gathers the prompts that are scored again at the end.
        world: the processes of the run; what one does is told of its own share.
    """
    quiet_libraries()
    left = sum(map(len, dataset.batches))
    total = total if world.size == 1 else left
    predicted = Predicted()
    before = time.monotonic()
    bar = progress(total=total, initial=total - left, description=cfg.model.name, enabled=cfg.trainer.progress)
    with bar:
        writer = RecordWriter(run, reuse, predicted, bar, done=total - left, total=total, world=world)
        if left:
            module = ScoringModule(reuse.engine, reuse.score, sample)
            trainer = fit_trainer(cfg.trainer, world, [writer])
            trainer.predict(module, batches_of(dataset), return_predictions=False)
    predicted.n_reused, predicted.seconds = reuse.n_reused, time.monotonic() - before
    return predicted


def make_trainer(cfg: TrainerConfig, callbacks: Sequence[pl.Callback] = (), **fitting: Any) -> pl.Trainer:
    """A Trainer that leaves logging, checkpoints and progress to this tool.

    Args:
        cfg: where it runs.
        callbacks: what follows its loop.
        fitting: further arguments of Lightning's Trainer, for one that fits, or others than these.

    Raises:
        ConfigError: an accelerator or strategy that this machine does not have.
    """
    settings: dict[str, Any] = {
        "accelerator": cfg.accelerator,
        "devices": cfg.devices,
        "num_nodes": cfg.num_nodes,
        "strategy": cfg.strategy,
        "callbacks": list(callbacks),
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    try:
        return pl.Trainer(**settings | fitting)
    except (MisconfigurationException, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"trainer.accelerator={cfg.accelerator}, trainer.strategy={cfg.strategy}: {str(error).splitlines()[0]}"
        ) from error


def fit_trainer(
    cfg: TrainerConfig, world: World = ALONE, callbacks: Sequence[pl.Callback] = (), **fitting: Any
) -> pl.Trainer:
    """A Trainer of this process alone, on its device: no gradient and no batch is shared with another process.

    Args:
        cfg: where it runs.
        world: the processes of the job.
        callbacks: what follows its loop.
        fitting: further arguments of Lightning's Trainer.

    Raises:
        ConfigError: an accelerator or strategy that this machine does not have.
    """
    own = SingleDeviceStrategy(device_of(cfg, world))
    alone = replace(cfg, devices=1, num_nodes=1)
    # Without the plugin Lightning takes rank and world size from torchrun's variables.
    return make_trainer(alone, callbacks, **{"strategy": own, "plugins": [LightningEnvironment()]} | fitting)


def device_of(cfg: TrainerConfig, world: World = ALONE) -> torch.device:
    """Where this process computes.

    Raises:
        ConfigError: an accelerator or strategy that this machine does not have.
    """
    if world.device is not None:
        return world.device
    # One process needs no cluster, whatever a scheduler's variables say.
    return make_trainer(cfg, plugins=[LightningEnvironment()]).strategy.root_device


class RecordWriter(BasePredictionWriter):
    """Turns readings into records and writes them in shards of whole batches."""

    def __init__(
        self,
        run: RunFolder,
        reuse: Reuse,
        predicted: Predicted,
        bar: Any,
        *,
        done: int,
        total: int,
        world: World = ALONE,
    ) -> None:
        super().__init__(write_interval="batch")
        self.run, self.reuse, self.predicted, self.bar, self.world = run, reuse, predicted, bar, world
        # Counted here, because a bar that is switched off does not count.
        self.done, self.total = done, total
        self.waiting: list[Record] = []
        self.written = time.monotonic()

    def write_on_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        prediction: Any,
        batch_indices: Sequence[int] | None,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        """Keep the batch, and write a shard when enough has gathered."""
        scored: list[ScoredItem] = prediction
        tokenizer = self.reuse.engine.backend.fmt.tokenizer
        for item in scored:
            if item.excluded is not None:
                self.predicted.excluded[item.item_id] = item.excluded
            self.waiting += [native_record(one, lambda token: tokenizer.decode([token])) for one in item.scored]
            self.predicted.n_prompts += len(item.scored)
        self.done += len(scored)
        self.bar.update(len(scored))
        late = time.monotonic() - self.written > _SHARD_SECONDS
        if len(self.waiting) >= _SHARD_RECORDS or self.reuse.is_full or late:
            self.flush()

    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let SIGTERM end the run as Ctrl-C does: Lightning would only note it, and the predict loop never looks."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _interrupt)

    def on_predict_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write what is left."""
        self.flush()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Keep the finished batches of a run that fails or is interrupted."""
        try:
            self.flush()
        except StoreError as error:
            if error is not exception:
                log.error("what was computed last could not be written: %s", error)
        items = "items" if self.world.size == 1 else f"items of process {self.world.rank}"
        done = f"{self.done} of {self.total} {items} are done"
        log.warning("interrupted: %s; the same command with hydra.run.dir=%s goes on from there", done, self.run.path)

    def flush(self) -> None:
        """Write the waiting records as one shard, and before them the cells that they come from."""
        self.reuse.flush()
        if self.waiting:
            self.run.write_shard(self.waiting, self.world.rank)
            self.waiting = []
        self.written = time.monotonic()


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def quiet_libraries() -> None:
    """Silence what Lightning and transformers say about things that this tool has decided on purpose."""
    import transformers

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning.*")
    # On a machine with SLURM: that a command could be started with srun.
    warnings.filterwarnings("ignore", module="lightning_fabric.*")
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
