"""The Trainer of a bank: one device of this process, a bar, and a checkpoint from which a killed fit goes on.

Knows neither heads nor rows.
"""

from __future__ import annotations

import io
import logging
import pickle
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins import TorchCheckpointIO
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger

from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.evaluation.predict import fit_trainer
from thinkgap.parallel import World
from thinkgap.schema import TrainerConfig
from thinkgap.store.atomic import remove_temporaries, write_bytes
from thinkgap.tracking.progress import progress

log = logging.getLogger(__name__)

CHECKPOINT = f"{ModelCheckpoint.CHECKPOINT_NAME_LAST}{ModelCheckpoint.FILE_EXTENSION}"
"""Name of the checkpoint file, `last.ckpt`."""


def bank_trainer(
    cfg: TrainerConfig,
    world: World,
    epochs: int,
    n_steps: int,
    name: str,
    folder: Path | None,
    logger: Logger | None,
) -> pl.Trainer:
    """A Trainer that fits on one device and talks to no other process, whatever started this one.

    Args:
        cfg: accelerator and bar.
        world: the processes of the job; the fit is on this one's device.
        epochs: to fit.
        n_steps: of an epoch.
        name: shown beside the bar.
        folder: gets the checkpoint; None keeps none. Made if need be.
        logger: Lightning's, or None.

    Raises:
        ConfigError: an accelerator that this machine does not have.
    """
    callbacks: list[pl.Callback] = [_Bar(name, epochs * n_steps, cfg.progress)]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        remove_temporaries(folder, CHECKPOINT)
        # By this name `ckpt_path="last"` finds it; `save_last` would write each checkpoint twice.
        name_of_last = ModelCheckpoint.CHECKPOINT_NAME_LAST
        callbacks.append(
            ModelCheckpoint(folder, name_of_last, enable_version_counter=False, save_on_train_epoch_end=True)
        )
    return fit_trainer(
        cfg,
        world,
        callbacks,
        plugins=[LightningEnvironment(), _CheckpointFile()],
        logger=logger or False,
        enable_checkpointing=folder is not None,
        max_epochs=epochs,
        # On a CPU all that a bank does is deterministic anyway, and torch's switch costs a quarter of the time there,
        # because it fills all new memory.
        deterministic=cfg.accelerator != "cpu" and torch.accelerator.is_available(),
    )


class _Bar(pl.Callback):
    """Steps done, rate and time left."""

    def __init__(self, name: str, n_steps: int, shown: bool) -> None:
        self.name, self.n_steps, self.shown = name, n_steps, shown

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Open it, at the epoch of a resumed fit."""
        done = trainer.global_step
        self.bar = progress(total=self.n_steps, initial=done, description=self.name, unit="step", enabled=self.shown)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a step."""
        self.bar.update(1)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Close it."""
        self.bar.close()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Close it, and say how to go on, unless the error does."""
        if hasattr(self, "bar"):  # not if a checkpoint could not be taken
            self.bar.close()
        if trainer.checkpoint_callback is not None and not isinstance(exception, ThinkgapError):
            log.warning("interrupted; the same command with this run's hydra.run.dir goes on after the last epoch")


class _CheckpointFile(TorchCheckpointIO):
    """A checkpoint that is there as a whole or not at all, and from which no code can be loaded."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write under a temporary name, then rename."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        write_bytes(Path(path), content.getvalue())

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = True) -> dict[str, Any]:
        """Read tensors and plain types.

        Raises:
            StoreError: it is damaged, or holds anything else.
        """
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise StoreError(f"{path} is damaged or no checkpoint ({type(error).__name__}): delete it") from None
