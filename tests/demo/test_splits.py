"""No handwritten digit and no scene is in two splits, whatever the seed; settings that would leak are refused."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest
from world_reader import Items

from thinkgap.demo.world import handwriting
from thinkgap.demo.world.handwriting import check_disjoint, pools, rows_of
from thinkgap.demo.world.parts import SPLITS, Part, overlap, parts_of
from thinkgap.errors import ConfigError, DataError
from thinkgap.schema import GenerationConfig

DEFAULTS = GenerationConfig().splits


def _rows(made: Items, split: str) -> set[int]:
    items = [item for seed in (0, 5) for item in made("digit_scenes", split, seed, size=600, image_free=0.0)]
    return {int(row) for item in items for row in item.meta["handwriting"].split()}


def test_no_digit_image_is_in_two_splits_over_seeds(made: Items) -> None:
    rows = {split: _rows(made, split) for split in SPLITS}
    check_disjoint(rows)
    greys = handwriting.handwriting().greys
    images = {split: {greys[row].tobytes() for row in own} for split, own in rows.items()}
    pictures = {
        split: {item.images[0].sha256 for item in made("digit_scenes", split, size=600, image_free=0.0)}
        for split in SPLITS
    }
    for first, second in combinations(SPLITS, 2):
        assert not rows[first] & rows[second]
        assert not images[first] & images[second]
        assert not pictures[first] & pictures[second]
    assert len(rows["test"]) > 300, "most of a split's handwriting is used"


def test_the_parts_hold_all_handwriting_and_every_digit() -> None:
    parts = parts_of(DEFAULTS)
    rows = {split: rows_of(part) for split, part in parts.items()}
    assert sum(map(len, rows.values())) == len(set().union(*rows.values())) == 1797
    assert [round(len(rows[split]) / 1797, 1) for split in SPLITS] == [0.7, 0.1, 0.2]
    for split in SPLITS:
        assert min(len(own) for own in pools(split, parts).values()) >= 8


@pytest.mark.parametrize("name", ["digit_scenes", "number_facts"])
@pytest.mark.parametrize("split", SPLITS)
def test_a_setting_that_would_leak_is_refused_and_names_the_digit(made: Items, name: str, split: str) -> None:
    with pytest.raises(
        ConfigError, match=r"the handwritten \d in row \d+ of .* would be in train and in test"
    ) as caught:
        made(name, split, splits={**DEFAULTS, "test": [0.6, 1.0], "validation": [0.01, 0.05], "train": [0.1, 0.7]})
    digit, row = (int(word) for word in str(caught.value).split() if word.isdigit())
    assert handwriting.handwriting().labels[row] == digit


def test_parts_that_share_scenes_only_are_refused_too(made: Items) -> None:
    positions = sorted(handwriting.handwriting().positions)
    below, above = max(pairwise(positions), key=lambda pair: pair[1] - pair[0])
    low, high = below + (above - below) / 3, below + (above - below) * 2 / 3
    splits = {"train": [0.0, high], "validation": [0.97, 1.0], "test": [low, 0.97]}
    with pytest.raises(ConfigError, match="train and test overlap, so that scenes would be in both"):
        made("digit_scenes", splits=splits)


def test_rows_that_two_sets_share_are_named() -> None:
    row = handwriting.handwriting().labels.index(7)
    with pytest.raises(ConfigError, match=f"the handwritten 7 in row {row} of .* would be in mine and in yours"):
        check_disjoint({"mine": [row, row], "yours": [row]})


@pytest.mark.parametrize(
    ("splits", "complaint"),
    [
        ({"train": [0.0, 1.0]}, "gives the parts of train; give train, validation, test"),
        ({}, "gives the parts of nothing"),
        ({**DEFAULTS, "dev": [0.0, 0.1]}, "gives the parts of train, validation, test, dev"),
        ({**DEFAULTS, "test": [0.8]}, "splits.test is"),
        ({**DEFAULTS, "test": [0.9, 0.8]}, "splits.test is"),
        ({**DEFAULTS, "test": [0.8, 1.1]}, "splits.test is"),
        ({**DEFAULTS, "test": [0.99, 1.0]}, "narrower than 0.02"),
    ],
)
def test_parts_that_are_none(made: Items, splits: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        made("digit_scenes", splits=splits)


def test_a_part_without_some_digit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handwriting, "rows_of", lambda part: [0, 1, 2] if part.low == 0 else [])
    with pytest.raises(ConfigError, match=r"splits\.train holds no handwritten 3: widen it"):
        pools("train", {"train": Part(0, 0.5), "test": Part(0.5, 1)})


def test_parts_that_touch_do_not_overlap() -> None:
    assert overlap({"a": Part(0, 0.5), "b": Part(0.5, 1)}) is None
    assert overlap({"a": Part(0, 0.5), "b": Part(0.5, 1), "c": Part(0.4, 0.5)}) == ("a", "c")
    assert 0.5 not in Part(0, 0.5)
    assert 0.5 in Part(0.5, 1)


def test_other_digits_of_another_scikit_learn_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    bunch: Any = sklearn.datasets.load_digits()
    bunch["images"][0, 0, 0] += 1
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: bunch)
    with pytest.raises(DataError, match="other digits than the world is made of"):
        handwriting.handwriting.__wrapped__()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"size": 0}, "dataset.generation.size is 0"),
        ({"image_free": 1.5}, "dataset.generation.image_free is 1.5"),
        ({"forms": ["mcq"]}, "dataset.generation.forms is set, and digit_scenes has no such setting"),
    ],
)
def test_settings_that_cannot_be_honoured(made: Items, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        made("digit_scenes", **settings)


def test_an_unknown_split_names_the_nearest(made: Items) -> None:
    with pytest.raises(ConfigError, match="digit_scenes has no split 'tset'; did you mean 'test'"):
        made("digit_scenes", "tset")
