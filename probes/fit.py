"""Fitting a head on stored states: a LightningModule that only fits, and its loop.

No validation, no checkpoint, no selection: the state after the last epoch is taken. Knows no model, no label and no
file; the loss is the caller's.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from thinkgap.evaluation.predict import make_trainer
from thinkgap.schema import ProbeConfig, TrainerConfig
from thinkgap.tracking.progress import progress

log = logging.getLogger(__name__)

Loss = Callable[..., Tensor]
"""Takes the head's output `[B, C]` and the batch's targets; gives a scalar."""


class HeadFit(pl.LightningModule):
    """AdamW at a constant rate on those weights of a head that ask for gradients.

    Args:
        head: states `[B, d]` to outputs `[B, C]`.
        loss: of the outputs and the targets of a batch.
        cfg: rate and weight decay.
    """

    def __init__(self, head: nn.Module, loss: Loss, cfg: ProbeConfig) -> None:
        super().__init__()
        self.head, self.loss, self.cfg = head, loss, cfg

    def training_step(self, batch: list[Tensor], _index: int) -> Tensor:
        """Loss of one batch: states first, then targets."""
        states, *targets = batch
        return self.loss(self.head(states), *targets)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW on what is to be trained."""
        trained = [parameter for parameter in self.head.parameters() if parameter.requires_grad]
        return torch.optim.AdamW(trained, lr=self.cfg.lora.learning_rate, weight_decay=self.cfg.lora.weight_decay)


class _Curve(pl.Callback):
    """Mean loss by epoch, and the bar."""

    def __init__(self, name: str, n_rows: int, n_steps: int, shown: bool, tell: Callable[[int, float], None]) -> None:
        self.n_rows, self.tell = n_rows, tell
        self.losses: list[float] = []
        self.sum: Any = 0.0
        self.bar = progress(total=n_steps, description=name, unit="step", enabled=shown)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add a batch; kept on its device, so that no step waits for it."""
        self.sum = self.sum + outputs["loss"].detach() * len(batch[0])
        self.bar.update(1)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Tell the mean over the epoch's rows."""
        self.losses.append(float(self.sum) / self.n_rows)
        self.sum = 0.0
        self.bar.set_postfix(loss=f"{self.losses[-1]:.4f}")
        self.tell(len(self.losses), self.losses[-1])

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        """Close the bar, and say how to go on."""
        self.bar.close()
        log.warning("interrupted; the same command with this run's hydra.run.dir goes on with the unfinished head")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Close the bar."""
        self.bar.close()


def fit(
    head: nn.Module,
    loss: Loss,
    tensors: tuple[Tensor, ...],
    cfg: ProbeConfig,
    trainer: TrainerConfig,
    seed: int,
    name: str = "",
    tell: Callable[[int, float], None] = lambda epoch, loss: None,
) -> list[float]:
    """Train `head` in place, for `cfg.epochs` epochs.

    Args:
        head: left in evaluation mode on the CPU.
        loss: of outputs and targets.
        tensors: states `[n, d]` and any number of targets `[n, ...]`.
        cfg: epochs, batch size, rate, weight decay.
        trainer: where it runs.
        seed: of the order of rows, and of dropout.
        name: shown beside the bar.
        tell: called with the number of each epoch, from 1, and its mean loss.

    Returns:
        Mean loss over the rows, by epoch.
    """
    rows = TensorDataset(*tensors)
    order = torch.Generator().manual_seed(seed)
    batches = DataLoader(rows, batch_size=cfg.batch_size, shuffle=True, generator=order)
    curve = _Curve(name, len(rows), cfg.epochs * len(batches), trainer.progress, tell)
    torch.manual_seed(seed)
    with determinism():
        lightning = make_trainer(trainer, [curve], max_epochs=cfg.epochs, deterministic=True)
        lightning.fit(HeadFit(head.train(), loss, cfg), batches)
    head.eval()
    return curve.losses


@contextlib.contextmanager
def determinism() -> Iterator[None]:
    """Put torch's own switch back, which Lightning's `deterministic=True` leaves on for the whole process."""
    before = torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
