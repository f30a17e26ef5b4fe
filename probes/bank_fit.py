"""Fitting a bank on the stored states of a block of places: a LightningModule that only fits, and its loop.

After each epoch every head is scored on the selection split and keeps the weights of its best epoch. Processes share
nothing: each fits blocks of its own, on one device. Knows no model, and no file but its own checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from torch import Tensor

from probes.bank import Bank, Best, losses, rates_of, scores
from probes.bank_rows import BlockRows, digest, read_rows
from probes.bank_trainer import CHECKPOINT, bank_trainer
from probes.fit import determinism
from probes.heads import Fitted, Place, Setting, choose
from probes.linear_probe import LinearProbe
from probes.part import Part
from thinkgap.errors import ConfigError, StoreError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import ProbeConfig, TrainerConfig

Curve = Callable[[int, Tensor, Tensor, Tensor], None]
"""Takes, after each epoch, its number from 1 and three `[S, G]` in float64: the mean loss of the epoch's batches, each
taken before its step, and accuracy and mean cross-entropy on the selection split. A resumed fit tells what was left."""


def row_order(n: int, seed: int, epoch: int) -> Tensor:
    """The order `[n]` of rows in an epoch. It depends on nothing else, so no result depends on block or process."""
    return torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(n))


class BankFit(pl.LightningModule):
    """AdamW on all heads of a block, and each head's best epoch so far.

    Args:
        places: S places, for messages and logged names.
        bank: their heads.
        rows: fit rows and selection rows.
        cfg: batch size.
        seed: of the order of rows.
        key: what a checkpoint must say to be resumed from; plain types.
        curve: told of each epoch.
    """

    def __init__(
        self,
        places: Sequence[Place],
        bank: Bank,
        rows: tuple[BlockRows, BlockRows],
        cfg: ProbeConfig,
        seed: int,
        key: dict[str, Any],
        curve: Curve | None,
    ) -> None:
        super().__init__()
        self.places, self.bank, self.rows = places, bank, rows
        self.batch_size, self.seed, self.key, self.curve = cfg.batch_size, seed, key, curve
        self.n_steps = cfg.epochs * -(-len(rows[0]) // cfg.batch_size) if cfg.adamw.decay else None
        self.best = Best.none(bank.heads())
        self.order = self.sums = torch.empty(0)

    def on_fit_start(self) -> None:
        """Bring the rows to the device once; a step picks some of them there."""
        fit, select = self.rows
        self.rows = fit.to(self.device), select.to(self.device)

    def training_step(self, step: int, _index: int) -> Tensor:
        """Sum over heads of the mean cross-entropy of one batch, so that each head's gradient is that of its own."""
        fit = self.rows[0]
        if step == 0:
            self.order = row_order(len(fit), self.seed, self.current_epoch).to(self.device)
            self.sums = torch.zeros(len(self.places), len(self.bank.rates), device=self.device)
        rows = self.order[step * self.batch_size : (step + 1) * self.batch_size]
        found = losses(self.bank(fit.states.index_select(1, rows), fit.k[rows]), fit.gold[rows])
        self.sums += found.detach() * len(rows)
        return found.sum()

    def on_train_epoch_end(self) -> None:
        """Score all heads on the selection split, and keep those that did better than ever.

        Raises:
            ConfigError: a head whose loss or weights are no longer finite.
        """
        epoch = self.current_epoch + 1
        fit, select = self.rows
        mean, heads = self.sums.cpu().double() / len(fit), self.bank.heads()
        self._check(epoch, torch.isfinite(mean) & torch.isfinite(heads.weight).all(-1).all(-1))
        found = scores(heads, select.states, select.gold, select.k)
        self.best.update(epoch, heads, found)
        if self.curve is not None:
            self.curve(epoch, mean, found.accuracy, found.loss)
        if self.logger is not None:
            reached = self.best.accuracy.amax(1).tolist()
            names = [f"{place.condition}/{place.state}/select_accuracy" for place in self.places]
            scalars = {"fit_loss": float(mean.mean()), **dict(zip(names, reached, strict=True))}
            self.logger.log_metrics(scalars, step=epoch)

    def _check(self, epoch: int, finite: Tensor) -> None:
        if bool(finite.all()):
            return
        place, setting = (~finite).nonzero()[0].tolist()
        rate = self.bank.rates[setting]
        raise ConfigError(
            f"the probe at {self.places[place].state}, condition {self.places[place].condition}, with {rate.name} has "
            f"a loss or weights that are not finite after epoch {epoch} ({int((~finite).sum())} of {finite.numel()} "
            "heads of its block): take smaller probe.adamw.learning_rates"
        )

    def configure_optimizers(self) -> Any:
        """AdamW with the rates of each head, which fall linearly to zero if asked for."""
        optimizer, n_steps = self.bank.optimizer(), self.n_steps
        if n_steps is None:
            return optimizer
        falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / n_steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": falling, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the best weights, and what the fit is of."""
        checkpoint["best"], checkpoint["key"] = vars(self.best), self.key

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take them back.

        Raises:
            StoreError: the checkpoint is of another fit.
        """
        other = [name for name, value in self.key.items() if checkpoint["key"].get(name) != value]
        if other:
            raise StoreError(f"{self.trainer.ckpt_path} is of a fit with other {', '.join(other)}: delete it")
        self.best = Best(**checkpoint["best"])


def fit_block_adamw(
    places: Sequence[Place],
    fit: Part,
    select: Part,
    cfg: ProbeConfig,
    trainer: TrainerConfig,
    seed: int,
    folder: Path | None = None,
    tell: Callable[[int], None] = lambda n_places: None,
    curve: Curve | None = None,
    logger: Logger | None = None,
    world: World = ALONE,
) -> list[Fitted]:
    """Fit every setting of `cfg.adamw` at every place of a block, and choose one for each place.

    A head's result does not depend on what else is in the block.

    Args:
        places: the block, one of `probes.heads.blocks`.
        fit: rows that heads are fitted to.
        select: rows on which epoch and setting are chosen.
        cfg: epochs, batch size, settings, bias.
        trainer: accelerator and bar; the fit takes one device of it, whatever `trainer.devices` says.
        seed: of the order of rows; nothing else is drawn.
        folder: gets the checkpoint `last.ckpt` after each epoch, and a call that finds one goes on from there to the
            same bytes. No other process may use the folder. Delete it when the results are kept.
        tell: told the number of places when they are done.
        curve: told of each epoch.
        logger: gets `fit_loss` (mean over heads) and `{condition}/{state}/select_accuracy` (best so far) by epoch.
        world: the processes of the job; nothing passes between them.

    Returns:
        One result for each place, in their order.

    Raises:
        ConfigError: settings that name no head, or with which a loss is no longer finite.
        DataError: a state that is not finite.
        StoreError: a checkpoint of another fit, or a damaged one.
    """
    rates = rates_of(cfg.adamw)
    if not rates or cfg.epochs < 1 or cfg.batch_size < 1:
        raise ConfigError(
            "probe.adamw needs at least one of learning_rates and of weight_decays, and probe.epochs and "
            "probe.batch_size must be at least 1"
        )
    rows, selection, standards = read_rows(places, fit, select)
    bank = Bank(len(places), rates, rows.states.shape[-1], int(fit.k.max()), cfg.bias)
    key = {
        "places": [list(place) for place in places],
        "settings": [list(one) for one in rates],
        "epochs": cfg.epochs,
        "decay": cfg.adamw.decay,
        "batch_size": cfg.batch_size,
        "bias": cfg.bias,
        "seed": seed,
        "data": digest(rows, selection, standards),
    }
    module = BankFit(places, bank, (rows, selection), cfg, seed, key, curve)
    steps = range(-(-len(rows) // cfg.batch_size))
    name = f"{places[0].condition} {places[0].state}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")
    with determinism():
        lightning = bank_trainer(trainer, world, cfg.epochs, len(steps), name, folder, logger)
        resumed = "last" if folder is not None and (folder / CHECKPOINT).exists() else None
        lightning.fit(module, steps, ckpt_path=resumed, weights_only=True)
    best = module.best
    # Lightning's objects refer to each other and so live until the collector comes; the rows, which fill the memory,
    # must not live with them.
    del module.rows
    fit_loss = scores(best.heads, rows.states, rows.gold, rows.k).loss
    fitted: list[Fitted] = []
    for at, (place, standard) in enumerate(zip(places, standards, strict=True)):
        settings = tuple(
            Setting(
                rate.name,
                float(best.accuracy[at, number]),
                float(best.loss[at, number]),
                float(fit_loss[at, number]),
                epoch=int(best.epoch[at, number]),
            )
            for number, rate in enumerate(rates)
        )
        chosen = choose(settings)
        # Copies: a probe that lives on must not keep the weights of the whole block.
        weight = best.weight[at, chosen].T.clone(memory_format=torch.contiguous_format)
        fitted.append(Fitted(place, LinearProbe(standard, weight, best.bias[at, chosen].clone()), chosen, settings))
    tell(len(places))
    return fitted
