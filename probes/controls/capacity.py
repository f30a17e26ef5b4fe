"""How much of a state a probe needs: accuracy on random projections to growing numbers of dimensions.

An answer that a handful of random directions hold is spread over the state; one that only all of them hold may be
there, or be fitted by so many weights. The control task in as many dimensions tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from probes.controls.control_task import control_hits, divide
from probes.controls.scores import hits, source_order
from probes.heads import Fitter, Rows, rows_at
from probes.linear_probe import Standard
from probes.part import Part
from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing


@dataclass(frozen=True)
class CapacityPoint:
    """Probes of one number of dimensions."""

    dimensions: int
    accuracy: Estimate
    """On the test rows in the source's order, in [0, 1]."""
    control: Estimate | Missing
    """On the control task, seen questions (`control_task.ControlTask.seen`)."""


def capacity(
    fit: Part,
    select: Part,
    test: Part,
    condition: str,
    state: str,
    fitter: Fitter,
    seed: int,
    *,
    with_control: bool = False,
) -> tuple[CapacityPoint, ...]:
    """Probe random projections of the state to 1, 2, 4, ... and finally all d dimensions.

    States are standardised on the fit split first, or the few features of the largest variance would be all that a
    projection holds. The m columns are the first m of one seeded Gaussian matrix `[d, m]`, so each projection holds the
    smaller ones; all d dimensions are the state itself. Fits: ceil(log2 d) + 1, twice as many with the control task.

    Args:
        fit: rows of the fit split.
        select: of the selection split.
        test: of the test split; those in the source's order are reported.
        condition: where to read.
        state: where to read.
        fitter: a way to get a probe.
        seed: of the projections and of the control task.
        with_control: whether to fit the control task in as many dimensions too.
    """
    division = divide(fit, seed) if with_control else Missing("the control task was not asked for")
    picked = test.chosen(source_order(test))
    rows = [rows_at(part, condition, state) for part in (fit, select, picked)]
    standard = Standard.of(rows[0].states)
    rows = [one._replace(states=standard(one.states)) for one in rows]
    d = rows[0].states.shape[1]
    sizes = dimensions(d)
    matrix = _gaussian(d, sizes[-2] if len(sizes) > 1 else 0, seed)
    points = []
    for m in sizes:
        fitted, selected, tested = (one if m == d else _projected(one, matrix[:, :m]) for one in rows)
        if isinstance(division, Missing):
            control = division
        else:
            seen, _ = control_hits(fit, fitted.states, division, picked, tested.states, fitter, seed)
            control = metrics.rate(seen, fit.group_id[division.seen])
        accuracy = metrics.rate(hits(fitter(fitted, selected), tested), picked.group_id)
        points.append(CapacityPoint(m, accuracy, control))
    return tuple(points)


def dimensions(d: int) -> list[int]:
    """Powers of two below d, and d."""
    return [*(2**power for power in range((d - 1).bit_length())), d]


def _gaussian(d: int, m: int, seed: int) -> Tensor:
    """`[d, m]` float32 of variance 1/d."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((d, m), dtype=np.float32)) / d**0.5


def _projected(rows: Rows, matrix: Tensor) -> Rows:
    return rows._replace(states=rows.states @ matrix)
