"""Figures of one condition: what the model's own readout and a probe say of the same rows, and how the two differ.

Functions of predictions alone. Knows no sheet and no file. Formulas: `docs/probes.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probes.predictions import LAYER, STUDY, Predictions, Probed
from thinkgap import metrics
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.metrics.bootstrap import bootstrap_means


@dataclass(frozen=True)
class Figures:
    """A condition's native readout beside the probe that was trained on it; shares in [0, 1]."""

    condition: str
    native: Estimate
    probe: Estimate
    gap: PairedDifference
    """Probe minus native, on the same rows."""
    native_first: Estimate
    """First-slot rate."""
    probe_first: Estimate
    gold_first: float
    """First-slot rate of a perfect readout."""
    chance: float
    """Mean of 1/k."""
    fixed_slot: float
    """Accuracy of always saying one slot, the one that is right most often among these rows with the same k."""
    gamma: Estimate | None
    """Gap minus the gap under the reference, on the same rows; None for the reference, and where it has no probe."""

    @property
    def n(self) -> int:
        """Rows."""
        return self.native.n


def study_probe(condition: str, state: str, trained_on: str | None = None) -> Probed:
    """The probe at the study's state, by default the one that was trained on the condition that is read."""
    return Probed(condition, trained_on or condition, STUDY, state)


def layer_probe(condition: str, state: str) -> Probed:
    """The probe of one state on its own condition."""
    return Probed(condition, condition, LAYER, state)


def figures(
    found: Predictions, conditions: Sequence[str], state: str, reference: str, draws: int, seed: int
) -> list[Figures]:
    """Figures of the probe at `state`, by condition; conditions without a probe are left out.

    Args:
        found: predictions; all of their rows are used.
        conditions: their order.
        state: the study's.
        reference: condition whose gap is taken away in `gamma`.
        draws: of the bootstrap behind its interval.
        seed: of the draws.
    """
    base = excess(found, reference, state)
    figures = []
    for name in conditions:
        own = excess(found, name, state)
        if own is None:
            continue
        slots, native = found.probes[study_probe(name, state)], found.native[name]
        gamma = None
        if base is not None and name != reference:
            gamma = bootstrap_means((own - base)[:, None], found.group_id, draws, seed)[0]
        figures.append(
            Figures(
                name,
                accuracy(found, native),
                accuracy(found, slots),
                difference(found, native, slots),
                metrics.first_slot_rate(native, found.group_id),
                metrics.first_slot_rate(slots, found.group_id),
                metrics.gold_first_rate(found.gold).value,
                metrics.mean_reciprocal_k(found.k),
                best_fixed_slot(found),
                gamma,
            )
        )
    return figures


def best_fixed_slot(found: Predictions) -> float:
    """Share of rows that are right by the slot that is right most often among the rows of their k; NaN without rows."""
    if not len(found):
        return math.nan
    hits = (np.bincount(found.gold[found.k == k]).max() for k in np.unique(found.k))
    return float(sum(hits)) / len(found)


def excess(found: Predictions, condition: str, state: str) -> NDArray[np.float64] | None:
    """Probe right minus native right, -1, 0 or 1 per row `[n]`; None without a probe."""
    slots = found.probes.get(study_probe(condition, state))
    if slots is None:
        return None
    return found.right(slots).astype(np.float64) - found.right(found.native[condition])


def accuracy(found: Predictions, slots: NDArray[Any]) -> Estimate:
    """Share of rows whose slot of `slots` `[n]` is right."""
    return metrics.rate(found.right(slots), found.group_id)


def difference(found: Predictions, before: NDArray[Any], after: NDArray[Any]) -> PairedDifference:
    """Accuracy of slots `after` `[n]` minus that of `before` `[n]`."""
    return metrics.paired_difference(found.right(before), found.right(after), found.group_id)


def right_in_all(found: Predictions, slots: NDArray[Any]) -> Estimate:
    """Share of the items shown in more than one order that are right in every order; `n` counts items."""
    _, starts, shown = np.unique(found.item_id, return_index=True, return_counts=True)
    # Rows are sorted by item.
    right = np.logical_and.reduceat(found.right(slots), starts)
    return metrics.rate(right[shown > 1], found.group_id[starts][shown > 1])
