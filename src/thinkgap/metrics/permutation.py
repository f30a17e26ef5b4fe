"""Slot bias over several orders of the options: recall by slot, entropy of the predicted slots, and flips.

Slots are 0-based positions on screen; a prediction of -1 is none (the answer could not be read). All figures are within
one number of options k. Contents do not appear here: `metrics.agreement` has those (method reference 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.intervals import Estimate, rate

Array = NDArray[np.float64]


def slots(values: ArrayLike, k: int) -> NDArray[np.int64]:
    """Slots of any shape as integers.

    Raises:
        ValueError: A slot outside -1..k-1: rows of another number of options are among them.
    """
    array = np.asarray(values, dtype=np.int64)
    if array.size and (array.min() < -1 or array.max() >= k):
        raise ValueError(f"slots from {array.min()} to {array.max()} among rows of k = {k}: take one k at a time")
    return array


def slot_histogram(pred_slots: ArrayLike, k: int) -> NDArray[np.int64]:
    """Number of predictions of each slot, shape [k]; rows without a prediction are in none.

    Args:
        pred_slots: Predicted slots, any shape.
        k: Number of options.
    """
    predicted = slots(pred_slots, k)
    return np.bincount(predicted[predicted >= 0], minlength=k)


def slot_recalls(pred_slots: ArrayLike, gold_slots: ArrayLike, k: int) -> Array:
    """P(predicted = j | gold = j) for each slot j, shape [k]; NaN where the right answer never stands.

    A row without a prediction is a miss.

    Args:
        pred_slots: Predicted slots, any shape.
        gold_slots: Slots of the right answers, the same shape.
        k: Number of options.
    """
    predicted, gold = slots(pred_slots, k), slots(gold_slots, k)
    hits = np.bincount(gold[predicted == gold], minlength=k)
    return _recalls(hits, np.bincount(gold.ravel(), minlength=k))


def rstd(pred_slots: ArrayLike, gold_slots: ArrayLike, k: int) -> float:
    """RStd: population SD over slots of `slot_recalls` (Zheng et al. 2309.03882), a share in [0, 0.5].

    0 says that the right answer is found equally often wherever it stands. NaN where a slot never holds it.
    """
    recalls = slot_recalls(pred_slots, gold_slots, k)
    return float(recalls.std())


def rsd(pred_slots: ArrayLike, gold_slots: ArrayLike, k: int) -> float:
    """RSD: `rstd` over the mean recall, without unit; NaN also where nothing is right."""
    recalls = slot_recalls(pred_slots, gold_slots, k)
    return float(recalls.std() / recalls.mean()) if recalls.mean() else math.nan


def rstd_of_counts(hits: ArrayLike, golds: ArrayLike) -> Array:
    """`rstd` from counts: rows [..., k] with gold in each slot, and those of them that are right; shape [...]."""
    return _recalls(hits, golds).std(axis=-1)


def rstd_around(hits: ArrayLike, golds: ArrayLike) -> Callable[[Array, Array], Array]:
    """RStd that resampling alone makes: population SD over slots of resampled less observed recalls.

    Recalls of few rows scatter, so RStd is above 0 without any bias. The distribution of this over bootstrap draws is
    the one that RStd would have if recalls were equal; a high percentile of it is what chance reaches.

    Args:
        hits: Observed rows with gold in each slot that are right, shape [k].
        golds: Observed rows with gold in each slot, shape [k].

    Returns:
        A function of resampled hits and golds, shapes [..., k], to the SD, shape [...].
    """
    observed = _recalls(hits, golds)
    return lambda drawn_hits, drawn_golds: (_recalls(drawn_hits, drawn_golds) - observed).std(axis=-1)


def rsd_of_counts(hits: ArrayLike, golds: ArrayLike) -> Array:
    """`rsd` from the counts that `rstd_of_counts` takes; shape [...]."""
    recalls = _recalls(hits, golds)
    with np.errstate(divide="ignore", invalid="ignore"):
        return recalls.std(axis=-1) / recalls.mean(axis=-1)


def _recalls(hits: ArrayLike, golds: ArrayLike) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(hits, dtype=np.float64) / np.asarray(golds, dtype=np.float64)


def slot_entropy(counts: ArrayLike) -> Array:
    """Normalised entropy of the predicted slots: -sum_j p_j ln p_j / ln k, with p_j = (count_j + 0.5) / (n + k / 2).

    1 says that all slots are predicted equally often, 0 (in the limit of many rows) that one always is. NaN without
    predictions, and where k is 1.

    Args:
        counts: Predictions of each slot, shape [..., k] (`slot_histogram`).
    """
    array = np.asarray(counts, dtype=np.float64)
    k, n = array.shape[-1], array.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (array + 0.5) / (n[..., None] + k / 2)
        entropy = -np.sum(p * np.log(p), axis=-1) / np.log(k)
    return np.where(n > 0, entropy, np.nan)


def slot_divergence(counts: ArrayLike) -> Array:
    """Kullback-Leibler divergence of the predicted slots from uniform ones, in nats: ln k (1 - `slot_entropy`)."""
    array = np.asarray(counts, dtype=np.float64)
    return np.log(array.shape[-1]) * (1 - slot_entropy(array))


def miller_madow(counts: ArrayLike) -> float:
    """By how much, in nats, a plain entropy of n predictions falls short on average: (m - 1) / 2n (Miller 1955).

    m is the number of slots that occur. A divergence from uniform is too large by as much. NaN without predictions.

    Args:
        counts: Predictions of each slot, shape [k].
    """
    array = np.asarray(counts, dtype=np.float64)
    n = array.sum()
    return float((np.count_nonzero(array) - 1) / (2 * n)) if n else math.nan


def flips_to_first(
    reference_correct: ArrayLike, correct: ArrayLike, pred_slots: ArrayLike, groups: ArrayLike | None = None
) -> Estimate:
    """Of the rows right under the reference and wrong under the condition, the share predicted in the first slot.

    `n` is the number of such rows (b of McNemar's test); the interval is that of `rate`. A row without a prediction is
    a flip to no slot. What guessing would give is not 1/k: the right slot is out, so it is 1/(k-1) of the rows whose
    right answer is not in the first slot.

    Args:
        reference_correct: Booleans under the reference, shape [n].
        correct: The same rows under the condition, shape [n].
        pred_slots: Slots predicted under the condition, shape [n].
        groups: Group of each row, shape [n], or None.
    """
    flipped = np.asarray(reference_correct, dtype=bool) & ~np.asarray(correct, dtype=bool)
    chosen = None if groups is None else np.asarray(groups)[flipped]
    return rate(np.asarray(pred_slots)[flipped] == 0, chosen)
