"""What predictions owe to slot, letter and content, from items shown under every rotation of both.

From native records of the presentations `factorial_A_B` to two sheets; the fit is `metrics.factorial`'s. Knows records,
no prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.metrics.factorial import FACTORS, FactorialFit, ItemFit, fit_item, fit_items
from thinkgap.presentation_names import FACTORIAL
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, slot_name
from thinkgap.types import LETTERS

if TYPE_CHECKING:
    import pandas as pd

UNCLEAR = "unclear"


@dataclass(frozen=True)
class _Part:
    """The rows of one condition on the items of one k that can be fitted, and their fit."""

    k: int
    condition: str
    rows: pd.DataFrame
    fit: FactorialFit | None
    n_items: int
    n_groups: int
    left_out: int
    """Items without all of their presentations, or with a label of probability 0."""


def factorial_sheets(frame: pd.DataFrame, order: Sequence[str], draws: int, seed: int) -> list[Sheet]:
    """Sheets `factorial` and `factorial_effects`, without rows if no item was shown that way.

    Args:
        frame: native records with a column `group`.
        order: conditions in order.
        draws: of the bootstrap.
        seed: of the draws.
    """
    rows = frame.loc[frame["presentation"].str.startswith(FACTORIAL)]
    parts = [
        _part(int(str(k)), condition, own.loc[own["condition"] == condition], draws, seed)
        for k, own in rows.groupby("k", sort=True)
        for condition in order
    ]
    return [_shares(parts, draws), _effects(parts)]


def follows(fit: FactorialFit, n_groups: int) -> str:
    """Which of slot, letter and content the log-odds follow: the one of the largest share of squares.

    It must lie clearly above the others: the lower end of its interval above the upper ends of theirs, or, where all
    items agree so that there is no interval, its value above their values. Otherwise, and with fewer than two groups,
    `unclear`.
    """
    ends = {
        name: (share.low, share.high) if share.low == share.low else (share.value, share.value)
        for name in FACTORS[:3]
        for share in (fit.shares[name],)
    }
    best = max(ends, key=lambda name: fit.shares[name].value)
    clear = all(ends[best][0] > high for name, (_, high) in ends.items() if name != best)
    return best if clear and n_groups > 1 else UNCLEAR


def _part(k: int, condition: str, rows: pd.DataFrame, draws: int, seed: int) -> _Part:
    fits: list[ItemFit] = []
    groups: list[int] = []
    items: list[str] = []
    total = 0
    for item, own in rows.groupby("item_id", sort=True):
        total += 1
        logprobs = np.array([*map(list, own["label_logprobs"])])
        if len(own) != k * k or not np.all(np.isfinite(logprobs)):
            continue
        letters = [[LETTERS.index(label) for label in labels] for labels in own["labels"]]
        fits.append(fit_item(logprobs, letters, [list(contents) for contents in own["order"]]))
        groups.append(int(own["group"].iloc[0]))
        items.append(str(item))
    fit = fit_items(fits, groups, draws, seed) if fits else None
    used = rows.loc[rows["item_id"].isin(items)]
    return _Part(k, condition, used, fit, len(fits), len(set(groups)), total - len(fits))


def _shares(parts: Sequence[_Part], draws: int) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        figures: list[Cell] = [Missing("no item of this k and condition has all of its presentations")] * 10
        if part.fit is not None:
            groups = part.rows["group"].to_numpy()
            slots = part.rows["pred_slot"].to_numpy()
            first = [labels[slot] == LETTERS[0] for labels, slot in zip(part.rows["labels"], slots, strict=True)]
            figures = [
                metrics.rate(slots == 0, groups),
                metrics.rate(first, groups),
                metrics.rate(part.rows["correct"].to_numpy(), groups),
                *(part.fit.shares[name] for name in FACTORS),
                part.fit.slot_range,
                part.fit.letter_range,
                follows(part.fit, part.n_groups),
            ]
        rows.append((str(part.k), part.condition, part.n_items, *figures))
    notes = [
        "Every item under all k * k rotations of contents and letters. Shares of predictions: guessing, and following "
        "one of the other two, give 1/k each.",
        "Shares of squares: of the sum of squares of the labels' log-odds, by an additive fit per item; they add up to "
        "100, and noise alone gives slot, letter and content 1/k^2 each.",
        "Ranges: largest minus smallest mean effect, in nats; above zero by chance alone. Their intervals and those of "
        f"the shares of squares are from {draws:,} bootstrap draws of groups.",
        f"Follows: the largest of the three shares of squares if its interval lies above the others'; else {UNCLEAR}.",
    ]
    if left_out := max((part.left_out for part in parts), default=0):
        notes.append(f"Items left out for want of a presentation, or for a label of probability 0: up to {left_out}.")
    return Sheet(
        "factorial",
        "Slot, letter and content taken apart",
        (
            Column("k", "k", "text"),
            Column("condition", "condition", "text"),
            Column("n", "items", "count"),
            Column("slot_1", "on slot 1 %", "percent"),
            Column("letter_a", "on A %", "percent"),
            Column("gold", "on the right content %", "percent"),
            *(Column(f"{name}_share", f"{name} % of squares", "percent") for name in FACTORS),
            Column("slot_range", "slot range"),
            Column("letter_range", "letter range"),
            Column("follows", "follows", "text"),
        ),
        tuple(rows),
        tuple(notes),
    )


def _effects(parts: Sequence[_Part]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for part in parts:
        if part.fit is None:
            continue
        shown = (("slot", part.fit.slot, map(slot_name, range(part.k))), ("letter", part.fit.letter, LETTERS[: part.k]))
        rows += [
            (str(part.k), part.condition, factor, level, effect)
            for factor, effects, levels in shown
            for level, effect in zip(levels, effects, strict=True)
        ]
    return Sheet(
        "factorial_effects",
        "Effects of each slot and each letter",
        (
            Column("k", "k", "text"),
            Column("condition", "condition", "text"),
            Column("factor", "factor", "text"),
            Column("level", "level", "text"),
            Column("effect", "effect"),
        ),
        tuple(rows),
        (
            "Mean over items of what a slot or a letter adds to the log-odds of its label, in nats; the effects of one "
            "factor add up to zero.",
        ),
    )
