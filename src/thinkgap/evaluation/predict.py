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
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import BasePredictionWriter

from thinkgap.errors import ConfigError, PromptError, StoreError
from thinkgap.evaluation.reuse import Reuse
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


def run_predict(
    cfg: EvaluateConfig, reuse: Reuse, dataset: PromptDataset, run: RunFolder, total: int, sample: Sample
) -> Predicted:
    """Score what `dataset` holds and write it into `run`.

    Args:
        cfg: for trainer settings.
        reuse: the engine, behind the store of finished cells.
        dataset: batches left to score.
        run: where shards go.
        total: items of the whole run, those already done included.
        sample: gathers the prompts that are scored again at the end.
    """
    quiet_libraries()
    left = sum(map(len, dataset.batches))
    predicted = Predicted()
    bar = progress(total=total, initial=total - left, description=cfg.model.name, enabled=cfg.trainer.progress)
    with bar:
        writer = RecordWriter(run, reuse, predicted, bar, done=total - left, total=total)
        trainer = make_trainer(cfg.trainer, [writer])
        if left:
            module = ScoringModule(reuse.engine, reuse.score, sample)
            trainer.predict(module, batches_of(dataset), return_predictions=False)
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


class RecordWriter(BasePredictionWriter):
    """Turns readings into records and writes them in shards of whole batches."""

    def __init__(self, run: RunFolder, reuse: Reuse, predicted: Predicted, bar: Any, *, done: int, total: int) -> None:
        super().__init__(write_interval="batch")
        self.run, self.reuse, self.predicted, self.bar = run, reuse, predicted, bar
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
        done = f"{self.done} of {self.total} items are done"
        log.warning("interrupted: %s; the same command with hydra.run.dir=%s goes on from there", done, self.run.path)

    def flush(self) -> None:
        """Write the waiting records as one shard, and before them the cells that they come from."""
        self.reuse.flush()
        if self.waiting:
            self.run.write_shard(self.waiting)
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
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
