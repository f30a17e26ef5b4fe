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


@cache
def _items(folder: Path, name: str) -> tuple[Item, ...]:
    return load(name, folder / name, split="test", duplicate_options=DuplicateOptions.keep).items


def _proposals(item: Item) -> list[Presentation] | str:
    return verification(item, Negative.random, 0)


@pytest.mark.parametrize(
    ("name", "rewrite", "kept"),
    [
        ("mmlu", open_numeric, 676),
        ("mmlu_pro", open_numeric, 1_431),
        pytest.param("mmlu", open_text, 8_606, marks=pytest.mark.slow),
        pytest.param("mmlu_pro", open_text, 9_685, marks=pytest.mark.slow),
        pytest.param("mmlu", _proposals, 13_730, marks=pytest.mark.slow),
        pytest.param("mmlu_pro", _proposals, 12_011, marks=pytest.mark.slow),
    ],
)
def test_how_many_items_are_kept_whatever_their_order(
    shared_data: Path, name: str, rewrite: Callable[[Item], object], kept: int
) -> None:
    """Both sets of numeric items are 2,107; the study has 2,100, by patterns of its own."""
    items = _items(shared_data, name)
    reordered = [replace(item, id=f"row {n}") for n, item in enumerate(Random(1).sample(items, len(items)))]
    assert sum(not isinstance(rewrite(item), str) for item in reordered) == kept


def test_what_is_proposed_of_real_items_does_not_hang_on_their_rows(shared_data: Path) -> None:
    items = _items(shared_data, "mmlu")[::8]
    slots: Counter[int] = Counter()
    for item in items:
        found, again = _proposals(item), _proposals(replace(item, id="another row"))
        assert isinstance(found, str) == isinstance(again, str)
        if not isinstance(found, str) and not isinstance(again, str):
            assert [one.item.question for one in found] == [one.item.question for one in again]
            slots[int(found[1].item.meta[PROPOSED])] += 1
    n = sum(slots.values())
    assert all(abs(count / n - 0.25) < 0.05 for count in slots.values()), slots
