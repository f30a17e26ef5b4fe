"""How a control's accuracy is taken and set against the probe's, with intervals clustered by group.

Knows no control.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from probes.heads import Rows
from probes.linear_probe import LinearProbe
from probes.part import Part
from thinkgap import metrics
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import CONTROL, IDENTITY

Hits = NDArray[np.bool_]
"""`[n]`: whether each row is right."""


@dataclass(frozen=True)
class Compared:
    """A control beside the probe that it controls."""

    accuracy: Estimate
    """Of the control, in [0, 1]."""
    above: Estimate
    """Accuracy of the probe minus that of the control on the same rows, in [-1, 1]."""


def source_order(part: Part) -> NDArray[np.bool_]:
    """Rows `[n]` in the source's order, one to an item: `identity`, or a control such as `control_text_only`.

    A control's rows count where no row is `identity`, which is so in the states of prompts without images.

    Raises:
        DataError: two such rows of one item.
    """
    names = part.presentation.tolist()
    plain = [name == IDENTITY for name in names]
    shown = np.array(plain if any(plain) else [name.startswith(CONTROL) for name in names], dtype=bool)
    times = Counter(part.item_id[shown].tolist())
    twice = next((item for item, count in times.items() if count > 1), None)
    if twice is not None:
        raise DataError(
            f"item {twice} has {times[twice]} {part.role} rows in the source's order "
            f"({', '.join(sorted(set(part.presentation[shown].tolist())))}): give one control at a time"
        )
    return shown


def hits(probe: LinearProbe, rows: Rows) -> Hits:
    """Whether the probe names slot `rows.gold` of each row."""
    return (probe.slots(rows.states, rows.k) == rows.gold).numpy()


def right(slots: Tensor, part: Part) -> Hits:
    """Whether slots `[n]` are the part's right ones."""
    return (slots.cpu() == part.gold).numpy()


def compared(control: Hits, probe: Hits, groups: NDArray[Any]) -> Compared:
    """Both on the same `[n]` rows: Wilson's interval of the rate, and that of the mean of row differences."""
    return Compared(metrics.rate(control, groups), metrics.paired_difference(control, probe, groups).difference)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """`first - second` of two rates on independent rows, with Newcombe's interval (1998, method 10).

    low = d - sqrt((p1 - l1)^2 + (u2 - p2)^2), high = d + sqrt((u1 - p1)^2 + (p2 - l2)^2) with the bounds l, u of each
    rate, here clustered; `n` counts the rows of both.
    """
    value = first.value - second.value
    below = math.hypot(first.value - first.low, second.high - second.value)
    beyond = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - below, value + beyond, first.n + second.n)
