"""Fitting all probes of a run: blocks of places, shared out over processes, each kept on disk as soon as it is done.

A block's result depends on its rows and settings alone, so that neither the number of processes nor a kill changes a
figure. Knows no table.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pytorch_lightning.loggers import Logger

from probes.bank_fit import fit_block_adamw
from probes.block_store import read_block, write_block
from probes.exact import fit_block_exact, fit_selected
from probes.heads import Fitted, Fitter, Place, Rows, Setting, blocks, choose
from probes.linear_probe import LinearProbe
from probes.part import Part
from thinkgap.errors import StoreError
from thinkgap.parallel import World
from thinkgap.schema import ProbeConfig, ProbeSolver, TrainConfig, TrainerConfig
from thinkgap.tracking.progress import progress

log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 30
"""States of the fit split that a block holds at a time, in float32."""


def fit_places(
    cfg: TrainConfig, fit: Part, select: Part, conditions: Sequence[str], states: Sequence[str], folder: Path,
    world: World, logger: Logger | None = None,
) -> dict[Place, Fitted]:  # fmt: skip
    """Fit every condition at every state, or take up what is there.

    Args:
        cfg: the settings.
        fit: rows to train on.
        select: rows to choose on.
        conditions: which get a probe.
        states: which states are read.
        folder: where finished blocks are kept.
        world: the processes of this job; each fits every `world.size`-th block.
        logger: Lightning's; gets the curves of this process's blocks.

    Returns:
        All places, in order; in every process.

    Raises:
        DataError: states that are not finite.
        StoreError: a block that another process should have left is not there.
    """
    n_slots, d = int(fit.k.max()), fit.states(conditions[0], states[:1]).shape[-1]
    shared = blocks(conditions, states, len(fit), d, _BLOCK_BYTES)
    left: list[int] = []
    if world.is_first:
        folder.mkdir(parents=True, exist_ok=True)
        left = [number for number, places in enumerate(shared) if not _there(folder, number, places, d, n_slots)]
        if len(left) < len(shared):
            log.info("%d of %d blocks of probes are there already", len(shared) - len(left), len(shared))
    mine = world.share(world.from_first(left))
    n_places = sum(len(shared[number]) for number in mine)
    trainer = replace(cfg.trainer, progress=cfg.trainer.progress and world.is_first)
    # A bank shows a bar of its own, of steps.
    shown = trainer.progress and cfg.probe.solver is ProbeSolver.exact
    with progress(total=n_places, description="probes", unit="probe", enabled=shown) as bar:

        def told(n: int) -> None:
            bar.update(n)

        for number in mine:
            scratch = folder / f"fit-{number:03d}"
            fitted = _fit_block(cfg, trainer, shared[number], fit, select, scratch, told, logger, world)
            write_block(folder, number, fitted)
            shutil.rmtree(scratch, ignore_errors=True)
    world.barrier()
    found: dict[Place, Fitted] = {}
    for number, places in enumerate(shared):
        fitted = read_block(folder, number, places, d, n_slots)
        if fitted is None:
            raise StoreError(f"{folder}: block {number} of the probes is not there; run the same command again")
        found |= {one.place: one for one in fitted}
    return found


def _fit_block(
    cfg: TrainConfig,
    trainer: TrainerConfig,
    places: Sequence[Place],
    fit: Part,
    select: Part,
    scratch: Path,
    tell: Callable[[int], None],
    logger: Logger | None,
    world: World,
) -> list[Fitted]:
    if cfg.probe.solver is ProbeSolver.exact:
        return fit_block_exact(places, fit, select, cfg.probe, tell)
    return fit_block_adamw(places, fit, select, cfg.probe, trainer, cfg.seed, scratch, tell, logger=logger, world=world)


def _there(folder: Path, number: int, places: Sequence[Place], d: int, n_slots: int) -> bool:
    return read_block(folder, number, places, d, n_slots) is not None


def control_fitter(cfg: ProbeConfig, n_slots: int, best: Callable[[Sequence[Setting]], int] = choose) -> Fitter:
    """How controls are fitted, whatever the solver: exactly, with C chosen on the selection rows by `best`."""

    def fitted(fit: Rows, select: Rows, /) -> LinearProbe:
        return fit_selected(fit, select, cfg.exact, bias=cfg.bias, n_slots=n_slots, best=best).probe

    return fitted
