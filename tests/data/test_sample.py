"""The stratified sample: proportional, nested, and free of the order of rows."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter

from data_examples import make_item
from hypothesis import given
from hypothesis import strategies as st

from thinkgap.data import stratified_sample
from thinkgap.types import Item


def _items(sizes: dict[tuple[str, int], int]) -> list[Item]:
    """Sorted by stratum, as public files are."""
    return [
        make_item(id=f"{subject}-{k}-{number}", subject=subject, choices=tuple("abcdefgh"[:k]))
        for (subject, k), size in sizes.items()
        for number in range(size)
    ]


SIZES = {("law", 4): 100, ("law", 2): 60, ("art", 4): 30, ("art", 5): 10}


def _ids(items: list[Item]) -> set[str]:
    return {item.id for item in items}


def test_shares_follow_the_strata() -> None:
    for limit in (20, 50, 100, 137):
        chosen = stratified_sample(_items(SIZES), limit, seed=0)
        assert len(chosen) == limit
        counts = Counter((item.subject, len(item.choices)) for item in chosen)
        for stratum, size in SIZES.items():
            assert abs(counts[stratum] - limit * size / 200) <= 1


def test_it_is_not_the_first_rows_and_keeps_their_order() -> None:
    items = _items({("law", 4): 200})
    chosen = stratified_sample(items, 50, seed=0)
    assert _ids(chosen) != _ids(items[:50])
    assert chosen == [item for item in items if item in chosen]


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 9), st.randoms(use_true_random=False))
def test_nested_and_free_of_row_order(first: int, second: int, seed: int, rng: random.Random) -> None:
    items = _items({("a", 2): 17, ("b", 2): 3, ("b", 5): 40})
    small, large = sorted((first, second))
    chosen = _ids(stratified_sample(items, small, seed))
    assert len(chosen) == small
    assert chosen <= _ids(stratified_sample(items, large, seed))
    assert chosen == _ids(stratified_sample(rng.sample(items, len(items)), small, seed))


def test_seeds_differ() -> None:
    samples = {frozenset(_ids(stratified_sample(_items(SIZES), 40, seed))) for seed in range(5)}
    assert len(samples) == 5


def test_every_item_is_as_likely_as_any_other() -> None:
    items = _items({("a", 2): 20})
    counts = Counter(item.id for seed in range(400) for item in stratified_sample(items, 5, seed))
    assert len(counts) == 20
    assert all(60 <= count <= 145 for count in counts.values())  # 100 expected, standard deviation 8.7


def test_it_does_not_depend_on_pythons_hash() -> None:
    code = (
        "from thinkgap.data import load_dataset_items; from thinkgap.schema import DatasetConfig;"
        "loaded = load_dataset_items(DatasetConfig(name='toy_facts', path='generated', limit=7));"
        "print([(item.id, item.group_id, item.question) for item in loaded.items])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
