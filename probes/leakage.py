"""Which items of one role share something with items of another, and so may not stand in both.

Compares items by id, group, images and wording. Knows no states and no probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Protocol, TypeAlias

from thinkgap.errors import DataError
from thinkgap.schema import SharedItems
from thinkgap.types import Item

Traits: TypeAlias = tuple[str, object]
"""What is shared, and its value."""
ITEM, GROUP, IMAGE, QUESTION = "item id", "group", "image", "question"
_NAMED = 3


class Asked(Protocol):
    """A record, or anything else that says which item it is of."""

    @property
    def item_id(self) -> str:
        """Of the item."""
        ...

    @property
    def group_id(self) -> str:
        """Of the item."""
        ...


def shared_items(
    train: Iterable[Asked],
    evaluation: Iterable[Asked],
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


def wording(item: Item) -> tuple[object, ...]:
    """What two items have in common that ask the same: context, question, options in any order, images."""
    return item.context, item.question, tuple(sorted(item.choices)), tuple(image.sha256 for image in item.images)


def without_shared(
    rows: Mapping[str, Sequence[Asked]], items: Mapping[str, Mapping[str, Item]], policy: SharedItems
) -> dict[str, dict[str, str]]:
    """What each role must give up so that no two share an item id, a group, an image or a wording.

    A role gives up what it shares with a later one: fit with select and test, select with test.

    Args:
        rows: By role, the one that gives up first coming first; one entry or more for each item.
        items: By role, the items that are at hand, by id; of others only ids and groups are compared.
        policy: `refuse` or `drop`.

    Returns:
        Role -> item id -> what is shared with whom, such as `group of a test item`; empty for roles that lose none.

    Raises:
        DataError: Something is shared and the policy is to refuse.
    """
    found: dict[str, dict[str, str]] = {}
    told = []
    # Backwards, so that what is said of an item names the reported split where it is shared with both.
    for role, other in reversed(list(combinations(rows, 2))):
        shared = shared_items(rows[role], rows[other], items[role], items[other])
        if not shared:
            continue
        told.append(_told(shared, role, other))
        own = found.setdefault(role, {})
        for item, trait in shared.items():
            own.setdefault(item, f"{trait} of a {other} item")
    if told and policy is SharedItems.refuse:
        raise DataError(
            f"{'; '.join(told)}. What a probe was fitted or chosen on may not be reported: leave such items out with "
            "probe.shared=drop, or name other splits (probe.fit, probe.select, probe.test)"
        )
    return found


def _told(shared: Mapping[str, str], role: str, other: str) -> str:
    reasons = ", ".join(f"{count} by {reason}" for reason, count in Counter(shared.values()).items())
    named = ", ".join(list(shared)[:_NAMED]) + (", ..." if len(shared) > _NAMED else "")
    return f"{len(shared)} {role} items share something with {other} items ({reasons}): {named}"


def _traits(record: Asked, items: Mapping[str, Item] | None) -> Iterable[Traits]:
    yield ITEM, record.item_id
    yield GROUP, record.group_id
    item = (items or {}).get(record.item_id)
    if item is not None:
        yield from ((IMAGE, image.sha256) for image in item.images)
        yield QUESTION, wording(item)
