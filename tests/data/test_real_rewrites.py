"""How many items of MMLU and MMLU-Pro each rewrite keeps, read from where they are and never copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from data_examples import load

from thinkgap.data.open_form import open_numeric, open_text
from thinkgap.data.verification import PROPOSED, verification
from thinkgap.schema import DuplicateOptions, Negative
from thinkgap.types import Item, Presentation

pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def _items(folder: Path, name: str) -> tuple[Item, ...]:
    return load(name, folder / name, split="test", duplicate_options=DuplicateOptions.keep).items


def _proposals(item: Item) -> object:
    return verification(item, Negative.random, 0)


@pytest.mark.parametrize(
    ("name", "rewrite", "kept"),
    [
        ("mmlu", _proposals, -1),
        ("mmlu", open_numeric, -1),
        ("mmlu", open_text, -1),
        ("mmlu_pro", _proposals, -1),
        ("mmlu_pro", open_numeric, -1),
        ("mmlu_pro", open_text, -1),
    ],
)
def test_counts(shared_data: Path, name: str, rewrite: Callable[[Item], object], kept: int) -> None:
    items = _items(shared_data, name)
    shuffled = Random(1).sample(items, len(items))
    found = Counter(not isinstance(rewrite(replace(item, id=f"row {n}")), str) for n, item in enumerate(shuffled))
    assert found[True] == kept


def test_numeric_items_are_about_as_many_as_in_the_study(shared_data: Path) -> None:
    """The study has 2,100 of both sets, by patterns and a draw that it does not publish."""
    both = [*_items(shared_data, "mmlu"), *_items(shared_data, "mmlu_pro")]
    assert sum(isinstance(open_numeric(item), Presentation) for item in both) == -1


def test_negatives_of_real_items_are_spread_over_the_wrong_options(shared_data: Path) -> None:
    items = _items(shared_data, "mmlu")
    slots: Counter[int] = Counter()
    n = 0
    for item in items:
        found = verification(item, Negative.random, 0)
        if not isinstance(found, str):
            slots[int(found[1].item.meta[PROPOSED])] += 1
            n += 1
    assert all(abs(count / n - 0.25) < 0.03 for count in slots.values()), slots
