"""Whether one item gets one answer in all its orders: agreement over contents, and being right in every order.

A content is an index into an item's options in the source's order, whatever slot it is shown in; -1 is no prediction.
Shapes are [items, orders]. Nothing here knows which orders they are, except `is_circular`.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Unparsed = Literal["disagree", "leave_out"]
"""What an order without a prediction does: it agrees with no other one, or its item has no figure (NaN)."""


def _contents(values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values, dtype=np.int64)
    if array.ndim != 2:
        raise ValueError(f"expected contents of shape [items, orders], got shape {array.shape}")
    return array


def _counts(contents: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each content is predicted for each item, shape [items, contents]; -1 is not counted."""
    width = max(int(contents.max(initial=0)) + 1, 1)
    return np.stack([(contents == content).sum(axis=1) for content in range(width)], axis=1)


def _kept(figures: Array, contents: NDArray[np.int64], unparsed: Unparsed) -> Array:
    return figures if unparsed == "disagree" else np.where((contents < 0).any(axis=1), np.nan, figures)


def pairwise_agreement(contents: ArrayLike, unparsed: Unparsed = "disagree") -> Array:
    """Share of the pairs of orders in which an item gets the same content, shape [items] (PA).

    Args:
        contents: Predicted contents, shape [items, orders]; NaN with fewer than two orders.
        unparsed: What -1 does.
    """
    array = _contents(contents)
    pairs = array.shape[1] * (array.shape[1] - 1)
    if not pairs:
        return np.full(len(array), np.nan)
    counts = _counts(array)
    return _kept((counts * (counts - 1)).sum(axis=1) / pairs, array, unparsed)


def all_agree(contents: ArrayLike, unparsed: Unparsed = "disagree") -> Array:
    """1 for items that get the same content in every order, else 0, shape [items]; arguments as above."""
    array = _contents(contents)
    if array.shape[1] < 2:
        return np.full(len(array), np.nan)
    return _kept((_counts(array).max(axis=1) == array.shape[1]).astype(np.float64), array, unparsed)


def modal_share(contents: ArrayLike, unparsed: Unparsed = "disagree") -> Array:
    """Share of the orders that give an item's most frequent content, shape [items]; arguments as above.

    Two orders have a least share of one half, so figures of different numbers of orders do not compare.
    """
    array = _contents(contents)
    if array.shape[1] < 2:
        return np.full(len(array), np.nan)
    return _kept(_counts(array).max(axis=1) / array.shape[1], array, unparsed)


def fleiss_kappa(contents: ArrayLike, k: int) -> float:
    """Fleiss' kappa with orders as raters and contents as categories, of items with one number of options.

    Agreement over what the shares of the contents alone would give: 1 is full agreement, 0 none beyond that. Items with
    an order without a prediction are left out. NaN without items, with fewer than two orders, and where only one
    content is ever predicted (0/0: there is then nothing to agree on).

    Args:
        contents: Predicted contents, shape [items, orders].
        k: Number of options.
    """
    array = _contents(contents)
    array = array[(array >= 0).all(axis=1)]
    if array.shape[1] < 2 or len(np.unique(array)) < 2:
        return math.nan
    from statsmodels.stats import inter_rater  # slow to import

    return float(inter_rater.fleiss_kappa(inter_rater.aggregate_raters(array, n_cat=k)[0]))


def all_correct(correct: ArrayLike) -> NDArray[np.bool_]:
    """Items that are right in every order they are shown in, shape [items], from booleans of shape [items, orders].

    With S seeded orders this is "all-S correct"; only over all k rotations is it `circular_eval`.
    """
    return np.asarray(np.asarray(correct, dtype=bool).all(axis=1))


def is_circular(orders: ArrayLike) -> NDArray[np.bool_]:
    """Which orders are rotations of the source's own: content (slot + shift) mod k in each slot.

    Args:
        orders: Content shown in each slot, shape [..., k].

    Returns:
        Booleans of shape [...].
    """
    array = np.asarray(orders, dtype=np.int64)
    k = array.shape[-1]
    return np.asarray((array == (array[..., :1] + np.arange(k)) % k).all(axis=-1))


def circular_eval(correct: ArrayLike, orders: ArrayLike) -> NDArray[np.bool_]:
    """CircularEval (Liu et al. 2307.06281, MMBench): items right under every one of the k rotations of their options.

    Orders that are no rotation do not count. The mean accuracy over rotations is the mean of `correct` over them.

    Args:
        correct: Booleans, shape [items, orders].
        orders: Content shown in each slot, shape [items, orders, k].

    Returns:
        Booleans of shape [items].

    Raises:
        ValueError: An item is not shown in all k rotations.
    """
    rotation, whole = is_circular(orders), has_all_rotations(orders)
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        raise ValueError(f"row {row} is not shown in all rotations of its options: CircularEval needs them")
    return all_correct(np.asarray(correct, dtype=bool) | ~rotation)


def has_all_rotations(orders: ArrayLike) -> NDArray[np.bool_]:
    """Which items are shown in all k rotations of their options; orders [items, orders, k] to booleans [items]."""
    array = np.asarray(orders, dtype=np.int64)
    first = np.where(is_circular(array), array[..., 0], -1)
    return all_correct(np.stack([(first == shift).any(axis=1) for shift in range(array.shape[-1])], axis=1))
