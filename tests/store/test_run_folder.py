"""Run folders: resume after a kill at any step, damage, other settings, a full disk."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.examples import record, run_records
from thinkgap.errors import StoreError
from thinkgap.store import RunFolder, read_records
from thinkgap.store.records import RecordFacts, read_table

ORDER = ("direct", "think")
STEPS = 18
"""Renames and removals of `run`, counted in a test below."""
FINGERPRINT = {"model": {"path": "m", "dtype": "float32"}, "pixels": (1, 2)}


class Killed(BaseException):
    """Stands for SIGKILL."""


def run(path: Path, rank_of: int = 1) -> Path:
    """What an evaluation does: take up the folder, compute what is missing in batches of two items, merge."""
    folder = RunFolder(path)
    folder.open(FINGERPRINT)
    done = folder.finished_items(ORDER)
    todo = [r for r in run_records(7) if (r.item_id, r.presentation) not in done]
    for number, start in enumerate(range(0, len(todo), 4)):
        folder.write_shard(todo[start : start + 4], rank=number % rank_of)
    return folder.merge(ORDER, RecordFacts(title="made up", excluded={"too long": 1}))


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def test_merge_sorts_and_cleans_up(tmp_path: Path):
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "config.yaml").touch()
    (tmp_path / "evaluate.log").touch()
    run(tmp_path, rank_of=2)
    assert files(tmp_path) == [".hydra/config.yaml", "evaluate.log", "fingerprint.json", "records.parquet"]
    keys = [r.key for r in read_records(tmp_path)]
    assert keys == sorted(keys, key=lambda key: (ORDER.index(key[2]), key[0]))
    assert len(keys) == 14


@pytest.mark.parametrize("step", range(STEPS))
def test_killed_at_any_step_and_resumed_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int):
    """Dies before the `step`-th rename or removal, and lets nothing more happen, not even clean-up."""
    expected = run(tmp_path / "whole").read_bytes()
    left = [step]

    def deadly(name: str) -> None:
        original = getattr(Path, name)

        def call(self: Path, *args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return original(self, *args, **kwargs)

        monkeypatch.setattr(Path, name, call)

    deadly("replace")
    deadly("unlink")
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        run(folder)
    monkeypatch.undo()
    assert run(folder, rank_of=2).read_bytes() == expected
    assert [name for name in files(folder) if "fingerprint" not in name] == ["records.parquet"]


def test_the_kill_test_reaches_every_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = []
    for name in ("replace", "unlink"):
        original = getattr(Path, name)
        monkeypatch.setattr(
            Path, name, lambda self, *a, _o=original, _n=name, **k: (steps.append(_n), _o(self, *a, **k))
        )
    run(tmp_path)
    # fingerprint; 4 shards with their digests; records; removal of the shards and digests.
    assert steps == ["replace"] * 10 + ["unlink"] * 8
    assert len(steps) == STEPS


def test_merge_is_idempotent_and_finished_runs_resume(tmp_path: Path):
    data = run(tmp_path).read_bytes()
    before = (tmp_path / "records.parquet").stat().st_mtime_ns
    folder = RunFolder(tmp_path)
    assert folder.open(FINGERPRINT) is True
    assert len(folder.finished_keys()) == 14
    assert len(folder.finished_items(ORDER)) == 7
    assert folder.merge(ORDER, RecordFacts(title="made up", excluded={"too long": 1})).read_bytes() == data
    assert (tmp_path / "records.parquet").stat().st_mtime_ns == before


def test_conditions_added_later_are_merged_in(tmp_path: Path):
    run(tmp_path)
    folder = RunFolder(tmp_path)
    folder.open(FINGERPRINT)
    assert folder.finished_items((*ORDER, "more")) == set()
    folder.write_shard(run_records(7, ("more",)))
    folder.merge(("direct", "more", "think"))
    assert [r.condition for r in read_records(tmp_path)] == ["direct"] * 7 + ["more"] * 7 + ["think"] * 7
    folder.merge(("think",))  # those that the order does not name follow it
    assert [r.condition for r in read_records(tmp_path)] == ["think"] * 7 + ["direct"] * 7 + ["more"] * 7


def test_finished_items_need_every_condition_and_readout(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard([record("q1"), record("q1", "think"), record("q2"), record("q3", readout="lens")])
    assert folder.finished_items(ORDER, "native") == {("q1", "identity")}
    assert folder.finished_items(("direct",), "native") == {("q1", "identity"), ("q2", "identity")}
    assert folder.finished_items(("direct",)) == set()


def test_numbering_goes_on_after_a_resume(tmp_path: Path):
    first = RunFolder(tmp_path)
    first.open({})
    first.write_shard([record("q1")], rank=3)
    second = RunFolder(tmp_path)
    assert second.open({}) is True
    assert second.write_shard([record("q2")], rank=3).name == "part-r003-000001.parquet"


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "no digest"])
def test_damaged_shards_are_removed_and_recomputed(tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str):
    expected = run(tmp_path / "whole").read_bytes()
    folder = RunFolder(tmp_path / "run")
    folder.open(FINGERPRINT)
    records = run_records(7)
    folder.write_shard(records[:4])
    path = folder.write_shard(records[4:8])
    data = bytearray(path.read_bytes())
    data[-20] ^= 1  # in the footer, which no page checksum covers
    if damage == "no digest":
        path.with_name(path.name + ".sha256").unlink()
    else:
        path.write_bytes({"truncate": path.read_bytes()[:-50], "flip": bytes(data), "empty": b""}[damage])
    assert len(folder.finished_keys()) == 4
    assert "is damaged" in caplog.text
    assert path.name in caplog.text
    assert not path.exists()
    assert folder.write_shard(records[4:8]).name == "part-r000-000002.parquet"  # a number is never used twice
    assert run(tmp_path / "run").read_bytes() == expected


def test_other_settings_are_refused_by_name(tmp_path: Path):
    folder = RunFolder(tmp_path)
    assert folder.open(FINGERPRINT) is False
    assert folder.open({"pixels": [1, 2], "model": {"dtype": "float32", "path": "m"}}) is False
    folder.write_shard([record()])
    other = {"model": {"path": "m", "dtype": "bfloat16"}, "pixels": (1, 2), "text": "x" * 200}
    with pytest.raises(StoreError) as caught:
        RunFolder(tmp_path).open(other)
    message = str(caught.value)
    assert 'model.dtype: "float32" in the folder, "bfloat16" now' in message
    assert "text: absent in the folder" in message
    assert "hydra.run.dir" in message
    assert "model.path" not in message
    assert "pixels" not in message
    assert max(map(len, message.splitlines()[1:])) < 120


def test_many_differences_are_cut(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.open({f"f{i:02d}": 0 for i in range(20)})
    folder.write_shard([record()])
    with pytest.raises(StoreError, match="and 12 more"):
        RunFolder(tmp_path).open({f"f{i:02d}": 1 for i in range(20)})


def test_records_of_unknown_settings_are_refused(tmp_path: Path):
    run(tmp_path)
    (tmp_path / "fingerprint.json").unlink()
    with pytest.raises(StoreError, match="unknown settings"):
        RunFolder(tmp_path).open(FINGERPRINT)
    (tmp_path / "fingerprint.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        RunFolder(tmp_path).open(FINGERPRINT)


def test_equal_duplicates_are_dropped_and_different_ones_refused(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.open({})
    odd = record("q2", label_mass=float("nan"))
    folder.write_shard([record("q1"), odd])
    folder.write_shard([odd, record("q1")])
    folder.merge(("direct",))
    assert [r.item_id for r in read_records(tmp_path)] == ["q1", "q2"]
    folder.write_shard([replace(record("q1"), top_logprob=-0.1000001)])
    with pytest.raises(StoreError, match=r"two different records .*'q1', 'identity', 'direct', 'native'"):
        folder.merge(("direct",))


def test_merge_without_records_says_so(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.open({})
    with pytest.raises(StoreError, match="no shards"):
        folder.merge(("direct",))


def test_a_full_disk_leaves_earlier_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard([record("q1")])
    with monkeypatch.context() as patch:

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"no space left.*intact") as caught:
            folder.write_shard([record("q2")])
    assert str(folder.shards) in str(caught.value)
    assert {key[0] for key in folder.finished_keys()} == {"q1"}
    folder.write_shard([record("q2")])
    assert read_table(folder.merge(("direct",))).num_rows == 2


def test_order_of_arrival_does_not_matter(tmp_path: Path):
    records = run_records(20)
    random.Random(0).shuffle(records)
    folder = RunFolder(tmp_path / "b")
    folder.open(FINGERPRINT)
    for r in records:
        folder.write_shard([r])
    other = RunFolder(tmp_path / "a")
    other.open(FINGERPRINT)
    other.write_shard(run_records(20))
    assert folder.merge(ORDER).read_bytes() == other.merge(ORDER).read_bytes()


def test_processes_that_join_write_beside_each_other(tmp_path: Path):
    """Numbers go on from those of an earlier launch, whichever process wrote them, and no two files share a name."""
    earlier = RunFolder(tmp_path)
    earlier.open(FINGERPRINT)
    earlier.write_shard([record("q0")], rank=1)
    first, second = RunFolder(tmp_path), RunFolder(tmp_path)
    assert first.open(FINGERPRINT) is True
    assert first.next_shard == 1
    second.join(first.next_shard)
    written = [first.write_shard([record("q1")], 0), second.write_shard([record("q2")], 1)]
    written += [second.write_shard([record("q3")], 1), first.write_shard([record("q4")], 0)]
    assert [path.stem for path in written] == [
        "part-r000-000001",
        "part-r001-000001",
        "part-r001-000002",
        "part-r000-000002",
    ]
    assert {key[0] for key in first.finished_keys()} == {"q0", "q1", "q2", "q3", "q4"}
    assert read_table(first.merge(("direct",))).num_rows == 5
    assert not first.has_shards


def test_a_folder_takes_one_process_at_a_time(tmp_path: Path):
    with (
        RunFolder(tmp_path).held(),
        pytest.raises(StoreError, match="another process is writing into"),
        RunFolder(tmp_path).held(),
    ):
        pass
    with RunFolder(tmp_path).held():
        pass


def test_settings_can_change_until_a_record_is_written(tmp_path: Path):
    """A run that failed before its first record does not claim the folder."""
    assert RunFolder(tmp_path).open({"a": 1}) is False
    assert RunFolder(tmp_path).open({"a": 2}) is False
