"""Items in several orders of their options, in detail: agreement over orders, each order alone, referring options.

Makes sheets from blocks of `readouts.orders` and computes nothing itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import agreement
from thinkgap.metrics.bootstrap import bootstrap_means
from thinkgap.readouts.orders import Block, Orders, joined
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

MOST_ORDERS = 24
"""Orders (all those of four options) up to which each has a row of its own."""

_CONSISTENCY = (
    Column("condition", "condition", "text"),
    Column("n", "items", "count"),
    Column("orders", "orders", "text"),
    Column("all_correct", "right in all orders %", "percent"),
    Column("circular", "CircularEval %", "percent"),
    Column("pairwise_agreement", "pairwise agreement %", "percent"),
    Column("all_agree", "all agree %", "percent"),
    Column("modal_share", "modal share %", "percent"),
    Column("kappa", "Fleiss kappa"),
)
_BY_ORDER = (
    Column("condition", "condition", "text"),
    Column("order", "order", "text"),
    Column("n", "items", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("first_slot", "first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
)
_REFERRING = (
    Column("condition", "condition", "text"),
    Column("n", "items", "count"),
    Column("n_without", "items without referring ones", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("accuracy_without", "accuracy % without", "percent"),
    Column("first_slot", "first slot %", "percent"),
    Column("first_slot_without", "first slot % without", "percent"),
)


def consistency_sheet(orders: Orders, draws: int, seed: int) -> Sheet:
    """One row per condition: is an item right in all its orders, and does it get the same content."""
    rows, unread = [], []
    for name in orders.conditions:
        if not (blocks := orders.of(name)):
            continue
        groups = joined(blocks, lambda block: block.groups)
        shares = joined(
            blocks,
            lambda block: np.stack(
                [f(block.pred_content) for f in (agreement.pairwise_agreement, agreement.modal_share)], 1
            ),
        )
        pairwise, modal = bootstrap_means(shares, groups, draws, seed)
        agree = metrics.rate(joined(blocks, lambda block: agreement.all_agree(block.pred_content)), groups)
        right = metrics.rate(joined(blocks, lambda block: agreement.all_correct(block.correct)), groups)
        rows.append(
            (name, len(groups), _orders(blocks), right, _circular(blocks), pairwise, agree, modal, _kappa(blocks))
        )
        unread += _unread(name, blocks)
    notes = [
        "Over all orders, the source's own among them; the same content in another slot is agreement. Right in all "
        "orders is CircularEval only where the orders are all k rotations.",
        "Seeded orders of few options repeat, and a repeated order agrees with itself: compare items of one k and one "
        "number of orders. Fleiss kappa: mean over k, weighted by items.",
        *unread,
    ]
    return Sheet(
        "permutation_consistency", "Agreement over orders of the options", _CONSISTENCY, tuple(rows), tuple(notes)
    )


def _orders(blocks: Sequence[Block]) -> str:
    least, most = (pick(len(block.names) for block in blocks) for pick in (min, max))
    return str(most) if least == most else f"{least} to {most}"


def _circular(blocks: Sequence[Block]) -> Cell:
    if not all(agreement.has_all_rotations(block.order).all() for block in blocks):
        return Missing("not every item is shown in all k rotations: set evaluation.permutation.orders=cyclic")
    right = joined(blocks, lambda block: agreement.circular_eval(block.correct, block.order))
    return metrics.rate(right, joined(blocks, lambda block: block.groups))


def _kappa(blocks: Sequence[Block]) -> Cell:
    kappas = [agreement.fleiss_kappa(block.pred_content, block.k) for block in blocks]
    undefined = [str(block.k) for block, kappa in zip(blocks, kappas, strict=True) if math.isnan(kappa)]
    if undefined:
        return Missing(f"only one content is predicted, or none, of the items with k = {', '.join(undefined)}")
    return float(np.average(kappas, weights=[block.n for block in blocks]))


def _unread(name: str, blocks: Sequence[Block]) -> list[str]:
    """A line on answers that could not be read, and the agreement without their items."""
    count = sum(int((block.pred_content < 0).sum()) for block in blocks)
    if not count:
        return []
    left = joined(blocks, lambda block: agreement.pairwise_agreement(block.pred_content, "leave_out"))
    kept = left[~np.isnan(left)]
    without = f"it is {100 * kept.mean():.1f}% of {len(kept)} items" if len(kept) else "no item is left"
    return [
        f"{name}: {count} answers could not be read and agree with nothing; pairwise agreement without them: {without}."
    ]


def by_order_sheets(orders: Orders) -> list[Sheet]:
    """One sheet of condition x order (the study's figures of each seed); none with more than `MOST_ORDERS` orders."""
    names = list(
        dict.fromkeys(name for block in sorted(orders.blocks, key=lambda b: -len(b.names)) for name in block.names)
    )
    if len(names) > MOST_ORDERS:
        return []
    rows = []
    for condition in orders.conditions:
        for order in names:
            if not (blocks := [block for block in orders.of(condition) if order in block.names]):
                continue
            groups = joined(blocks, lambda block: block.groups)
            hits = joined(blocks, lambda block, order=order: block.hits()[:, block.names.index(order)])
            rows.append(
                (condition, order, len(groups), *(metrics.rate(hits[:, figure], groups) for figure in range(3)))
            )
    return [Sheet("permutation_orders", "Each order of the options", _BY_ORDER, tuple(rows))]


def referring_sheet(orders: Orders, referring: Collection[str], draws: int, seed: int) -> Sheet:
    """One row per condition: figures over orders with and without items whose options refer to others."""
    rows = []
    for name in orders.conditions:
        if not (blocks := orders.of(name)):
            continue
        groups, hits = joined(blocks, lambda block: block.groups), joined(blocks, Block.over_orders)
        kept = ~np.isin(joined(blocks, lambda block: block.items), list(referring))
        accuracy, first, _ = bootstrap_means(hits, groups, draws, seed)
        without: list[Cell] = [Missing("all items have options that refer to others")] * 2
        if kept.any():
            without = [*bootstrap_means(hits[kept], groups[kept], draws, seed)[:2]]
        rows.append((name, len(groups), int(kept.sum()), accuracy, without[0], first, without[1]))
    notes = (
        'Options such as "both A and B" or "all of the above" mean something else, or nothing, in another order. '
        "Figures are over orders, as in the first table.",
    )
    return Sheet("referring_options", "With and without options that refer to others", _REFERRING, tuple(rows), notes)
