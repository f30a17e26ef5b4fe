"""Surface perturbations: the same question and options, with contents shuffled or without labels.

Other labels (numerals, lower case) are `data.label_sets`'. Knows no prompt and no model.
"""

from __future__ import annotations

import hashlib
import itertools

from thinkgap.data.checks import PLACEHOLDER, normalise
from thinkgap.presentation_names import BULLETS, SHUFFLE
from thinkgap.responses.extract import extract
from thinkgap.responses.normalise import normalise as text
from thinkgap.types import LETTERS, Item, Presentation


def shuffled(item: Item, seed: int, *, allow_identity: bool = True) -> Presentation | str:
    """The item's contents in a uniform order under regenerated letters, or why there is none.

    Args:
        item: the item.
        seed: of the run; an item's order depends on it and the item's id alone.
        allow_identity: whether the source's own order may be drawn, as in the inertia study.
    """
    if item.answer_space != "mcq":
        return "it has no options"
    k = len(item.choices)
    draws = (
        tuple(sorted(range(k), key=lambda c: hashlib.sha256(f"{seed}\0{item.id}\0shuffle{n}\0{c}".encode()).digest()))
        for n in itertools.count()
    )
    # An item has two options or more, so another order comes up.
    order = next(order for order in draws if allow_identity or order != tuple(range(k)))
    return Presentation(item, order, tuple(LETTERS[:k]), SHUFFLE)


def bullets(item: Item) -> Presentation | str:
    """The item's options in the source's order as bullets without labels, or why it cannot be shown so.

    An option's own text is its label. So all texts have to differ, and each has to be read back from a box that holds
    it: not an image, and not a text whose braces do not close.
    """
    if item.answer_space != "mcq":
        return "it has no options"
    if any(PLACEHOLDER.search(choice) for choice in item.choices):
        return "its options are images"
    if len({normalise(text(choice)) for choice in item.choices}) < len(item.choices):
        return "two of its options have the same text"
    for slot, choice in enumerate(item.choices):
        if extract(rf"\boxed{{{choice}}}", "mcq", options=item.choices).slot != slot:
            return "one of its options cannot be read back from a box"
    labels = tuple(choice.strip() for choice in item.choices)
    return Presentation(item, tuple(range(len(item.choices))), labels, BULLETS, lettered=False)
