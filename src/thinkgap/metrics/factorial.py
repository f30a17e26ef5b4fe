"""What label probabilities owe to the slot, to the letter and to the content, from a balanced design.

An item of k options is shown under every rotation of its contents with every rotation of its letters, so that each
content stands in each slot under each letter exactly once (method reference 7: "factorial of contents x letters").
Pure functions on arrays; how the rows of such an item are found is `readouts.factorial`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.bootstrap import DRAWS, Statistic, bootstrap_all
from thinkgap.metrics.intervals import Estimate, mean

FACTORS = ("slot", "letter", "content", "rest")
"""The parts of an item's sum of squares; `rest` is what no sum of the three effects gives."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ItemFit:
    """The additive fit y = slot + letter + content of one item; effects sum to zero within each factor."""

    slot: Floats
    """`[k]` effect of each slot on the log-odds of its label, in nats."""
    letter: Floats
    """`[k]` of each letter."""
    content: Floats
    """`[k]` of each content."""
    squares: Floats
    """`[4]` sums of squares in the order of `FACTORS`, which add up to that of y."""


@dataclass(frozen=True)
class FactorialFit:
    """Items of one k together, each with the same weight on effects, and with its sum of squares on shares."""

    slot: tuple[Estimate, ...]
    """Mean effect of each slot, in nats."""
    letter: tuple[Estimate, ...]
    content: tuple[Estimate, ...]
    """Mean effect of each content by its place in the source: zero unless that order says something of the gold."""
    shares: Mapping[str, Estimate]
    """Share of the sum of squares, by name in `FACTORS`; the four add up to 1."""
    slot_range: Estimate
    """Largest minus smallest mean slot effect, in nats; above zero by chance alone."""
    letter_range: Estimate


def fit_item(logprobs: ArrayLike, letters: ArrayLike, contents: ArrayLike) -> ItemFit:
    """Least-squares effects of slot, letter and content on y, the log-odds of each label.

    y = log p - mean over the presentation's labels: log-odds against the geometric mean of the labels, so the label
    mass drops out. Because every content meets every slot under every letter once, and each presentation holds each of
    them once, the least-squares effects are plain means of y, and the sum of squares splits without remainder:
    SS_slot = k^2 * sum_s slot_s^2 and so on, rest = sum (y - slot - letter - content)^2.

    Args:
        logprobs: log-probabilities of the labels, shape [k * k, k]: presentations by slots.
        letters: index of the letter in each slot, same shape.
        contents: index of the content in each slot, same shape.

    Raises:
        ValueError: other shapes, a design that is not balanced, or log-probabilities that are not finite.
    """
    y = np.asarray(logprobs, dtype=np.float64)
    letter, content = np.asarray(letters), np.asarray(contents)
    k = y.shape[-1] if y.ndim == 2 else 0
    if not k or not y.shape == letter.shape == content.shape == (k * k, k):
        raise ValueError(
            f"log-probabilities {y.shape}, letters {letter.shape} and contents {content.shape}: not [k * k, k]"
        )
    slot = np.broadcast_to(np.arange(k), y.shape)
    cells = np.stack([slot, letter, content]).reshape(3, -1)
    rows = np.sort(np.stack([letter, content]), axis=-1)
    if len(np.unique(cells, axis=1).T) != k**3 or not np.array_equal(rows, np.broadcast_to(np.arange(k), rows.shape)):
        raise ValueError("not every content stands in every slot under every letter once")
    if not np.all(np.isfinite(y)):
        raise ValueError("log-odds need finite log-probabilities")
    y = y - y.mean(axis=1, keepdims=True)
    by_slot, by_letter, by_content = (np.bincount(cell, weights=y.ravel(), minlength=k) / k**2 for cell in cells)
    rest = y.ravel() - by_slot[cells[0]] - by_letter[cells[1]] - by_content[cells[2]]
    squares = [k**2 * float(np.sum(effect**2)) for effect in (by_slot, by_letter, by_content)]
    return ItemFit(by_slot, by_letter, by_content, np.array([*squares, float(np.sum(rest**2))]))


def fit_items(
    fits: Sequence[ItemFit], groups: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> FactorialFit:
    """Effects and shares over items of one k, with 95% intervals clustered by group.

    Effects are means over items with `mean`'s interval. A share is the items' sum of squares of a factor over their
    total, so an item counts by how far its probabilities are from equal; its interval, and that of a range of effects,
    is from `bootstrap_all`.

    Args:
        fits: of items with equally many options.
        groups: group of each item, or None.
        draws: of the bootstrap.
        seed: of the draws.

    Raises:
        ValueError: no items.
    """
    if not fits:
        raise ValueError("no items to fit")
    slot, letter, content = (np.stack([getattr(fit, name) for fit in fits]) for name in FACTORS[:3])
    squares, k = np.stack([fit.squares for fit in fits]), slot.shape[1]
    features = np.column_stack([squares, slot, letter, np.ones(len(fits))])
    first = len(FACTORS)
    statistics = [
        *(_share(place) for place in range(first)),
        _range(first, first + k),
        _range(first + k, first + 2 * k),
    ]
    *shares, slot_range, letter_range = bootstrap_all(features, groups, statistics, draws, seed)
    return FactorialFit(
        *(tuple(mean(column, groups) for column in effects.T) for effects in (slot, letter, content)),
        shares=dict(zip(FACTORS, shares, strict=True)),
        slot_range=slot_range,
        letter_range=letter_range,
    )


def _share(place: int) -> Statistic:
    """Of the sums of squares, which come first: the one at `place` over all."""
    return lambda sums: sums[..., place] / sums[..., : len(FACTORS)].sum(axis=-1)


def _range(start: int, end: int) -> Statistic:
    """Largest minus smallest mean of the columns from `start` to `end`; the last column counts the items."""
    return lambda sums: np.ptp(sums[..., start:end], axis=-1) / sums[..., -1]
