"""Test accuracy by number of training questions: whether more of them would still help, and how few are enough."""

from __future__ import annotations

from dataclasses import dataclass

from probes.controls.draws import question_order, rows_of
from probes.controls.scores import hits, source_order
from probes.heads import Fitter, rows_at
from probes.part import Part
from thinkgap import metrics
from thinkgap.metrics import Estimate

SMALLEST = 8


@dataclass(frozen=True)
class CurvePoint:
    """A probe of some of the training questions."""

    questions: int
    rows: int
    """Those questions in all their presentations."""
    accuracy: Estimate
    """On the test rows in the source's order, in [0, 1]."""


def learning_curve(
    fit: Part, select: Part, test: Part, condition: str, state: str, fitter: Fitter, seed: int
) -> tuple[CurvePoint, ...]:
    """Fit on growing, nested sets of questions, drawn by seed; settings are chosen on the whole selection split.

    Fits: one to a size, about log2(questions / 8). The last one is on all rows, as the real probe's is,
    which may be another solver's.
    """
    order = question_order(fit, seed, "learning curve")
    picked = test.chosen(source_order(test))
    rows, selecting = rows_at(picked, condition, state), rows_at(select, condition, state)
    points = []
    for size in sizes(len(order), int(fit.k.max()) if len(fit) else 0):
        part = fit.chosen(rows_of(fit, order[:size]))
        probe = fitter(rows_at(part, condition, state), selecting)
        points.append(CurvePoint(size, len(part), metrics.rate(hits(probe, rows), picked.group_id)))
    return tuple(points)


def sizes(n: int, slots: int) -> list[int]:
    """Powers of two from 8, or from twice the number of slots, below `n`; then `n`."""
    power = max(SMALLEST, 2 * slots) - 1
    size = 1 << power.bit_length()
    found = []
    while size < n:
        found.append(size)
        size *= 2
    return [*found, n] if n else []
