"""Items in several orders of their options, by number of options k: bias between slots, and PriDe's prior of each slot.

Makes sheets from blocks of `readouts.orders`; the figures are those of `metrics.permutation` and `metrics.pride`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import Estimate, agreement, pride
from thinkgap.metrics.bootstrap import bootstrap_all, bootstrap_quantile, ratio
from thinkgap.metrics.permutation import (
    miller_madow,
    rsd_of_counts,
    rstd_around,
    rstd_of_counts,
    slot_divergence,
    slot_entropy,
    slot_histogram,
)
from thinkgap.readouts.orders import Block, Orders
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, slot_name

CHANCE = 0.95
"""Share of draws around equal recalls whose RStd is not above what is called chance."""

_BIAS = (
    Column("k", "k", "text"),
    Column("condition", "condition", "text"),
    Column("n", "items", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("first_slot", "first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
    Column("mean_reciprocal_k", "1/k %", "percent"),
    Column("rstd", "RStd, points", "percent"),
    Column("rstd_chance", "by chance up to", "percent"),
    Column("rsd", "RSD"),
    Column("entropy", "slot entropy"),
    Column("divergence", "KL from uniform"),
    Column("histogram", "predicted slots %", "text"),
    Column("kappa", "Fleiss kappa"),
)
_PRIOR = (
    Column("k", "k", "text"),
    Column("condition", "condition", "text"),
    Column("n_prior", "items of the prior", "count"),
    Column("prior", "prior %", "text"),
    Column("n", "other items", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("debiased", "debiased accuracy %", "percent"),
    Column("difference", "difference", "points"),
)


def by_k_sheets(orders: Orders, draws: int, seed: int, prior_share: float) -> list[Sheet]:
    """One sheet of slot bias and one of PriDe; both have a row for each k and condition."""
    bias = Sheet(
        "permutation_by_k",
        "Orders of the options, by number of options",
        _BIAS,
        tuple(_bias(block, draws, seed) for block in orders.blocks),
        tuple(_bias_notes(orders)),
    )
    prior = Sheet(
        "permutation_prior",
        "PriDe: the prior of each slot, and accuracy without it",
        _PRIOR,
        tuple(_prior(block, prior_share, seed) for block in orders.blocks),
        tuple(_prior_notes(orders, prior_share)),
    )
    return [bias, prior]


def _bias(block: Block, draws: int, seed: int) -> tuple[Cell, ...]:
    k, hits = block.k, block.over_orders()
    slots = np.arange(k)
    predicted = block.pred_slot[:, block.averaged, None] == slots
    gold = block.gold_slot[:, block.averaged, None] == slots
    counts = [held.sum(axis=1) for held in (predicted, gold, predicted & gold)]
    features = np.concatenate([hits, np.ones((block.n, 1)), *counts[1:]], axis=1)
    # Columns: three shares, ones, then k counts each of golds and of golds that are predicted.
    golds, found = slice(4, 4 + k), slice(4 + k, 4 + 2 * k)
    totals = [held.sum(axis=0) for held in counts]
    around = rstd_around(totals[2], totals[1])
    chance = bootstrap_quantile(
        features, block.groups, lambda sums: around(sums[..., found], sums[..., golds]), CHANCE, draws, seed
    )
    accuracy, first, gold_first, rstd, rsd = bootstrap_all(
        features,
        block.groups,
        [
            *(ratio(figure, 3) for figure in range(3)),
            lambda sums: rstd_of_counts(sums[..., found], sums[..., golds]),
            lambda sums: rsd_of_counts(sums[..., found], sums[..., golds]),
        ],
        draws,
        seed,
    )
    if not rstd.value > chance:
        # Draws scatter twice, around recalls that scatter: an interval would leave out 0 whatever the model does.
        rstd, rsd = (Estimate(figure.value, math.nan, math.nan, figure.n) for figure in (rstd, rsd))
    unread = Missing("no answer could be read")
    histogram = totals[0]
    return (
        *(str(k), block.condition, block.n, accuracy, first, gold_first, 1 / k, rstd),
        *(_or_missing(chance, "too few groups, or slots that rarely hold the right answer"), rsd),
        *((float(figure(histogram)) if histogram.any() else unread) for figure in (slot_entropy, slot_divergence)),
        _by_slot(histogram / histogram.sum()) if histogram.any() else unread,
        _or_missing(agreement.fleiss_kappa(block.pred_content, k), "only one content is predicted, or none"),
    )


def _prior(block: Block, share: float, seed: int) -> tuple[Cell, ...]:
    drawn = pride.prior_items(block.items.tolist(), share, seed)
    prior = pride.slot_prior(block.label_logprobs[drawn])
    row = (str(block.k), block.condition, int(drawn.sum()))
    if not np.all(prior > 0):
        reason = Missing("no item can give the prior: it takes two items, and labels with probabilities above 0")
        return (*row, reason, int((~drawn).sum()), reason, reason, reason)
    groups = block.groups[~drawn]
    plain = block.correct[~drawn, 0]
    debiased = pride.debiased_slots(block.label_logprobs[~drawn, 0], prior) == block.gold_slot[~drawn, 0]
    return (
        *(*row, _by_slot(prior), len(plain), metrics.rate(plain, groups), metrics.rate(debiased, groups)),
        metrics.paired_difference(plain, debiased, groups).difference,
    )


def _by_slot(shares: Iterable[float]) -> str:
    return ", ".join(f"{slot_name(slot)} {100 * share:.1f}" for slot, share in enumerate(shares))


def _or_missing(value: float, reason: str) -> Cell:
    return Missing(reason) if np.isnan(value) else value


def _bias_notes(orders: Orders) -> list[str]:
    lines = [
        "Over the same orders as the first table, kappa over all of them. RStd: SD over slots of the recall "
        "P(predicted = slot | gold = slot); RSD: RStd over the mean recall. Recalls of few rows scatter without any "
        "bias: equal recalls would give an RStd up to the figure beside it in 95% of draws, and an RStd that is not "
        "above it has no interval.",
        "Slot entropy: 1 for slots predicted equally often, 0 for always the same; KL in nats.",
    ]
    smallest = min(orders.blocks, key=lambda block: block.n)
    counts = slot_histogram(smallest.pred_slot[:, smallest.averaged], smallest.k)
    if counts.any():
        lines.append(
            f"Entropies of few rows are too low, and KL too high: by about {miller_madow(counts):.4f} nats "
            f"(Miller-Madow) for the {smallest.n:,} items of k = {smallest.k} under {smallest.condition}, and by more "
            "where the orders of one item are predicted alike."
        )
    return lines


def _prior_notes(orders: Orders, share: float) -> list[str]:
    lines = [
        f"The prior is from {100 * share:g}% of the items (at least one) in all their orders; the accuracies are of "
        "the source's order of the others, and their intervals take the prior as given."
    ]
    if any(block.seeded for block in orders.blocks):
        lines.append(
            "The orders are drawn, not rotations: contents do not cancel exactly in an item's prior, only on average "
            "over items. With evaluation.permutation.orders=cyclic they do."
        )
    return lines
