"""PriDe (Zheng et al. 2309.03882): a prior of each slot from permuted options, and predictions without it.

The published form: the observed probability of a label factorises into a prior of the label and a debiased probability
of the content behind it, p_obs(label in slot j) = p_prior(j) p_debiased(content in j) / Z. Over orders that put each
content equally often in each slot (all orders, or all rotations), the mean of log p_debiased is the same in every slot:
the softmax over slots of the mean of log p_obs is then the prior of that item. The prior is taken from a small share of
the items and averaged over them; for each other item, asked once, p_debiased is proportional to p_obs / p_prior. For
the items of that share, which have all their orders, Zheng et al. average over these instead.

Ours: the same, on log-probabilities of labels at one position, renormalised over the k labels; the items that gave the
prior are left out of both accuracies. With orders drawn at random the contents cancel on average over items only.
Slots are 0-based, shapes are [items, orders, slots]; letter and slot are the same thing here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def over_labels(label_logprobs: ArrayLike) -> Array:
    """Log-probabilities renormalised over the labels, the last axis; NaN where no label has any probability."""
    array = np.asarray(label_logprobs, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = array - array.max(axis=-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def slot_prior(label_logprobs: ArrayLike) -> Array:
    """The prior of each slot: mean over items of the softmax over slots of the mean over orders of log p_obs.

    Args:
        label_logprobs: Log-probability of the label in each slot, shape [items, orders, k]; any normalisation.

    Returns:
        Shape [k], sums to 1; NaN without items. Items in which a label has probability 0 say nothing finite about its
        slot and are left out.
    """
    means = over_labels(label_logprobs).mean(axis=1)
    means = means[np.isfinite(means).all(axis=-1)]
    if not len(means):
        return np.full(np.shape(label_logprobs)[-1], np.nan)
    return np.exp(over_labels(means)).mean(axis=0)


def debiased_slots(label_logprobs: ArrayLike, prior: ArrayLike) -> NDArray[np.int64]:
    """Slot with the largest p_obs(slot) / prior(slot) of each item, shape [items]; -1 where no label has probability.

    Args:
        label_logprobs: Log-probability of the label in each slot of one presentation, shape [items, k].
        prior: Prior of each slot, shape [k], all above 0.

    Raises:
        ValueError: A prior that is not above 0 everywhere.
    """
    weights = np.asarray(prior, dtype=np.float64)
    if not np.all(weights > 0):
        raise ValueError(f"prior {weights.tolist()}: a slot without a prior cannot be corrected for")
    scores = over_labels(label_logprobs) - np.log(weights)
    found = np.logical_not(np.isnan(scores).any(axis=-1))
    return np.where(found, np.argmax(np.where(found[:, None], scores, 0.0), axis=-1), -1)


def prior_items(items: Sequence[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Which items give the prior: a seeded share, at least one where that leaves another, shape [items].

    Drawn by digest of seed and item, so the same items are drawn in every condition and in any order.

    Args:
        items: Ids, each once.
        share: Share of them, in (0, 1).
        seed: Of the draw.

    Raises:
        ValueError: A share that is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share {share}: the prior is from some of the items and used on the others")
    count = min(max(1, round(share * len(items))), len(items) - 1)
    ranked = sorted(range(len(items)), key=lambda i: hashlib.sha256(f"{seed}\0{items[i]}".encode()).digest())
    drawn = np.zeros(len(items), dtype=bool)
    drawn[ranked[: max(count, 0)]] = True
    return drawn
