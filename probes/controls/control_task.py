"""The control task of Hewitt and Liang (2019): a random slot for each question, which only memory can get right.

A probe that does well on it stores questions, and its accuracy on the task says less of the states. Selectivity is the
accuracy of the real probe minus that on the control task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.controls.draws import digest
from probes.controls.scores import Hits, difference, hits, right, source_order
from probes.heads import Fitter, Rows
from probes.part import Part
from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing

SELECTING = 0.2
"""Share of the questions with a held-out presentation on which the control's settings are chosen."""


@dataclass(frozen=True)
class ControlTask:
    """Accuracies on random slots, and what the real probe has above them."""

    seen: Estimate
    """On questions of the fit: their held-out presentations, or the fitted rows themselves."""
    in_sample: bool
    """Whether `seen` is on the fitted rows: an upper bound, so that `selectivity` is a lower bound."""
    selectivity: Estimate
    """Test accuracy of the real probe minus `seen`: other rows, so with the interval of independent rates."""
    unseen: Estimate
    """On the test questions with random slots of their own: chance, unless something leaks."""
    chance: float
    """mean(1/k) of those."""


@dataclass(frozen=True)
class Division:
    """Rows `[n]` of the fit split by what the control task takes them for."""

    fit: NDArray[np.bool_]
    select: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    in_sample: bool


def control_slots(part: Part, seed: int) -> Tensor:
    """`[n]` int64: a slot for each question, uniform over those it has, the same in all its presentations."""
    places = [
        digest(seed, "control slot", item) % k for item, k in zip(part.item_id.tolist(), part.k.tolist(), strict=True)
    ]
    return torch.tensor(places, dtype=torch.int64)


def divide(part: Part, seed: int) -> Division | Missing:
    """Hold out one presentation, drawn by seed, of each question that has several.

    A seeded share of those questions, at least one and not all, lends its held-out rows to the choice of settings and
    is in no figure: the control labels of the rows that are reported choose nothing. Where every question has one
    presentation, all three are all rows, and the setting that memorises best is chosen.
    """
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(part.item_id.tolist()):
        rows.setdefault(item, []).append(row)
    several = sorted((item for item in rows if len(rows[item]) > 1), key=lambda item: digest(seed, "selecting", item))
    if not several:
        everything = np.ones(len(part), dtype=bool)
        return Division(everything, everything, everything, in_sample=True)
    if len(several) < 2:
        return Missing("only one training question has several presentations; the control task needs one more")
    held_out = [_held_out(part, rows[item], seed) for item in several]
    selecting = min(max(1, round(SELECTING * len(several))), len(several) - 1)
    fit, select, seen = np.ones(len(part), dtype=bool), np.zeros(len(part), dtype=bool), np.zeros(len(part), dtype=bool)
    fit[held_out] = False
    select[held_out[:selecting]] = True
    seen[held_out[selecting:]] = True
    return Division(fit, select, seen, in_sample=False)


def _held_out(part: Part, rows: list[int], seed: int) -> int:
    """By the presentation's name, so that the order of the rows does not matter."""
    return min(rows, key=lambda row: digest(seed, f"held out\x1f{part.item_id[row]}", str(part.presentation[row])))


def control_hits(
    fit: Part, fit_states: Tensor, division: Division, test: Part, test_states: Tensor, fitter: Fitter, seed: int
) -> tuple[Hits, Hits]:
    """Fit on the control labels; hits on the division's seen rows and on all test rows. One fit.

    Args:
        fit: rows of the fit split.
        fit_states: `[n, d]`.
        division: of `fit`.
        test: rows of the test split.
        test_states: `[m, d]`.
        fitter: a way to get a probe.
        seed: of the control slots.
    """
    labels = control_slots(fit, seed)

    def rows(mask: NDArray[np.bool_]) -> Rows:
        picked = torch.from_numpy(mask)
        return Rows(fit_states[picked], labels[picked], fit.k[picked])

    probe = fitter(rows(division.fit), rows(division.select))
    return hits(probe, rows(division.seen)), hits(probe, Rows(test_states, control_slots(test, seed), test.k))


def control_task(
    fit: Part, test: Part, condition: str, state: str, fitter: Fitter, slots: Tensor, seed: int
) -> ControlTask | Missing:
    """Accuracy on random slots of seen and unseen questions, and selectivity. One fit.

    Args:
        fit: rows of the fit split, all presentations.
        test: of the test split; those in the source's order are reported.
        condition: where to read.
        state: where to read.
        fitter: a way to get a probe; its settings are chosen as `divide` says, not on the real selection split.
        slots: `[n]` what the real probe says of every row of `test`.
        seed: of the random slots and of the division.
    """
    division = divide(fit, seed)
    if isinstance(division, Missing):
        return division
    shown = source_order(test)
    own, picked = slots[torch.from_numpy(shown)], test.chosen(shown)
    seen_hits, unseen_hits = control_hits(
        fit, fit.state(condition, state), division, picked, picked.state(condition, state), fitter, seed
    )
    seen = metrics.rate(seen_hits, fit.group_id[division.seen])
    real = metrics.rate(right(own, picked), picked.group_id)
    return ControlTask(
        seen,
        division.in_sample,
        difference(real, seen),
        metrics.rate(unseen_hits, picked.group_id),
        metrics.mean_reciprocal_k(picked.k.numpy()),
    )
