"""All controls of a run: one condition after another, shared out over processes, each kept as soon as it is done.

Knows which controls were asked for and what each needs; the controls themselves are their own files' matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from probes.controls.capacity import capacity
from probes.controls.control_task import control_task
from probes.controls.learning_curve import learning_curve
from probes.controls.online_code import online_code
from probes.controls.other_states import OtherStates, other_states
from probes.controls.priors import priors
from probes.controls.scores import hits, source_order
from probes.controls.sheet import ConditionControls, off
from probes.controls.shuffled import refit_on_shuffled, shuffled_states
from probes.controls.stored import read_controls, stored_controls, write_controls
from probes.heads import Fitted, Fitter, Place, rows_at
from probes.part import Part
from thinkgap import metrics
from thinkgap.parallel import World
from thinkgap.readouts.sheet import Missing
from thinkgap.schema import ProbeConfig
from thinkgap.tracking.progress import progress

Parts = tuple[Part, Part, Part]
"""Fit, select, test."""
T = TypeVar("T")


def run_controls(
    cfg: ProbeConfig,
    parts: Parts,
    others: Mapping[str, Parts | Missing],
    fitted: Mapping[Place, Fitted],
    fitter: Fitter,
    coder: Fitter,
    folder: Path,
    world: World,
    *,
    seed: int,
    shown: bool,
) -> list[ConditionControls]:
    """Controls of every condition's probe at `probe.state`, in the order of conditions; in every process.

    Args:
        cfg: which are asked for.
        parts: what the probes were fitted, chosen and tested on.
        others: `text_only` and `random_weights` -> the same items' other states, or why there are none.
        fitted: the probes.
        fitter: how controls are fitted.
        coder: the same for the online code, by lowest loss: code lengths are losses, and a probe that is right most
            often may be far too sure.
        folder: where finished ones are kept.
        world: each process takes every `world.size`-th condition.
        seed: of all draws.
        shown: whether to show a progress bar, on a terminal.
    """
    conditions = [name for name in parts[0].conditions if Place(name, cfg.state) in fitted]
    if world.is_first:
        folder.mkdir(parents=True, exist_ok=True)
    left = world.from_first([name for name in conditions if stored_controls(folder, name) is None])
    mine = world.share(left)
    with progress(
        total=len(mine), description="controls", unit="condition", enabled=shown and world.is_first and bool(mine)
    ) as bar:
        for name in mine:
            probe = fitted[Place(name, cfg.state)]
            found = _condition(cfg, parts, others, probe, fitter, coder, seed)
            write_controls(folder, found)
            bar.update(1)
    world.barrier()
    return read_controls(folder, conditions)


def _condition(
    cfg: ProbeConfig,
    parts: Parts,
    others: Mapping[str, Parts | Missing],
    probe: Fitted,
    fitter: Fitter,
    coder: Fitter,
    seed: int,
) -> ConditionControls:
    fit, select, test = parts
    name, state = probe.place
    asked = cfg.controls
    rows = rows_at(test, name, state)
    slots = probe.probe.slots(rows.states, rows.k)
    source = test.chosen(source_order(test))
    own = hits(probe.probe, rows_at(source, name, state))

    def when(setting: str, made: Callable[[], T]) -> T | Missing:
        return made() if getattr(asked, setting) else off(setting)

    def on_other(setting: str) -> OtherStates | Missing:
        if not getattr(asked, setting):
            return off(setting)
        found = others[setting]
        if isinstance(found, Missing):
            return found
        return other_states(*found, name, state, fitter, test, slots)

    return ConditionControls(
        name,
        state,
        metrics.rate(own, source.group_id),
        when("shuffled_states", lambda: shuffled_states(test, name, state, probe.probe, seed)),
        when("shuffled_states", lambda: refit_on_shuffled(fit, select, test, name, state, fitter, slots, seed)),
        when("control_task", lambda: control_task(fit, test, name, state, fitter, slots, seed)),
        when("prior", lambda: priors(fit, test, slots)),
        on_other("text_only"),
        on_other("random_weights"),
        when("capacity", lambda: capacity(fit, select, test, name, state, fitter, seed, with_control=True)),
        when("mdl", lambda: online_code(fit, select, name, state, coder, seed, cfg.draws)),
        when("learning_curve", lambda: learning_curve(fit, select, test, name, state, fitter, seed)),
    )
