"""Which paths are local, and which files of a folder hold a split."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkgap.data.locate import find_files, looks_local
from thinkgap.errors import DataError


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("google/boolq", False),
        ("boolq", False),
        ("org/set-v1.5", False),
        ("org/set.en", False),
        ("./boolq", True),
        ("../x", True),
        ("/no/such", True),
        ("~/no-such", True),
        ("mine.jsonl", True),
        ("folder/test.parquet", True),
        ("folder/test.PARQUET", True),
        ("data/sets/boolq", True),
    ],
)
def test_looks_local(path: str, local: bool) -> None:
    assert looks_local(path) is local


def test_a_folder_that_exists_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not looks_local("google/boolq")
    (tmp_path / "google" / "boolq").mkdir(parents=True)
    assert looks_local("google/boolq")


def _touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def _found(root: Path, split: str = "test", config: str | None = None) -> list[str]:
    return [str(file.relative_to(root)) for file in find_files(str(root), split, config)]


@pytest.mark.parametrize(
    ("names", "config"),
    [
        (["test.parquet"], None),
        (["test.jsonl"], None),
        (["test.parquet"], "main"),
        (["data/test.parquet"], None),
        (["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"], None),
        (["data/test-00000-of-00001-5f3a.parquet"], None),
        (["data/test-0.parquet", "data/test-1.parquet"], None),
        (["main/test-00000-of-00001.parquet"], "main"),
        (["main/test/0000.parquet", "main/test/0001.parquet"], "main"),
        (["data/main/test.parquet"], "main"),
    ],
)
def test_layouts(tmp_path: Path, names: list[str], config: str | None) -> None:
    _touch(tmp_path, *names, "train.parquet", "README.md", "test-clean.parquet", "other/test.parquet")
    assert _found(tmp_path, "test", config) == names


def test_the_configurations_own_folder_comes_first(tmp_path: Path) -> None:
    _touch(tmp_path, "test.parquet", "en/test.parquet")
    assert _found(tmp_path, config="en") == ["en/test.parquet"]
    assert _found(tmp_path) == ["test.parquet"]


def test_shards_come_in_order(tmp_path: Path) -> None:
    names = [f"test-{number:05d}-of-00012.parquet" for number in range(12)]
    _touch(tmp_path, *reversed(names))
    assert _found(tmp_path) == names


def test_a_missing_shard_is_an_error(tmp_path: Path) -> None:
    _touch(tmp_path, "test-00000-of-00003.parquet", "test-00002-of-00003.parquet")
    with pytest.raises(DataError, match=r"lacks shard\(s\) \[1\]"):
        _found(tmp_path)


def test_shards_of_two_versions_are_an_error(tmp_path: Path) -> None:
    _touch(tmp_path, "test-00000-of-00001.parquet", "test-00000-of-00002.parquet", "test-00001-of-00002.parquet")
    with pytest.raises(DataError, match="several versions"):
        _found(tmp_path)


def test_a_missing_split_says_what_was_looked_for_and_what_is_there(tmp_path: Path) -> None:
    _touch(tmp_path, "train.parquet", "data/validation.jsonl")
    with pytest.raises(DataError) as caught:
        _found(tmp_path)
    for part in ("'test'", "test.parquet", "test.jsonl", "data/test.parquet", "train.parquet", "data/validation.jsonl"):
        assert part in str(caught.value)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the folder has no files"):
        _found(tmp_path)


def test_files(tmp_path: Path) -> None:
    _touch(tmp_path, "any.parquet", "any.csv")
    assert find_files(str(tmp_path / "any.parquet"), "test") == [tmp_path / "any.parquet"]
    with pytest.raises(DataError, match=r"\.parquet or \.jsonl, not \.csv"):
        find_files(str(tmp_path / "any.csv"), "test")
    with pytest.raises(DataError, match=r"nowhere\.parquet does not exist"):
        find_files(str(tmp_path / "nowhere.parquet"), "test")
