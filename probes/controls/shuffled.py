"""States that belong to other items: read by the probe, or fitted on (prefix study: 86.25 to 33.75, chance 32.65).

Where states and answers no longer belong together, all that is left is how often each slot is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from probes.controls.draws import givers
from probes.controls.scores import Compared, compared, hits, right, source_order
from probes.heads import Fitter, Rows, rows_at
from probes.linear_probe import LinearProbe
from probes.part import Part
from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing

DRAWS = 20
_ALONE = Missing("fewer than two rows: there is no other item to take a state from")


@dataclass(frozen=True)
class Shuffled:
    """Accuracy of the probe on other items' states, over several draws."""

    accuracy: Estimate
    """Mean over rows and draws, in [0, 1]."""
    above: Estimate
    """Accuracy of the probe on the rows' own states minus that."""
    chance: float
    """mean(1/k) of the rows."""
    gold_histogram: float
    """What naming slots at random, each as often as it is right among items with as many options, would give."""
    draws: int
    """Permutations."""


def shuffled_states(
    test: Part, condition: str, state: str, probe: LinearProbe, seed: int, draws: int = DRAWS
) -> Shuffled | Missing:
    """The fitted probe reads test states permuted across items. No fits.

    Each row of the source's order keeps its right slot and its number of options and gets the state of another row. The
    mean is over all rows and `draws` permutations. A row enters it twice, with its answer and with its state, so the
    interval is that of the mean of a_i + b_i - mean, where a_i is the mean hit with i's answer and b_i with i's state:
    the usual linear form of a mean over pairs.
    """
    test = test.chosen(source_order(test))
    n = len(test)
    if n < 2:
        return _ALONE
    rows = rows_at(test, condition, state)
    rng = np.random.default_rng(seed)
    taken, given = np.zeros(n), np.zeros(n)
    for _ in range(draws):
        giver = givers(n, rng)
        hit = hits(probe, rows._replace(states=rows.states[torch.from_numpy(giver)]))
        taken += hit / draws
        given[giver] += hit / draws
    both = taken + given - taken.mean()
    own = hits(probe, rows).astype(float)
    return Shuffled(
        metrics.mean(both, test.group_id),
        metrics.mean(own - both, test.group_id),
        metrics.mean_reciprocal_k(test.k.numpy()),
        gold_histogram(test),
        draws,
    )


def gold_histogram(part: Part) -> float:
    """sum_k n_k / n * sum_s g_k(s)^2, with g_k(s) the share of slot s among the right slots of items of k options."""
    total = 0.0
    for k in part.k.unique():
        counts = torch.bincount(part.gold[part.k == k]).double()
        total += float((counts**2).sum() / counts.sum())
    return total / len(part)


def refit_on_shuffled(
    fit: Part, select: Part, test: Part, condition: str, state: str, fitter: Fitter, slots: Tensor, seed: int
) -> Compared | Missing:
    """A probe fitted where each row has another row's state, tested on intact states. One fit.

    Fit and selection states are permuted among the rows of their own split, all presentations together, so a setting is
    chosen as it would be where states say nothing.

    Args:
        fit: rows of the fit split.
        select: of the selection split.
        test: of the test split; those in the source's order are reported.
        condition: where to read.
        state: where to read.
        fitter: a way to get a probe.
        slots: `[n]` what the real probe says of every row of `test`.
        seed: of the permutations.
    """
    if min(len(fit), len(select)) < 2:
        return _ALONE
    rng = np.random.default_rng(seed)
    probe = fitter(_permuted(rows_at(fit, condition, state), rng), _permuted(rows_at(select, condition, state), rng))
    shown = source_order(test)
    picked = test.chosen(shown)
    own = right(slots[torch.from_numpy(shown)], picked)
    return compared(hits(probe, rows_at(picked, condition, state)), own, picked.group_id)


def _permuted(rows: Rows, rng: np.random.Generator) -> Rows:
    return rows._replace(states=rows.states[torch.from_numpy(givers(len(rows.k), rng))])
