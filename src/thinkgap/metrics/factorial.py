"""What label probabilities owe to the slot, to the letter and to the content, from a balanced design.

An item of k options is shown under every rotation of its contents with every rotation of its letters, so that each
content stands in each slot under each letter exactly once (method reference 7: "factorial of contents x letters").
Pure functions on arrays; how the rows of such an item are found is `readouts.factorial`'s matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.intervals import Estimate, group_codes, mean, t_quantile

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


def fit_items(fits: Sequence[ItemFit], groups: ArrayLike | None = None) -> FactorialFit:
    """Effects and shares over items of one k, with 95% intervals clustered by group.

    Effects are means over items with `mean`'s interval. A share is the items' sum of squares of a factor over their
    total, so an item counts by how far its probabilities are from equal; its interval, and that of a range of effects,
    is from `jackknife`.

    Args:
        fits: of items with equally many options.
        groups: group of each item, or None.

    Raises:
        ValueError: no items.
    """
    if not fits:
        raise ValueError("no items to fit")
    slot, letter, content = (np.stack([getattr(fit, name) for fit in fits]) for name in FACTORS[:3])
    squares = np.stack([fit.squares for fit in fits])
    return FactorialFit(
        *(tuple(mean(column, groups) for column in effects.T) for effects in (slot, letter, content)),
        shares={
            name: jackknife(squares, groups, lambda sums, place=place: sums[..., place] / sums.sum(-1), high=1.0)
            for place, name in enumerate(FACTORS)
        },
        slot_range=_range(slot, groups),
        letter_range=_range(letter, groups),
    )


def _range(effects: Floats, groups: ArrayLike | None) -> Estimate:
    with_ones = np.column_stack([effects, np.ones(len(effects))])
    return jackknife(with_ones, groups, lambda sums: np.ptp(sums[..., :-1], axis=-1) / sums[..., -1])


def jackknife(
    features: ArrayLike,
    groups: ArrayLike | None,
    statistic: Callable[[Floats], Floats],
    low: float = 0.0,
    high: float = math.inf,
) -> Estimate:
    """A statistic of sums over items with a 95% interval from leaving out one group at a time.

    SE^2 = (G - 1) / G * sum_g (theta_g - mean theta_g)^2 with theta_g the statistic without group g (Efron and Stein
    1981), times the quantile of Student's t with G - 1 degrees of freedom, cut at the figure's bounds. NaN bounds with
    fewer than two groups, and where no group makes a difference, so that the spread is unknown.

    Args:
        features: what is summed, shape [n, m].
        groups: group of each item, shape [n], or None.
        statistic: from sums [..., m] to figures [...].
        low: smallest possible figure.
        high: largest possible figure.
    """
    array = np.asarray(features, dtype=np.float64)
    codes, n_groups = group_codes(len(array), groups)
    sums = np.stack([np.bincount(codes, weights=column, minlength=n_groups) for column in array.T], axis=-1)
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        value, without = float(statistic(total)), statistic(total - sums)
    if n_groups < 2 or not np.ptp(without) > 1e-12:
        return Estimate(value, math.nan, math.nan, len(array))
    error = math.sqrt((n_groups - 1) / n_groups * float(np.sum((without - without.mean()) ** 2)))
    half = t_quantile(n_groups - 1) * error
    return Estimate(value, max(value - half, low), min(value + half, high), len(array))
