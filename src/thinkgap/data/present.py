"""How an `Item` is shown: which content in which slot, under which label.

Only the order of the source so far. It knows no prompt and no tokenizer.
"""

from __future__ import annotations

from thinkgap.types import LETTERS, Item, Presentation


def identity(item: Item) -> Presentation:
    """The item in its source's order: options lettered from A; bool items read under their own words, unlettered."""
    order = tuple(range(len(item.choices)))
    labels = item.choices if item.answer_space == "bool" else tuple(LETTERS[: len(order)])
    return Presentation(item, order, labels)
