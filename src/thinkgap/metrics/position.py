"""Position bias: how often the first slot is predicted, and the baselines to read that against.

Slots are 0-based positions on screen; contents do not appear here (study A, section 1.9; method reference 7).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from thinkgap.metrics.intervals import Estimate, as_values, rate


def first_slot_rate(pred_slots: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of rows whose predicted slot is the first (study A, tables 1 and 2: "first slot").

    Args:
        pred_slots: Predicted slot of each row, shape [n].
        groups: Group of each row, shape [n], or None.
    """
    return rate(as_values(pred_slots) == 0, groups)


def gold_first_rate(gold_slots: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Share of rows whose right answer stands in the first slot: the first-slot rate of a perfect model.

    Args:
        gold_slots: Slot of the right answer of each row, shape [n].
        groups: Group of each row, shape [n], or None.
    """
    return rate(as_values(gold_slots) == 0, groups)


def mean_reciprocal_k(k: ArrayLike) -> float:
    """Mean of 1/k: the first-slot rate, and the accuracy, of uniform guessing.

    A property of the rows that were shown and not an estimate, so it has no interval.

    Args:
        k: Number of options of each row, shape [n].

    Returns:
        Share in (0, 1]; NaN without rows.

    Raises:
        ValueError: A row with fewer than one option.
    """
    array = as_values(k)
    if np.any(array < 1):
        raise ValueError(f"a row with {array.min():g} options has no slot to guess")
    return float(np.mean(1.0 / array)) if len(array) else math.nan
