"""Fitting all probes of a run: blocks of places, shared out over processes, each kept on disk as soon as it is done.

A block's result depends on its rows and settings alone, so that neither the number of processes nor a kill changes a
figure. Knows no table.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from thinkgap.parallel import World

from probes.bank_fit import fit_block_adamw
from probes.block_store import finished_blocks, read_block, write_block
from probes.exact import fit_block_exact, fit_selected
from probes.heads import Fitted, Fitter, Place, Rows, blocks
from probes.linear_probe import LinearProbe
from probes.part import Part
from thinkgap.errors import StoreError
from thinkgap.schema import ProbeConfig, ProbeSolver, TrainConfig
from thinkgap.tracking.progress import progress

log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 30
"""States of the fit split that a block holds at a time, in float32."""


def fit_places(
    cfg: TrainConfig, fit: Part, select: Part, conditions: Sequence[str], states: Sequence[str], folder: Path,
    world: World, curve: Callable[[dict[str, float], int], None] | None = None,
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
        curve: called with the figures of an epoch, in the first process.

    Returns:
        All places, in order; in every process.

    Raises:
        DataError: states that are not finite.
        StoreError: a block that another process should have left is not there.
    """
    n_slots, d = int(fit.k.max()), fit.states(conditions[0], states[:1]).shape[-1]
    shared = blocks(conditions, states, len(fit), d, _BLOCK_BYTES)
    if world.is_first:
        folder.mkdir(parents=True, exist_ok=True)
        done = finished_blocks(folder, shared, d, n_slots)
        if done:
            log.info("%d of %d blocks of probes are there already", len(done), len(shared))
    done = set(world.from_first(sorted(done) if world.is_first else []))
    left = [number for number in range(len(shared)) if number not in done]
    mine = world.share(left)
    n_places = sum(len(shared[number]) for number in mine)
    shown = cfg.trainer.progress and world.is_first
    with progress(total=n_places, description=f"probes ({cfg.probe.solver.name})", unit="probe", enabled=shown) as bar:
        for number in mine:
            scratch = folder / f"fit-{number:03d}"
            fitted = _fit_block(cfg, shared[number], fit, select, scratch, bar.update, world)
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
    places: Sequence[Place],
    fit: Part,
    select: Part,
    scratch: Path,
    tell: Callable[[int], object],
    world: World,
) -> list[Fitted]:
    if cfg.probe.solver is ProbeSolver.exact:
        return fit_block_exact(places, fit, select, cfg.probe, tell)
    return fit_block_adamw(places, fit, select, cfg.probe, cfg.trainer, cfg.seed, scratch, tell, world=world)


def control_fitter(cfg: ProbeConfig, n_slots: int) -> Fitter:
    """How controls are fitted, whatever the solver: exactly, with C chosen on the selection rows."""

    def fitted(fit: Rows, select: Rows, /) -> LinearProbe:
        return fit_selected(fit, select, cfg.exact, bias=cfg.bias, n_slots=n_slots).probe

    return fitted
