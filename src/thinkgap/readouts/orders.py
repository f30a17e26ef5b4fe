"""Records of items in several orders of their options, as arrays: one block for each condition and number of options.

It knows which presentations are orders of the options and which rows can be used, and computes no figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinkgap.errors import StoreError
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import by_condition

if TYPE_CHECKING:
    import pandas as pd

ORDER = re.compile(r"identity|permutation_\d+|cyclic_\d+|order_.+")
"""Names of presentations that differ in the order of the contents alone."""
YES_NO = ("Yes", "No")
"""Labels of items that show no options; they have no slots and no other order."""


@dataclass(frozen=True)
class Block:
    """Items of one number of options k under one condition, each in the same S orders."""

    condition: str
    k: int
    names: tuple[str, ...]
    """Of the S orders, the source's own (`identity`) first."""
    averaged: NDArray[np.bool_]
    """Which orders figures "over orders" are taken over, shape [S]: the seeded ones without the source's own, as in the
    study; in a design of all rotations or all orders, which the source's own belongs to, every one."""
    items: NDArray[np.str_]
    """Ids, sorted, shape [n]; so are the rows of all that follows."""
    groups: NDArray[np.intp]
    """Group of each item as an integer that is the same in every block, shape [n]."""
    gold_slot: NDArray[np.int64]
    """Shape [n, S], as are the next three."""
    pred_slot: NDArray[np.int64]
    pred_content: NDArray[np.int64]
    correct: NDArray[np.bool_]
    order: NDArray[np.int64]
    """Content shown in each slot, shape [n, S, k]."""
    label_logprobs: NDArray[np.float64]
    """Shape [n, S, k]."""

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def seeded(self) -> bool:
        """Whether the orders averaged over are draws, so that they have a spread."""
        return not self.averaged[0]

    def hits(self) -> NDArray[np.bool_]:
        """Whether right, whether slot 1 is predicted, whether gold stands there; shape [n, S, 3]."""
        return np.stack([self.correct, self.pred_slot == 0, self.gold_slot == 0], axis=-1)

    def over_orders(self) -> NDArray[np.float64]:
        """Mean of `hits` over the averaged orders of each item, shape [n, 3]."""
        return self.hits()[:, self.averaged].mean(axis=1)


@dataclass(frozen=True)
class Orders:
    """All blocks of a run."""

    conditions: tuple[str, ...]
    """With records, in the run's order."""
    blocks: tuple[Block, ...]
    """By k, then condition; none if no item is shown in more than one order."""
    yes_no: int
    """Items left out because they show no options."""
    incomplete: dict[str, int]
    """Condition -> items left out because one of their orders has no record."""

    def of(self, condition: str) -> list[Block]:
        """Blocks of a condition, by k."""
        return [block for block in self.blocks if block.condition == condition]


def joined(blocks: Sequence[Block], figure: Callable[[Block], NDArray[Any]]) -> NDArray[Any]:
    """A figure of each item over several blocks, shape [items of all blocks, ...]."""
    return np.concatenate([figure(block) for block in blocks])


def usable(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Rows that differ in the order of options alone, without yes/no items, and the number of yes/no items.

    Raises:
        StoreError: An item occurs twice in one order and condition.
    """
    in_order = np.array([ORDER.fullmatch(name) is not None for name in frame["presentation"]], dtype=bool)
    bare = np.array([tuple(labels) == YES_NO for labels in frame["labels"]], dtype=bool)
    left_out = frame.loc[in_order & bare, "item_id"].nunique()
    frame = frame.loc[in_order & ~bare]
    repeated = frame.duplicated(["item_id", "presentation", "condition"]).to_numpy()
    if repeated.any():
        row = frame.loc[repeated].iloc[0]
        raise StoreError(
            f"item {row['item_id']!r} occurs twice as {row['presentation']} under {row['condition']}: give the records "
            "of one run and one readout"
        )
    return frame, left_out


def read_orders(frame: pd.DataFrame, conditions: Sequence[str]) -> Orders:
    """The blocks of a run's records.

    Args:
        frame: Rows of one readout with the columns of `store.records.SCHEMA`; presentations that are no order of the
            options (other letters, controls) are ignored.
        conditions: The run's order of conditions.

    Raises:
        StoreError: An item occurs twice in one order and condition.
    """
    frame, yes_no = usable(frame)
    frame = frame.assign(group=frame["group_id"].factorize(sort=True)[0])
    present = by_condition(conditions, [str(name) for name in frame["condition"].unique()])
    seeded = {str(name) for name in frame["presentation"].unique() if _is_seeded(str(name))}
    blocks, incomplete = [], dict.fromkeys(present, 0)
    for k, rows in frame.groupby("k", sort=True):
        found = seeded | {str(name) for name in rows["presentation"].unique()}
        names = (IDENTITY, *sorted(found - {IDENTITY}, key=_rank))
        if len(names) < 2:
            continue
        parts = {str(name): part for name, part in rows.groupby("condition", sort=False)}
        for condition in present:
            if (part := parts.get(condition)) is None:
                continue
            shown = part.groupby("item_id", sort=False)["presentation"].transform("size").to_numpy()
            whole = shown == len(names)
            incomplete[condition] += int(part.loc[~whole, "item_id"].nunique())
            if whole.any():
                blocks.append(_block(condition, int(str(k)), names, part.loc[whole]))
    return Orders(tuple(present), tuple(blocks), yes_no, {name: n for name, n in incomplete.items() if n})


def _is_seeded(name: str) -> bool:
    return name.startswith("permutation_")


def _rank(name: str) -> tuple[str, int, str]:
    kind, _, number = name.partition("_")
    return (kind, int(number), "") if number.isdigit() else (kind, 0, number)


def _block(condition: str, k: int, names: tuple[str, ...], rows: pd.DataFrame) -> Block:
    rows = rows.assign(rank=[names.index(name) for name in rows["presentation"]]).sort_values(["item_id", "rank"])
    shape = (-1, len(names))
    seeded = [_is_seeded(name) for name in names]
    first = rows.iloc[:: len(names)]
    return Block(
        condition=condition,
        k=k,
        names=names,
        averaged=np.array(seeded if any(seeded) else [True] * len(names)),
        items=first["item_id"].to_numpy(dtype=np.str_),
        groups=first["group"].to_numpy(dtype=np.intp),
        gold_slot=rows["gold_slot"].to_numpy(dtype=np.int64).reshape(shape),
        pred_slot=rows["pred_slot"].to_numpy(dtype=np.int64).reshape(shape),
        pred_content=rows["pred_content"].to_numpy(dtype=np.int64).reshape(shape),
        correct=rows["correct"].to_numpy(dtype=bool).reshape(shape),
        order=np.array(rows["order"].tolist(), dtype=np.int64).reshape(*shape, k),
        label_logprobs=np.array(rows["label_logprobs"].tolist(), dtype=np.float64).reshape(*shape, k),
    )
