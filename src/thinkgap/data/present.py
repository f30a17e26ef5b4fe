"""How an `Item` is shown: which content in which slot, under which label.

The order of the source, and seeded permutations of it. It knows no prompt and no tokenizer.
"""

from __future__ import annotations

import hashlib

from thinkgap.types import LETTERS, Item, Presentation


def identity(item: Item) -> Presentation:
    """The item in its source's order: options lettered from A; bool items read under their own words, unlettered."""
    order = tuple(range(len(item.choices)))
    labels = item.choices if item.answer_space == "bool" else tuple(LETTERS[: len(order)])
    return Presentation(item, order, labels)


def permutations(item: Item, n: int, seed: int) -> list[Presentation]:
    """The item in `n` orders: `identity`, then `permutation_1`, ... (study A: contents shuffled, letters regenerated).

    Orders are drawn independently, so items of few options repeat some. A yes/no item shows no options whose order
    could change and has `identity` only.

    Args:
        item: the item.
        n: number of orders, 1 or more.
        seed: of the run; an item's orders depend on it and the item's id, not on what else is in the data set.
    """
    first = identity(item)
    if item.answer_space != "mcq":
        return [first]
    return [first] + [
        Presentation(item, _shuffled(len(item.choices), f"{seed}\0{item.id}\0{number}"), first.labels, name)
        for number in range(1, n)
        for name in (f"permutation_{number}",)
    ]


def _shuffled(k: int, key: str) -> tuple[int, ...]:
    """A uniform permutation of 0..k-1 that no release of a library can change."""
    return tuple(sorted(range(k), key=lambda content: hashlib.sha256(f"{key}\0{content}".encode()).digest()))
