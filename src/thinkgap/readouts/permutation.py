"""Items in several orders of their options: accuracy, first slot, flips (study A: five permutations).

It makes the sheets of a run from its records. Those of agreement and single orders are in
`readouts.permutation_detail`, those by number of options in `readouts.permutation_by_k`. What the figures mean is in
`docs/permutation.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.metrics.bootstrap import bootstrap_means
from thinkgap.metrics.intervals import MISSING
from thinkgap.metrics.multiple import holm
from thinkgap.metrics.permutation import flips_to_first, slot_histogram
from thinkgap.readouts.orders import Block, Orders, joined, read_orders
from thinkgap.readouts.permutation_by_k import by_k_sheets
from thinkgap.readouts.permutation_detail import by_order_sheets, consistency_sheet, referring_sheet
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet, slot_name

if TYPE_CHECKING:
    import pandas as pd

Pairs = Mapping[str, tuple[PairedDifference, Estimate]]
"""Condition -> difference to the reference, and share of flips to the first slot."""

_COLUMNS = (
    Column("condition", "condition", "text"),
    Column("n", "items", "count"),
    Column("accuracy", "accuracy %, source's order", "percent"),
    Column("accuracy_seeds", "accuracy %, mean +- SD", "text"),
    Column("accuracy_orders", "accuracy %, over orders", "percent"),
    Column("first_slot_seeds", "first slot %, mean +- SD", "text"),
    Column("first_slot_orders", "first slot %, over orders", "percent"),
    Column("gold_first", "gold first %", "percent"),
    Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
    Column("difference", "difference", "points"),
    Column("p", "p", "p"),
    Column("p_holm", "p (Holm)", "p"),
    Column("flips", "flips", "count"),
    Column("flips_first", "flips to slot 1 %", "percent"),
)


def permutation_sheets(
    frame: pd.DataFrame,
    conditions: Sequence[str],
    *,
    reference: str = "direct",
    draws: int,
    seed: int,
    prior_share: float,
    referring: Collection[str] = (),
) -> list[Sheet]:
    """The sheets of a run whose items are shown in several orders; none if only the source's order is there.

    Args:
        frame: Rows of one readout with the columns of `store.records.SCHEMA`. Presentations that are no order of the
            options (other letters, controls) and yes/no items are left out.
        conditions: The run's order of conditions.
        reference: Condition that differences and flips are taken to.
        draws: Bootstrap draws.
        seed: Of the draws, and of the items that give PriDe's prior.
        prior_share: Share of those items, in (0, 1).
        referring: Ids of items whose options refer to others ("both A and B").

    Raises:
        StoreError: An item occurs twice in one order and condition.
        ValueError: No draws, or a share outside (0, 1).
    """
    orders = read_orders(frame, conditions)
    if not orders.blocks:
        return []
    return [
        _main(orders, reference, draws, seed),
        consistency_sheet(orders, draws, seed),
        *by_order_sheets(orders),
        *by_k_sheets(orders, draws, seed, prior_share),
        *([referring_sheet(orders, frozenset(referring), draws, seed)] if referring else []),
    ]


def permutation_charts(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Chart]:
    """Bars of the predicted slots by condition, one chart for each number of options; arguments as above."""
    rows: dict[int, list[tuple[float | str, float, str]]] = {}
    for block in read_orders(frame, conditions).blocks:
        counts = slot_histogram(block.pred_slot[:, block.averaged], block.k)
        shares = counts / max(counts.sum(), 1)
        bars = rows.setdefault(block.k, [])
        bars += [(slot_name(slot), float(share), block.condition) for slot, share in enumerate(shares)]
    return [
        Chart(f"slots_k{k}", f"Predicted slots, {k} options", "bar", "slot", "share", "condition", tuple(bars))
        for k, bars in rows.items()
    ]


def _main(orders: Orders, reference: str, draws: int, seed: int) -> Sheet:
    pairs = {name: _against(orders, reference, name) for name in orders.conditions if name != reference}
    compared = {name: pair for name, (pair, _) in pairs.items() if pair.difference.n}
    adjusted = dict(zip(compared, holm([pair.p_value for pair in compared.values()]), strict=True))
    rows = []
    for name in orders.conditions:
        if not (blocks := orders.of(name)):
            continue
        groups = joined(blocks, lambda block: block.groups)
        right = metrics.rate(joined(blocks, lambda block: block.correct[:, 0]), groups)
        accuracy, first, gold = bootstrap_means(joined(blocks, Block.over_orders), groups, draws, seed)
        k = joined(blocks, lambda block: np.full(block.n, block.k))
        rows.append(
            (
                *(name, len(groups), right, _over_seeds(blocks, 0), accuracy, _over_seeds(blocks, 1), first, gold),
                metrics.mean_reciprocal_k(k),
                *_compared(name, reference, pairs, adjusted),
            )
        )
    notes = _notes(orders, reference, pairs, draws, seed)
    return Sheet("permutation", "Orders of the options", _COLUMNS, tuple(rows), tuple(notes))


def _over_seeds(blocks: Sequence[Block], figure: int) -> Cell:
    """`80.3 +- 0.1`: mean and SD (n - 1) over seeded orders of a column of `Block.hits`."""
    if not all(block.seeded for block in blocks):
        return Missing("the orders are every rotation, or every order, and no draws: there is no SD over seeds")
    by_seed = 100 * joined(blocks, lambda block: block.hits()[:, block.averaged, figure]).mean(axis=0)
    if len(by_seed) < 2:
        return Missing("one seeded order beside the source's has no SD; set evaluation.permutations to 3 or more")
    return f"{by_seed.mean():.1f} +- {by_seed.std(ddof=1):.1f}"


def _against(orders: Orders, reference: str, name: str) -> tuple[PairedDifference, Estimate]:
    """Difference to the reference and flips, on the source's order of the items that both conditions have."""
    sides = [orders.of(side) for side in (reference, name)]
    if not all(sides):
        return metrics.paired_difference([], []), MISSING
    ids = [joined(blocks, lambda block: block.items) for blocks in sides]
    _, *places = np.intersect1d(*ids, assume_unique=True, return_indices=True)
    before, after = (joined(b, lambda block: block.correct[:, 0])[p] for b, p in zip(sides, places, strict=True))
    groups = joined(sides[1], lambda block: block.groups)[places[1]]
    slots = joined(sides[1], lambda block: block.pred_slot[:, 0])[places[1]]
    return metrics.paired_difference(before, after, groups), flips_to_first(before, after, slots, groups)


def _compared(name: str, reference: str, pairs: Pairs, adjusted: Mapping[str, float]) -> list[Cell]:
    """Cells of difference, p, adjusted p, flips and their share to slot 1."""
    if name == reference:
        return [Missing("the condition that the others are compared with")] * 5
    pair, flips = pairs[name]
    if not pair.difference.n:
        return [Missing(f"no item is shown under both this condition and {reference}")] * 5
    share = flips if flips.n else Missing(f"no item is right under {reference} and wrong here")
    return [pair.difference, pair.p_value, adjusted[name], pair.b, share]


def _notes(orders: Orders, reference: str, pairs: Pairs, draws: int, seed: int) -> list[str]:
    names = [name for name, averaged in zip(orders.blocks[0].names, orders.blocks[0].averaged, strict=True) if averaged]
    how = (
        f"the {len(names)} seeded orders, the source's own apart"
        if orders.blocks[0].seeded
        else "every rotation or order of an item's options, the source's own among them"
    )
    lines = [
        f"Over orders: mean over {how}; +- SD (n - 1) is over the seeds alone, as the study prints it, and says "
        f"nothing of the sampling of items. [low, high]: 95% intervals, over orders by {draws:,} bootstrap draws of "
        f"groups (seed {seed}).",
        "First slot and letter A are the same option in all of these orders: the tables of letters tell them apart. "
        "Beside the first slot %: gold first % is what a perfect model would have, mean(1/k) % what guessing would.",
    ]
    compared = [pair for pair, _ in pairs.values() if pair.difference.n]
    if compared:
        lines.append(
            f"Difference: points to {reference} on the source's order, p by McNemar's test, then adjusted by Holm's "
            f"method for a family of {len(compared)}, the conditions compared. Flips: items right under {reference} "
            "and wrong here."
        )
    unpaired = {
        name: pair.difference.n
        for name, (pair, _) in pairs.items()
        if 0 < pair.difference.n < max(sum(block.n for block in orders.of(side)) for side in (name, reference))
    }
    if unpaired:
        detail = ", ".join(f"{name} {n}" for name, n in unpaired.items())
        lines.append(f"Differences and flips are over the items that both conditions have: {detail}.")
    if clustered := [name for name in orders.conditions if _repeats(orders.of(name))]:
        lines.append(
            f"Groups repeat among the items ({', '.join(clustered)}): intervals are clustered, McNemar's p is not; "
            "where they differ, trust the interval."
        )
    if not by_order_sheets(orders):
        lines.append("Each order alone has no table: there are too many. Their rows are in records.parquet.")
    if orders.yes_no:
        lines.append(f"Not in these tables: {orders.yes_no} yes/no items, which show no options to reorder.")
    if orders.incomplete:
        detail = ", ".join(f"{name} {n}" for name, n in orders.incomplete.items())
        lines.append(f"Left out, because one of their orders has no record: {detail} items.")
    return lines


def _repeats(blocks: Sequence[Block]) -> bool:
    groups = joined(blocks, lambda block: block.groups) if blocks else np.zeros(0)
    return len(np.unique(groups)) < len(groups)
