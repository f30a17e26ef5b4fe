"""Generated facts: sound for every seed, disjoint between splits, and checked against an independent solver."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from data_examples import load

from thinkgap.data.toy_facts import KINDS, OPPOSITES, SIZE, SPLITS, generate
from thinkgap.errors import ConfigError
from thinkgap.types import Item

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def _solve(item: Item) -> list[str]:
    """Every shown option that answers the question, worked out from its words alone."""
    numbers = [int(number) for number in re.findall(r"\d+", item.question)]
    quoted = re.findall(r"'(\w+)'", item.question)
    if item.subject == "largest number":
        return [max(item.choices, key=int)]
    if item.subject == "letter order":
        return [min(item.choices)]
    if item.subject == "days":
        start = _DAYS.index(item.question.split()[-1].rstrip("?"))
        steps = numbers[0] if " after " in item.question else -numbers[0]
        return [choice for choice in item.choices if choice == _DAYS[(start + steps) % 7]]
    if item.subject == "opposites":
        pairs = [set(pair.split("-")) for pair in OPPOSITES]
        return [choice for choice in item.choices if {choice, quoted[0]} in pairs]
    if item.subject == "sums":
        return [choice for choice in item.choices if int(choice) == sum(numbers)]
    letter, word = quoted
    return [choice for choice in item.choices if int(choice) == word.count(letter)]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("split", SPLITS)
def test_each_item_has_exactly_one_right_option(split: str, seed: int) -> None:
    loaded = load("toy_facts", "generated", split=split, seed=seed)
    assert not loaded.bad
    assert not loaded.notes
    assert len(loaded.items) == SIZE
    for item in loaded.items:
        assert 2 <= len(item.choices) <= 5
        assert len(set(item.choices)) == len(item.choices)
        assert _solve(item) == [item.answer], item
        assert not any(choice.startswith("-") for choice in item.choices)


def test_kinds_sizes_and_gold_slots_are_even() -> None:
    rows = generate("test", 3)
    assert len(KINDS) >= 6
    assert set(Counter(row["kind"] for row in rows).values()) == {SIZE // len(KINDS)}
    for k in (2, 3, 4, 5):
        slots = Counter(row["answer"] for row in rows if isinstance(row["choices"], list) and len(row["choices"]) == k)
        assert set(slots) == set(range(k))
        assert max(slots.values()) - min(slots.values()) <= 1


def test_splits_are_disjoint_across_seeds() -> None:
    facts = {
        split: {(row["kind"], row["about"]) for seed in range(5) for row in generate(split, seed)} for split in SPLITS
    }
    questions = {
        split: {(row["question"], frozenset(row["choices"])) for seed in range(5) for row in generate(split, seed)}  # type: ignore[arg-type]
        for split in SPLITS
    }
    for first, second in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not facts[first] & facts[second]
        assert not questions[first] & questions[second]


def test_a_seed_gives_the_same_items_and_another_seed_others() -> None:
    assert generate("train", 1) == generate("train", 1)
    assert generate("train", 1) != generate("train", 2)
    ids = [item.id for item in load("toy_facts", "generated", split="train").items]
    assert ids[0] == "toy_facts/train/000000"
    assert len(set(ids)) == SIZE


def test_no_word_has_two_opposites() -> None:
    words = [word for pair in OPPOSITES for word in pair.split("-")]
    assert len(set(words)) == len(words) == 2 * len(OPPOSITES)


def test_items_about_one_fact_are_one_group() -> None:
    opposites = [item for item in load("toy_facts", "generated").items if item.subject == "opposites"]
    by_pair = {frozenset((item.answer, item.question.split("'")[1])): item.group_id for item in opposites}
    assert len({item.group_id for item in opposites}) == len(by_pair) < len(opposites)


def test_path_and_split_are_checked() -> None:
    with pytest.raises(ConfigError, match="makes its own items"):
        load("toy_facts", "somewhere")
    with pytest.raises(ConfigError, match="did you mean 'validation'"):
        load("toy_facts", "generated", split="validaton")
