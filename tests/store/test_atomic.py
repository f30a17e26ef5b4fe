"""Atomic writes: whole or not at all, and a full disk that names its folder."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from thinkgap.errors import StoreError
from thinkgap.store import atomic


def test_replaces_whole_and_leaves_nothing_else(tmp_path: Path):
    file = tmp_path / "a.txt"
    atomic.write_text(file, "old")
    atomic.write_text(file, "new é\n")
    assert file.read_bytes() == "new é\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    file = tmp_path / "a.txt"
    atomic.write_text(file, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), full)
    with pytest.raises(StoreError, match="no space left") as caught:
        atomic.write_text(file, "new")
    assert str(tmp_path) in str(caught.value)
    assert "written earlier are intact" in str(caught.value)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_other_errors_stay_what_they_are(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        atomic.write_text(tmp_path / "absent" / "a.txt", "x")
    with pytest.raises(StoreError, match=r"hydra\.run\.dir"), atomic.disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_leftovers_of_killed_writers_are_removed_by_name(tmp_path: Path):
    (tmp_path / ".a.txt.0123.tmp").touch()
    (tmp_path / ".b.txt.0123.tmp").touch()
    os.utime(tmp_path / ".a.txt.0123.tmp", (time.time() + 60, time.time() + 60))  # of a machine whose clock is ahead
    atomic.remove_temporaries(tmp_path, "a.txt")
    assert [path.name for path in tmp_path.iterdir()] == [".b.txt.0123.tmp"]


def test_leftovers_can_be_left_to_writers_at_work(tmp_path: Path):
    for name, minutes in ((".shard-1.parquet.0123.tmp", 59), (".shard-2.parquet.0123.tmp", 61), (".b.0123.tmp", 61)):
        (tmp_path / name).touch()
        moment = time.time() - 60 * minutes
        os.utime(tmp_path / name, (moment, moment))
    atomic.remove_temporaries(tmp_path, "shard-*", age=3600)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.0123.tmp", ".shard-1.parquet.0123.tmp"]
    atomic.remove_older(tmp_path / "absent", 0)
    atomic.remove_older(tmp_path / "absent", 1)
