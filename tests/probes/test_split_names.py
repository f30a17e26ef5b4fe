"""Names of splits, what roles read where none are named, and sharing out by group."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest

from probes.roles import Pool, find_pools
from probes.splits import check_shares, first_items, parse_splits, position, share_out
from tests.items import mcq
from thinkgap.data.available import has_split
from thinkgap.errors import ConfigError, DataError
from thinkgap.schema import DatasetConfig, ImageFilter, TrainConfig
from thinkgap.types import ImageRef, Item


def parsed(text: str, images: ImageFilter = ImageFilter.any) -> list[str]:
    return [f"{one.name}:{one.images.name}" for one in parse_splits("probe.fit", text, images)]


def test_grammar() -> None:
    assert parsed("train") == ["train:any"]
    assert parsed("train", ImageFilter.only) == ["train:only"], "without a filter the data set's own"
    assert parsed("train[image]") == ["train:only"]
    assert parsed("train[text]", ImageFilter.only) == ["train:none"]
    assert parsed("validation+dev[image]") == ["dev:only", "validation:any"], "equal sums are equal"
    assert parsed(" dev + test-2.b ") == ["dev:any", "test-2.b:any"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a name is missing"),
        ("train+", "a name is missing"),
        ("+train", "a name is missing"),
        ("train++dev", "a name is missing"),
        ("train[", r"'train\[' is no split"),
        ("train]", r"'train\]' is no split"),
        ("[image]", r"'\[image\]' is no split"),
        ("train[image][text]", "is no split"),
        ("train[image", "is no split"),
        ("train dev", "'train dev' is no split"),
        ("train,dev", "'train,dev' is no split"),
        ("train[images]", r"\[images\] is no filter"),
        ("train[]", r"\[\] is no filter"),
        ("train[Image]", r"\[Image\] is no filter"),
        ("train+train", "names the split train twice"),
        ("train[image]+train[text]", "names the split train twice"),
    ],
)
def test_what_the_grammar_does_not_know(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parsed(text)
    assert str(caught.value).startswith(f"probe.fit={text}")
    assert "train[image]" in str(caught.value) or "name it once" in str(caught.value), "the grammar or the way out"


def pools(cfg: TrainConfig) -> dict[str, str]:
    """Roles -> what they read."""
    return {" ".join(pool.roles): str(pool.source) for pool in find_pools(cfg)}


def jsonl(folder: Path, *splits: str) -> str:
    folder.mkdir(exist_ok=True)
    for split in splits:
        row = {"question": f"What is 2 and 2 ({split})?", "choices": ["4", "3"], "answer": 0}
        (folder / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    return str(folder)


Linear = Callable[..., TrainConfig]


def test_defaults(linear: Linear, tmp_path: Path) -> None:
    assert pools(linear()) == {"fit": "train", "select": "validation", "test": "test"}
    assert pools(linear("dataset.split=train")) == {"fit test": "train", "select": "validation"}
    assert pools(linear("dataset.split=validation")) == {"fit select": "train", "test": "validation"}
    assert pools(linear("probe.test=train[text]"))["fit test"] == "train[text]", "no second, overlapping train"
    assert pools(linear("probe.select=test")) == {"fit": "train", "select test": "test"}
    assert pools(linear("probe.fit=validation")) == {"fit select": "validation", "test": "test"}
    assert pools(linear("dataset.images=only"))["fit"] == "train[image]"
    only_test = ["dataset=jsonl", f"dataset.path={jsonl(tmp_path / 'a', 'test')}"]
    assert pools(linear(*only_test)) == {"fit select test": "test"}
    two = ["dataset=jsonl", f"dataset.path={jsonl(tmp_path / 'b', 'test', 'validation')}"]
    assert pools(linear(*two)) == {"fit test": "test", "select": "validation"}
    assert pools(linear(*two, "probe.fit=validation")) == {"fit select": "validation", "test": "test"}


def test_one_file_is_one_split(linear: Linear, tmp_path: Path) -> None:
    file = Path(jsonl(tmp_path, "test")) / "test.jsonl"
    one = linear("dataset=jsonl", f"dataset.path={file}")
    assert pools(one) == {"fit select test": "test"}
    with pytest.raises(ConfigError, match=r"is one file and so one split: name the same in both .*probe.fit=test"):
        find_pools(linear("dataset=jsonl", f"dataset.path={file}", "probe.fit=train"))


def test_features_stand_for_splits(linear: Linear, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    assert pools(linear(f"probe.fit_features={a}")) == {"fit select": str(a), "test": "test"}
    assert pools(linear(f"probe.fit_features={a}", f"probe.select_features={b}", f"probe.test_features={a}")) == {
        "fit test": str(a),
        "select": str(b),
    }
    assert pools(linear(f"probe.test_features={a}")) == {"fit": "train", "select": "validation", "test": str(a)}
    with pytest.raises(ConfigError, match=r"probe.fit=train and probe.fit_features=.*: .* leave one out"):
        find_pools(linear(f"probe.fit_features={a}", "probe.fit=train"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["probe.fit=train[image]", "probe.test=train[text]"], r"fit reads train\[image\] and test reads train\[t"),
        (["probe.fit=validation+train", "probe.select=validation"], r"both hold validation: .*probe.fit=validation"),
        (["probe.select=test[image]"], r"select reads test\[image\] and test reads test, which both hold test"),
    ],
)
def test_overlapping_splits_are_refused(linear: Linear, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_pools(linear(*overrides))


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.6, -0.2, 0.2], [0.6, 0.2, 1.2], [], [0.6, 0.0, 0.4]])
def test_shares_that_cannot_be_used(shares: list[float]) -> None:
    with pytest.raises(ConfigError, match=r"probe.shares="):
        check_shares(shares, ("fit", "select"))


def test_a_share_of_nothing_is_fine_where_the_role_shares_nothing() -> None:
    check_shares([0.5, 0.5, 0.0], ("fit", "select"))


def test_position_by_hand() -> None:
    # The first 13 hex digits of the digest, as a fraction of 16^13.
    digits = hashlib.sha256(b"3\x1fshare\x1fgroup").hexdigest()[:13]
    assert position(3, "share", "group") == int(digits, 16) / 16**13
    assert position(3, "share", "group") != position(4, "share", "group")


def asked(n: int, per_group: int = 3) -> list[tuple[str, str, Item | None]]:
    return [(f"i{number}", f"g{number // per_group}", None) for number in range(n)]


SHARES = [0.6, 0.2, 0.2]


def test_groups_stay_whole_and_shares_are_kept() -> None:
    items = asked(3000)
    owner = share_out(items, ("fit", "select", "test"), SHARES, seed=0)
    assert len({(group, owner[item]) for item, group, _ in items}) == 1000
    groups = Counter(owner[f"i{3 * group}"] for group in range(1000))
    # Standard deviation of a count: sqrt(1000 * 0.6 * 0.4) = 15.5 and sqrt(1000 * 0.2 * 0.8) = 12.6.
    assert abs(groups["fit"] - 600) < 60
    assert abs(groups["select"] - 200) < 50
    two = Counter(share_out(items, ("fit", "test"), SHARES, seed=0).values())
    assert abs(two["fit"] - 0.6 / 0.8 * 3000) < 3 * 60, "shares of those that take part"
    assert set(two) == {"fit", "test"}


def test_who_gets_a_group_depends_on_seed_and_group_alone() -> None:
    items = asked(300)
    roles = ("fit", "select", "test")
    owner = share_out(items, roles, SHARES, seed=0)
    assert share_out(items[::-1], roles, SHARES, seed=0) == owner
    assert share_out(items[120:], roles, SHARES, seed=0) == {item: owner[item] for item, *_ in items[120:]}
    assert share_out(items, roles, SHARES, seed=1) != owner
    # A group's name is the digest of its key, and its role where its position falls: [0, 0.6), [0.6, 0.8), [0.8, 1].
    place = position(0, "share", hashlib.sha256(b"0 g7").hexdigest()[:16])
    assert owner["i21"] == ("fit" if place < 0.6 else "select" if place < 0.8 else "test")


def test_items_of_several_splits_with_one_picture_or_wording_stay_together() -> None:
    def made(number: int, **fields: Any) -> tuple[str, str, Item | None]:
        item = mcq(f"i{number}", **({"question": f"Question {number}?"} | fields))
        return item.id, f"g{number}", item

    picture = ImageRef("picture", lambda: b"")
    for seed in range(20):
        items = [
            made(1, images=(picture,)),
            made(2, images=(picture,)),
            made(3, question="Same?", choices=("a", "b"), gold=0),
            made(4, question="Same?", choices=("b", "a"), gold=1),
            made(5),
        ]
        owner = share_out(items, ("fit", "test"), SHARES, seed)
        assert owner["i1"] == owner["i2"]
        assert owner["i3"] == owner["i4"]
    owners = [share_out([made(1), made(5)], ("fit", "test"), SHARES, seed) for seed in range(20)]
    assert any(one["i1"] != one["i5"] for one in owners), "others are dealt apart"


def test_a_cut_takes_groups_one_after_another_and_is_nested() -> None:
    groups = {item: group for item, group, _ in asked(60)}
    small, large = first_items(groups, 10, seed=0), first_items(groups, 30, seed=0)
    assert (len(small), len(large)) == (10, 30)
    assert small < large
    whole = Counter(groups[item] for item in small)
    assert sorted(whole.values()) == [1, 3, 3, 3], "10 = 3 groups of 3, and 1 of a fourth"
    assert first_items(groups, None, seed=0) == set(groups)
    assert first_items(dict(reversed(groups.items())), 10, seed=0) == small
    assert first_items(groups, 10, seed=1) != small


def test_limits_of_a_pool(linear: Linear) -> None:
    cfg = linear("dataset.limit=40", "probe.examples=30", "probe.select_examples=20")
    apart = {pool.roles: pool for pool in find_pools(cfg)}
    limits = {roles: [one.limit for one in pool.datasets(cfg)] for roles, pool in apart.items()}
    assert limits == {("fit",): [30], ("select",): [20], ("test",): [40]}
    cfg = linear("dataset.limit=40", "probe.examples=30", "probe.fit=train+validation", "probe.select=validation+train")
    pool: Pool = find_pools(cfg)[0]
    assert pool.roles == ("fit", "select")
    assert [(one.split, one.limit) for one in pool.datasets(cfg)] == [("train", 40), ("validation", 40)]


def test_whether_a_split_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = DatasetConfig(name="jsonl", path=jsonl(tmp_path, "test"))
    assert has_split(local, "test")
    assert not has_split(local, "train")
    (tmp_path / "train-00001-of-00002.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="lacks shard"):
        has_split(local, "train")
    with pytest.raises(DataError, match="does not exist"):
        has_split(DatasetConfig(name="jsonl", path=str(tmp_path / "no")), "train")
    assert has_split(DatasetConfig(name="toy_facts", path="generated"), "train")
    assert not has_split(DatasetConfig(name="toy_facts", path="generated"), "dev")
    with pytest.raises(ConfigError, match="no adapter"):
        has_split(DatasetConfig(name="toy_fact", path="generated"), "train")
    wrong = DatasetConfig(name="number_facts", path="generated")
    wrong.generation.forms = ["bol"]
    with pytest.raises(ConfigError, match="dataset.generation.forms has 'bol'"):
        has_split(wrong, "train")
    hub = DatasetConfig(name="mmlu", path="cais/mmlu", config="all", revision="abc")
    calls: list[Any] = []

    def listed(*arguments: Any, **named: Any) -> list[str]:
        calls.append((arguments, named))
        return ["test", "dev"]

    monkeypatch.setattr(datasets, "get_dataset_split_names", listed)
    assert has_split(hub, "dev")
    assert not has_split(hub, "train")
    assert calls[0] == (("cais/mmlu", "all"), {"revision": "abc"})


def test_a_hub_that_cannot_be_reached_is_told_as_that(linear: Linear, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_arguments: Any, **_named: Any) -> list[str]:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "get_dataset_split_names", unreachable)
    with pytest.raises(DataError, match="cannot be asked for its splits, .* ConnectionError: no network"):
        find_pools(linear("dataset=mmlu"))
    assert pools(linear("dataset=mmlu", "probe.fit=dev", "probe.select=validation"))["fit"] == "dev", "nothing is asked"
