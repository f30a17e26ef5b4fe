"""How an `Item` is shown: which content in which slot, under which letter.

The source's order, other orders of the contents, and orders of contents and letters apart from each other. It knows no
prompt, no tokenizer and no other label than the source's letters (`data.label_sets` has those).
"""

from __future__ import annotations

import hashlib
import itertools

from thinkgap.errors import ConfigError
from thinkgap.presentation_names import FACTORIAL
from thinkgap.schema import OrderDesign
from thinkgap.types import LETTERS, Item, Presentation

MOST_OPTIONS_IN_ALL_ORDERS = 5


def identity(item: Item) -> Presentation:
    """The item in its source's order: options lettered from A; bool items read under their own words, unlettered."""
    order = tuple(range(len(item.choices)))
    labels = item.choices if item.answer_space == "bool" else tuple(LETTERS[: len(order)])
    return Presentation(item, order, labels)


def orders(item: Item, design: OrderDesign, n: int, seed: int) -> list[Presentation]:
    """The item in the orders of a design, `identity` first; letters always run from A in the first slot.

    A yes/no item shows no options whose order could change and has `identity` only.

    Args:
        item: the item.
        design: `seeded` is `permutations`; `cyclic` shows every content in every slot once (`cyclic_1`, ...: contents
            moved up by that many slots, as MMBench's CircularEval does); `all` shows every order (`order_2-0-1`: the
            contents by slot).
        n: number of orders of `seeded`; the other designs have as many as the item's options give.
        seed: of `seeded`.

    Raises:
        ConfigError: every order is asked of an item of more than five options.
    """
    if design is OrderDesign.seeded or item.answer_space != "mcq":
        return permutations(item, n, seed)
    first, k = identity(item), len(item.choices)
    if design is OrderDesign.cyclic:
        return [first] + [
            Presentation(item, _rotated(k, by), first.labels, name) for by in range(1, k) for name in (f"cyclic_{by}",)
        ]
    if k > MOST_OPTIONS_IN_ALL_ORDERS:
        raise ConfigError(
            f"evaluation.permutation.orders=all shows every order of up to {MOST_OPTIONS_IN_ALL_ORDERS} options, and "
            f"item {item.id} has {k}: choose cyclic or seeded"
        )
    others = list(itertools.permutations(range(k)))[1:]
    return [first] + [Presentation(item, order, first.labels, f"order_{'-'.join(map(str, order))}") for order in others]


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


def factorial(item: Item) -> list[Presentation]:
    """The item under every rotation of its contents with every rotation of its letters, k * k presentations.

    Each content stands in each slot under each letter exactly once, so that what a prediction owes to slot, letter and
    content can be told apart (`metrics.factorial`). `factorial_A_B` has contents moved up by A slots and letters by B;
    `factorial_0_0` shows what `identity` shows. None for items that show no lettered options.
    """
    if item.answer_space != "mcq":
        return []
    k = len(item.choices)
    return [
        Presentation(item, _rotated(k, a), tuple(LETTERS[letter] for letter in _rotated(k, b)), f"{FACTORIAL}{a}_{b}")
        for a in range(k)
        for b in range(k)
    ]


def _rotated(k: int, by: int) -> tuple[int, ...]:
    """0..k-1 moved up by that many slots."""
    return tuple((slot + by) % k for slot in range(k))


def _shuffled(k: int, key: str) -> tuple[int, ...]:
    """A uniform permutation of 0..k-1 that no release of a library can change."""
    return tuple(sorted(range(k), key=lambda content: hashlib.sha256(f"{key}\0{content}".encode()).digest()))
