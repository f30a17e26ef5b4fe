"""The store of vectors: round trips, kills, damage, two processes, other contexts; and runs that are taken up again."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encoders.test_encoder_minilm import PAIRS
from thinkgap.encoders import Encoder, TextVectors, VectorStore, open_encoder
from thinkgap.errors import StoreError
from thinkgap.schema import EncoderConfig
from thinkgap.store import shards
from thinkgap.types import Pair

CONTEXT = {"revision": "sha256:1", "max_length": 8}
BERT = EncoderConfig(name="bert", query_prompt="query: ", trace_prompt="passage: ", end_token="[SEP]")


class Killed(BaseException):
    """Stands for SIGKILL."""


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def vectors(number: int, windows: int = 1) -> TextVectors:
    made = np.random.default_rng(number).normal(size=(windows, 6)).astype(np.float32)
    return TextVectors(10 * number + windows, tuple(range(1, windows + 1)), made)


def several(*numbers: int) -> dict[bytes, TextVectors]:
    return {key(number): vectors(number, 1 + number % 3) for number in numbers}


def same(found: TextVectors | None, expected: TextVectors) -> bool:
    assert found is not None
    told = (found.n_tokens, found.weights) == (expected.n_tokens, expected.weights)
    return told and found.vectors.dtype == np.float32 and np.array_equal(found.vectors, expected.vectors)


def opened(folder: Path, **context: Any) -> VectorStore:
    return VectorStore.open(folder, CONTEXT | context)


def test_vectors_come_back_as_they_were(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.get([key(1)]) == [None]
    first = store.write(several(1, 2, 3))
    assert first is not None
    assert store.write(several(2, 5, 4)) != first
    assert store.write(several(1, 5)) is None
    for again in (store, opened(tmp_path)):
        assert len(again) == 5
        assert key(3) in again
        assert key(9) not in again
        order = [5, 1, 9, 4, 5, 2, 3]
        found = again.get([key(number) for number in order])
        assert found.pop(2) is None
        order.remove(9)
        assert all(same(one, several(number)[key(number)]) for one, number in zip(found, order, strict=True))
        assert again.place(key(1)) < again.place(key(3))
        assert {again.place(key(number))[0] for number in (4, 5)} != {again.place(key(1))[0]}
    assert not list(tmp_path.glob("*.pickle")) + list(tmp_path.glob("*.npy"))


@pytest.mark.parametrize("ending", [".safetensors", ".parquet"])
def test_a_killed_writer_leaves_whole_shards(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tmp_path).write(several(1, 2))
    whole = sorted(tmp_path.iterdir())

    def kill(path: Path, data: bytes) -> None:
        if path.suffix == ending:
            path.with_name(f".{path.name}.0.tmp").write_bytes(data[: len(data) // 2])
            raise Killed
        path.write_bytes(data)

    with monkeypatch.context() as patch:
        patch.setattr(shards, "write_bytes", kill)
        with pytest.raises(Killed):
            opened(tmp_path).write(several(3, 4))
    assert len(list(tmp_path.iterdir())) > len(whole)
    again = opened(tmp_path)
    assert (len(again), key(3) in again) == (2, False)
    for left in set(tmp_path.iterdir()) - set(whole):
        os.utime(left, (time.time() - 7200, time.time() - 7200))
    opened(tmp_path)
    assert sorted(tmp_path.iterdir()) == whole
    again.write(several(3, 4))
    assert len(opened(tmp_path)) == 4


@pytest.mark.parametrize("file", ["parquet", "safetensors"])
@pytest.mark.parametrize("damage", ["bit", "cut", "gone"])
def test_damaged_shards_are_dropped_with_a_warning(
    tmp_path: Path, file: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(tmp_path)
    bad = store.write(several(1, 2))
    store.write(several(3))
    assert bad is not None
    target = bad.with_suffix(f".{file}")
    data = target.read_bytes()
    if damage == "gone":
        target.unlink()
    else:
        target.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if damage == "bit" else data[:-7])
    caplog.set_level(logging.WARNING)
    again = opened(tmp_path)
    assert len(again) == 1
    if (file, damage) != ("parquet", "gone"):
        assert "shard removed, its vectors are computed again" in caplog.text
    assert again.get([key(1), key(3)])[0] is None
    again.write(several(1, 2))
    assert all(same(opened(tmp_path).get([one])[0], text) for one, text in several(1, 2, 3).items())


def test_a_shard_that_goes_away_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(tmp_path)
    path = store.write(several(1, 2))
    store.write(several(3))
    assert path is not None
    path.with_suffix(".safetensors").unlink()
    assert [one is None for one in store.get([key(3), key(1), key(2)])] == [False, True, True]
    assert "does not exist: shard removed" in caplog.text
    assert len(store) == 1


def test_another_context_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).write(several(1))
    with pytest.raises(StoreError, match=r"other settings(.|\n)*max_length: 8 in the folder, 16 now"):
        opened(tmp_path, max_length=16)


def write_some(folder: Path, numbers: range, barrier: Any) -> None:
    store = opened(folder)
    barrier.wait()
    for number in numbers:
        store.write(several(number, number + 1))


def test_two_processes_write_into_one_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    ranges = (range(0, 20), range(10, 30))  # half of the texts are both processes'
    processes = [context.Process(target=write_some, args=(tmp_path, numbers, barrier)) for numbers in ranges]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    store = opened(tmp_path)
    assert len(store) == 31
    found = store.get([key(number) for number in range(31)])
    assert all(same(one, vectors(number, 1 + number % 3)) for number, one in enumerate(found))


def counted(monkeypatch: pytest.MonkeyPatch, kill_at: int | None = None) -> list[int]:
    """Windows of each call of `embed`, which is killed at one of them."""
    from thinkgap.encoders import encoder

    seen: list[int] = []
    real = encoder.embed

    def embed(model: Any, windows: list[list[int]], batch_size: int) -> np.ndarray:
        if len(seen) == kill_at:
            raise Killed
        seen.append(len(windows))
        return real(model, windows, batch_size)

    monkeypatch.setattr(encoder, "embed", embed)
    return seen


def test_a_killed_run_goes_on_where_it_ended(
    mean_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = open_encoder(replace(BERT, path=str(mean_folder)))
    monkeypatch.setattr("thinkgap.encoders.texts._BLOCK_TEXTS", 4)
    expected = encoder.relevance(PAIRS)
    with monkeypatch.context() as patch:
        first = counted(patch, kill_at=2)
        with pytest.raises(Killed):
            encoder.relevance(PAIRS, encoder.open_vectors(tmp_path))
    store = encoder.open_vectors(tmp_path)
    assert (len(first), len(store)) == (2, 8)
    assert store.folder.name.startswith("bert-vectors-")
    with monkeypatch.context() as patch:
        rest = counted(patch)
        found = encoder.relevance(PAIRS, store)
        assert rest
        # A second process, with an encoder and a store of its own, computes nothing.
        nothing = counted(patch)
        other: Encoder = open_encoder(replace(BERT, path=str(mean_folder)))
        assert other.relevance(PAIRS[::-1], other.open_vectors(tmp_path)) == found[::-1]
        assert not nothing
    for one, two in zip(found, expected, strict=True):
        assert (one.problem_tokens, one.trace_tokens, one.truncated) == (
            two.problem_tokens,
            two.trace_tokens,
            two.truncated,
        )
        values = [(each.cosine, each.chunk_mean, each.chunk_max) for each in (one, two)]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_prompts_sides_and_chunks_have_vectors_of_their_own(
    mean_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(BERT, path=str(mean_folder))
    for changes, n in (({}, 2), ({"trace_prompt": "p: "}, 1), ({"chunks": False}, 1), ({"query_prompt": "q:"}, 1)):
        encoder = open_encoder(replace(cfg, **changes))
        with monkeypatch.context() as patch:
            seen = counted(patch)
            encoder.relevance([Pair("same", "same")], encoder.open_vectors(tmp_path))
        assert sum(seen) == n, changes
    assert len(list(tmp_path.iterdir())) == 1
    longer = open_encoder(replace(cfg, max_length=33))
    longer.open_vectors(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_vectors_that_go_away_during_a_run_are_no_zeros(
    mean_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = open_encoder(replace(BERT, path=str(mean_folder)))
    store = encoder.open_vectors(tmp_path)
    encoder.relevance(PAIRS, store)
    for file in store.folder.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(StoreError, match="went away during the run; start the same command again"):
        encoder.relevance(PAIRS, store)
    again = encoder.relevance(PAIRS, encoder.open_vectors(tmp_path))
    assert [one.cosine for one in again] == pytest.approx([one.cosine for one in encoder.relevance(PAIRS)], abs=1e-6)


def test_memory_holds_a_block_at_a_time(mean_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = open_encoder(replace(BERT, path=str(mean_folder)))
    monkeypatch.setattr("thinkgap.encoders.texts._BLOCK_TEXTS", 5)
    monkeypatch.setattr("thinkgap.encoders.encoder._PAIRS", 7)
    asked: list[int] = []
    real = VectorStore.get
    monkeypatch.setattr(VectorStore, "get", lambda self, keys: (asked.append(len(keys)), real(self, keys))[1])
    seen = counted(monkeypatch)
    pairs = [replace(PAIRS[0], trace=f"step {number}") for number in range(40)]
    encoder.relevance(pairs, encoder.open_vectors(tmp_path))
    assert (max(seen), sum(seen), max(asked)) == (5, 41, 7)
