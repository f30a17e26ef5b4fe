"""The stratified sample: proportional, nested, and free of the order of rows."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter

import pytest
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
    items = _items({("a", 2): 16, ("b", 2): 3, ("b", 5): 40, ("c", 2): 1})
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


UNEQUAL = {("a", 4): 40, ("b", 2): 7, ("b", 3): 3} | {(f"single {number}", 2): 1 for number in range(5)}
"""Three strata that differ in size, and five of one item."""


@pytest.mark.parametrize("limit", [1, 5, 27, 50])
def test_items_of_small_strata_are_as_likely_as_others(limit: int) -> None:
    items, n_seeds = _items(UNEQUAL), 1500
    size_of = {item.id: UNEQUAL[item.subject, len(item.choices)] for item in items}
    counts = Counter(item.id for seed in range(n_seeds) for item in stratified_sample(items, limit, seed))
    share = limit / len(items)
    deviation = (share * (1 - share) / n_seeds) ** 0.5
    assert all(abs(counts[item.id] / n_seeds - share) < 4.5 * deviation for item in items)
    for size in set(size_of.values()):
        alike = [item_id for item_id in size_of if size_of[item_id] == size]
        mean = sum(counts[item_id] for item_id in alike) / len(alike) / n_seeds
        assert abs(mean - share) < 4 * deviation / len(alike) ** 0.5, f"strata of {size}"


# As MMLU-Pro is: 14 subjects whose items mostly have ten options, and many small strata of fewer.
SKEWED = {(f"s{subject}", 8): 150 + 15 * subject for subject in range(14)} | {
    (f"s{subject}", k): 1 + (subject + k) % 6 for subject in range(14) for k in range(2, 8)
}


@pytest.mark.parametrize("limit", [100, 300])
def test_shares_of_many_unequal_strata(limit: int) -> None:
    items, n_seeds = _items(SKEWED), 30
    small = 0
    for seed in range(n_seeds):
        chosen = stratified_sample(items, limit, seed)
        assert len(chosen) == limit
        counts = Counter((item.subject, len(item.choices)) for item in chosen)
        assert all(abs(counts[stratum] - limit * size / len(items)) < 1.7 for stratum, size in SKEWED.items())
        small += sum(count for (_, k), count in counts.items() if k < 8)
    n_small = sum(size for (_, k), size in SKEWED.items() if k < 8)
    assert small / n_seeds == pytest.approx(limit * n_small / len(items), rel=0.15)


def test_a_hundred_are_part_of_three_hundred() -> None:
    items = _items(SKEWED)
    for seed in range(3):
        assert _ids(stratified_sample(items, 100, seed)) < _ids(stratified_sample(items, 300, seed))


def test_a_sample_of_all_and_of_none() -> None:
    items = _items(UNEQUAL)
    assert stratified_sample(items, len(items), 0) == items
    assert stratified_sample(items, 99, 0) == items
    assert stratified_sample([], 3, 0) == []


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
