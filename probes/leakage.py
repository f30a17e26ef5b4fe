"""Which training items share something with the items that are reported, and so may not be trained on.

Compares items by id, group, images and wording. Knows no states and no head.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from thinkgap.types import Item, Record

Traits: TypeAlias = tuple[str, object]
"""What is shared, and its value."""
ITEM, GROUP, IMAGE, QUESTION = "item id", "group", "image", "question"


def shared_items(
    train: Sequence[Record],
    evaluation: Sequence[Record],
    train_items: Mapping[str, Item] | None,
    evaluation_items: Mapping[str, Item] | None,
) -> dict[str, str]:
    """Training items that are also reported in some form.

    Args:
        train: Rows of the training items.
        evaluation: Rows of the items that are reported.
        train_items: The items themselves by id, for images and wording; None compares ids and groups only.
        evaluation_items: The same of the others.

    Returns:
        Item id -> what it shares, the first of `item id`, `group`, `image`, `question` (the same context, question,
        options and images); in the order of `train`.
    """
    seen = {trait for record in evaluation for trait in _traits(record, evaluation_items)}
    found: dict[str, str] = {}
    for record in train:
        for trait in _traits(record, train_items):
            if trait in seen:
                found.setdefault(record.item_id, trait[0])
    return found


def _traits(record: Record, items: Mapping[str, Item] | None) -> Iterable[Traits]:
    yield ITEM, record.item_id
    yield GROUP, record.group_id
    item = (items or {}).get(record.item_id)
    if item is not None:
        images = tuple(image.sha256 for image in item.images)
        yield from ((IMAGE, image) for image in images)
        yield QUESTION, (item.context, item.question, tuple(sorted(item.choices)), images)
