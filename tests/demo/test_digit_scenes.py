"""Digit scenes: each answer, rationale and caption against pixels or words, options, balance, and determinism."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
import world_reader as reader
from world_reader import Items

from thinkgap.data.digit_scenes import ADAPTER
from thinkgap.demo.world.questions import KINDS
from thinkgap.demo.world.rows import SIZES

# Made on Linux x86-64 with numpy 2; another platform or release that gives another figure has changed the world.
DIGEST = "cec7abe58980881dd33a6db4b194bf69853a961c1be08fd5cbb7bd7316a29e29"
_DIGEST_CODE = """
import hashlib, json
from thinkgap.demo.world.rows import fact_rows, scene_rows
from thinkgap.schema import GenerationConfig
digest = hashlib.sha256()
for split in ("train", "validation", "test"):
    for rows in (scene_rows, fact_rows):
        for row in rows(split, 3, GenerationConfig(size=100)):
            row["image"] = row["image"]["bytes"].hex() if row.get("image") else None
            digest.update(json.dumps(row, sort_keys=True).encode())
print(digest.hexdigest())
"""


def test_each_answer_follows_from_what_is_shown(made: Items) -> None:
    items = made("digit_scenes")
    assert len(items) == SIZES["test"] == 2_000
    for item in items:
        marks = reader.shown(item)
        assert marks == reader.marks_of_scene(item)
        assert 1 <= len(marks) <= 4
        assert reader.answer(item.question, marks) == item.answer, item


@pytest.mark.parametrize(("split", "seed"), [("train", 0), ("validation", 0), ("test", 1), ("test", 7)])
def test_the_same_holds_for_other_splits_and_seeds(made: Items, split: str, seed: int) -> None:
    for item in made("digit_scenes", split, seed, size=300):
        marks = reader.shown(item)
        assert marks == reader.marks_of_scene(item)
        assert reader.answer(item.question, marks) == item.answer, item


def test_pictures_and_words_exclude_each_other_and_have_their_share(made: Items) -> None:
    items = made("digit_scenes")
    for item in items:
        assert bool(item.images) != bool(item.context)
        assert bool(item.images) == bool(item.meta.get("handwriting"))
    assert sum(not item.images for item in items) / len(items) == pytest.approx(0.25, abs=0.03)


def test_the_share_of_words_changes_nothing_else(made: Items) -> None:
    whole, none, some = (made("digit_scenes", size=200, image_free=share) for share in (1.0, 0.0, 0.5))
    assert [len([item for item in items if item.images]) for items in (whole, none)] == [0, 200]
    quarter, half = ({item.id for item in items if not item.images} for items in (made("digit_scenes", size=200), some))
    assert quarter < half
    for first, second, third in zip(whole, none, some, strict=True):
        assert (first.id, first.question, first.choices, first.gold) == (
            second.id,
            second.question,
            second.choices,
            second.gold,
        )
        assert third.images in ((), second.images)


def test_captions_and_rationales_are_true_and_end_in_the_answer(made: Items) -> None:
    for item in made("digit_scenes"):
        marks = reader.marks_of_scene(item)
        assert reader.marks_in_text(item.meta["caption"]) == marks
        assert reader.check_rationale(item.meta["rationale"], marks) == item.answer, item


def test_no_text_holds_a_letter_that_could_be_a_label(made: Items) -> None:
    for item in made("digit_scenes"):
        for text in (item.question, item.context, item.meta["rationale"], item.meta["caption"], *item.choices):
            assert not re.search(r"\b[A-Z]\b", text), text


def test_options(made: Items) -> None:
    for item in made("digit_scenes"):
        assert 2 <= len(item.choices) <= 5
        assert len(set(item.choices)) == len(item.choices)
        assert item.choices.count(item.answer) == 1
        assert item.gold == item.choices.index(item.answer)
        words = (
            reader.COLOURS
            if item.subject == "which colour"
            else {"upper left", "upper right", "lower left", "lower right"}
        )
        for choice in item.choices:
            assert choice in words or item.subject not in ("which colour", "where")
            assert choice.isdigit() or item.subject in ("which colour", "where")
        if item.subject == "sum":
            assert max(abs(int(choice) - int(item.answer)) for choice in item.choices) <= 4
            assert all(0 <= int(choice) <= 18 for choice in item.choices)


def test_kinds_sizes_and_gold_slots_are_even(made: Items) -> None:
    items = made("digit_scenes")
    kinds = Counter(item.subject for item in items)
    assert set(kinds) == set(KINDS) == set(ADAPTER.subjects)
    assert max(kinds.values()) - min(kinds.values()) <= 1
    sizes = Counter(len(item.choices) for item in items)
    assert set(sizes) == {2, 3, 4, 5}
    assert max(sizes.values()) < 1.05 * min(sizes.values())
    for k in sizes:
        slots = Counter(item.gold for item in items if len(item.choices) == k)
        assert set(slots) == set(range(k))
        assert max(slots.values()) - min(slots.values()) <= 1
    for kind in kinds:
        of_kind = [item for item in items if item.subject == kind]
        expected = sum(1 / len(item.choices) for item in of_kind) / len(of_kind)
        assert sum(item.gold == 0 for item in of_kind) / len(of_kind) == pytest.approx(expected, abs=0.08)


def test_numbers_of_digits_and_topics_vary(made: Items) -> None:
    items = made("digit_scenes")
    assert set(Counter(item.meta["category"] for item in items)) == {"1 digit", "2 digits", "3 digits", "4 digits"}
    topics = {(item.subject, item.meta["topic"]) for item in items}
    assert len(topics) == 11, topics
    counts = Counter(item.answer for item in items if item.subject == "how many")
    assert set(counts) == set("01234")
    assert min(counts.values()) > 15


@pytest.mark.parametrize(
    ("kind", "guess"),
    [
        ("largest", lambda choices: max(choices, key=int)),
        ("sum", lambda choices: sorted(choices, key=int)[len(choices) // 2]),
        ("how many", lambda choices: sorted(choices)[len(choices) // 2]),
        ("which digit", max),
        ("which colour", min),
        ("where", min),
    ],
)
def test_options_alone_do_not_give_the_answer_away(made: Items, kind: str, guess) -> None:
    items = [item for item in made("digit_scenes") if item.subject == kind]
    chance = sum(1 / len(item.choices) for item in items) / len(items)
    right = sum(guess(item.choices) == item.answer for item in items) / len(items)
    assert right < chance + 0.12


def test_no_item_stands_twice(made: Items) -> None:
    items = made("digit_scenes")
    assert len({(item.meta["scene"], item.question, frozenset(item.choices)) for item in items}) == len(items)
    assert len({item.id for item in items}) == len(items)


def test_items_about_one_scene_are_one_group(made: Items) -> None:
    items = made("digit_scenes")
    groups = {item.meta["scene"]: item.group_id for item in items}
    assert len(set(groups.values())) == len(groups) < len(items)
    assert all(groups[item.meta["scene"]] == item.group_id for item in items)


def test_a_limit_or_another_size_changes_no_item(made: Items) -> None:
    by_id = {item.id: item for item in made("digit_scenes")}
    for items in (made("digit_scenes", limit=60), made("digit_scenes", size=100)):
        assert all(by_id[item.id] == item for item in items)
    assert made("digit_scenes", size=3)[2].id == "digit_scenes/test/0/000002"


def test_a_seed_gives_other_items_under_other_ids(made: Items) -> None:
    first, second = made("digit_scenes", size=100), made("digit_scenes", seed=1, size=100)
    assert not {item.id for item in first} & {item.id for item in second}
    shared = {(item.meta["scene"], item.question) for item in first} & {
        (item.meta["scene"], item.question) for item in second
    }
    assert len(shared) < 10


def test_generation_is_the_same_everywhere() -> None:
    import os

    done = subprocess.run(
        [sys.executable, "-c", _DIGEST_CODE],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "4711"},
        timeout=120,
    )
    assert done.stdout.strip() == DIGEST, done.stderr
