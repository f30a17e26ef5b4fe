"""The same probe on other states of the same items: prompts without images, or a model with random weights.

What it still gets right there, the states of the real probe need not have got from the image, or from training.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from probes.controls.scores import hits, right, source_order
from probes.heads import Fitter, rows_at
from probes.part import Part
from thinkgap import metrics
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing


@dataclass(frozen=True)
class OtherStates:
    """A probe of other states beside the real one."""

    accuracy: Estimate
    """On its test rows in the source's order, in [0, 1]."""
    above: Estimate
    """Accuracy of the real probe minus its own, on the items that both have."""
    p_value: float
    """McNemar's, of that difference."""


def other_states(
    fit: Part,
    select: Part,
    test: Part,
    condition: str,
    state: str,
    fitter: Fitter,
    reference: Part,
    reference_slots: Tensor,
) -> OtherStates | Missing:
    """Fit and test on other states, and compare with the real probe item by item. One fit.

    Rows are in the source's order and paired by item: `control_text_only` is that order without the images.

    Args:
        fit: rows of the fit split with the other states.
        select: of the selection split.
        test: of the test split.
        condition: where to read.
        state: where to read.
        fitter: a way to get a probe.
        reference: rows of the test split with the states of the real probe.
        reference_slots: `[n]` what the real probe says of every row of `reference`.

    Raises:
        DataError: an item whose right slot or number of options is another one in `reference`.
    """
    if not len(fit) or not len(select):
        return Missing("no training or selection rows with such states")
    picked = test.chosen(source_order(test))
    real = np.flatnonzero(source_order(reference))
    place = dict(zip(reference.item_id[real].tolist(), real.tolist(), strict=True))
    paired = [row for row, item in enumerate(picked.item_id.tolist()) if item in place]
    if not paired:
        return Missing("no test item has both these states and those of the real probe")
    partners = [place[item] for item in picked.item_id[paired].tolist()]
    for row, partner in zip(paired, partners, strict=True):
        if (picked.gold[row], picked.k[row]) != (reference.gold[partner], reference.k[partner]):
            raise DataError(
                f"item {picked.item_id[row]} is shown in another order as {picked.presentation[row]} than as "
                f"{reference.presentation[partner]}: compute both runs with the same data set and seed"
            )
    probe = fitter(rows_at(fit, condition, state), rows_at(select, condition, state))
    own = hits(probe, rows_at(picked, condition, state))
    pair = metrics.paired_difference(own[paired], right(reference_slots, reference)[partners], picked.group_id[paired])
    return OtherStates(metrics.rate(own, picked.group_id), pair.difference, pair.p_value)
