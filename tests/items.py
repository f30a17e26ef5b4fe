"""Hand-made items and presentations for tests."""

from __future__ import annotations

from typing import Any

from thinkgap.types import LETTERS, Item, Presentation


def mcq(item_id: str = "i0", **fields: Any) -> Item:
    """A multiple-choice item; every field can be replaced."""
    values: dict[str, Any] = {
        "id": item_id,
        "group_id": item_id,
        "question": "Which number is the largest?",
        "choices": ("twelve", "seventeen and a half", "three"),
        "gold": 1,
        "answer_space": "mcq",
        "split": "test",
    } | fields
    return Item(**values)


def shown(item: Item, order: tuple[int, ...] | None = None, labels: tuple[str, ...] | None = None) -> Presentation:
    """The item in the given order, lettered from A."""
    order = tuple(range(len(item.choices))) if order is None else order
    return Presentation(item, order, labels or tuple(LETTERS[: len(order)]))
