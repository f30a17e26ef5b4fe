"""Accuracies of answers that need no state: one slot for all, one for each number of options, the first, any.

Knows no states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from probes.controls.scores import Compared, compared, right, source_order
from probes.part import Part
from thinkgap import metrics


@dataclass(frozen=True)
class Priors:
    """On the test rows in the source's order."""

    majority: Compared
    """The slot that is right most often on the fit split, among those that the item has."""
    by_k: Compared
    """The same among the fit rows with as many options; `majority` where there are none."""
    first: Compared
    """The first slot: its accuracy is the gold-first rate."""
    chance: float
    """mean(1/k)."""
    majority_slot: int
    """On the fit split, over all numbers of options."""
    slot_by_k: Mapping[int, int]
    """Number of options -> slot, of each number that the fit split has."""


def priors(fit: Part, test: Part, slots: Tensor) -> Priors:
    """Count slots on all rows of `fit`, as the probe saw them, and answer `test` with them. No fits.

    Args:
        fit: rows of the fit split.
        test: of the test split; those in the source's order are reported.
        slots: `[n]` what the probe says of every row of `test`.
    """
    shown = source_order(test)
    own, picked = slots[torch.from_numpy(shown)], test.chosen(shown)
    overall = torch.bincount(fit.gold)
    by_k = {k: int(torch.bincount(fit.gold[fit.k == k]).argmax()) for k in sorted(set(fit.k.tolist()))}
    # Slots beyond an item's options cannot be named; of equally frequent ones the first is.
    majority = torch.tensor([int(overall[:k].argmax()) for k in picked.k.tolist()])
    frequent = torch.tensor([by_k.get(k, slot) for k, slot in zip(picked.k.tolist(), majority.tolist(), strict=True)])

    def against(answers: Tensor) -> Compared:
        return compared(right(answers, picked), right(own, picked), picked.group_id)

    return Priors(
        against(majority),
        against(frequent),
        against(torch.zeros_like(picked.gold)),
        metrics.mean_reciprocal_k(picked.k.numpy()),
        int(overall.argmax()),
        by_k,
    )
