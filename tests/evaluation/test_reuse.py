"""Finished cells are never computed again, and a run with them ends like a run without."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.test_config import composed
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation import predict
from thinkgap.evaluation.native import Finished
from thinkgap.scoring import engine
from thinkgap.scoring.capture import Capture, Wanted
from thinkgap.store import atomic
from thinkgap.store.features import features_of_run
from thinkgap.store.records import read_records


def computed(finished: Finished) -> int:
    return finished.manifest["scoring"]["prompts"]


def cells(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cells").glob("*/shard-*"))


def test_a_further_trigger_computes_that_trigger(run: Callable[..., Finished]) -> None:
    first = run(folder="first")
    assert computed(first) == 24
    more = run("trigger=[let_me_think,reasoning]", folder="more")
    assert computed(more) == 12
    assert more.manifest["session"]["reused_prompts"] == 24
    again = run("trigger=[let_me_think,reasoning]", folder="again")
    assert computed(again) == 0
    assert read_records(again.folder) == read_records(more.folder)
    whole = run("trigger=[let_me_think,reasoning]", "evaluation.reuse=false", folder="whole")
    assert computed(whole) == 36
    for own, other in zip(read_records(more.folder), read_records(whole.folder), strict=True):
        assert own.key == other.key
        assert own.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)
        assert (own.pred_slot, own.top_token_id) == (other.pred_slot, other.top_token_id)


def test_what_is_not_reused_is_not_kept(run: Callable[..., Finished], tmp_path: Path) -> None:
    finished = run("evaluation.reuse=false")
    assert not cells(tmp_path)
    assert finished.manifest["cells"] is None


@pytest.mark.parametrize("scoring", ["packed", "plain"])
def test_a_killed_run_resumes_with_its_cells(
    scoring: str, run: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [f"scoring={scoring}", "evaluation.batch_tokens=60", "evaluation.batch_size=2"]
    whole = run(*settings, f"paths.cells_dir={tmp_path / 'others'}", folder="whole")
    monkeypatch.setattr(predict, "_SHARD_RECORDS", 1)
    passes = 0

    def dying(original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*arguments: Any) -> Any:
            nonlocal passes
            passes += 1
            if passes == 6:
                raise RuntimeError("killed")
            return original(*arguments)

        return forward

    with monkeypatch.context() as patch:
        name = "forward_packed" if scoring == "packed" else "forward_plain"
        patch.setattr(engine, name, dying(getattr(engine, name)))
        with pytest.raises(RuntimeError, match="killed"):
            run(*settings, folder="killed")
    assert cells(tmp_path), "the finished batches are kept"
    # Killed after the cells and before the records: the records are gone.
    shutil.rmtree(tmp_path / "killed" / "shards")
    resumed = run(*settings, folder="killed")
    assert 0 < computed(resumed) < 24
    assert (resumed.folder / "records.parquet").read_bytes() == (whole.folder / "records.parquet").read_bytes()
    fresh = run(*settings, folder="fresh")
    assert computed(fresh) == 0
    assert (fresh.folder / "records.parquet").read_bytes() == (whole.folder / "records.parquet").read_bytes()


def test_damaged_cells_are_computed_again(
    run: Callable[..., Finished], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(folder="first")
    (shard,) = cells(tmp_path)
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    again = run(folder="again")
    assert computed(again) == 24
    assert "its cells are computed again" in caplog.text
    assert read_records(again.folder) == read_records(first.folder)


def test_another_model_precision_or_way_has_other_cells(run: Callable[..., Finished]) -> None:
    run(folder="first")
    for number, other in enumerate(("model.dtype=bfloat16", "scoring=plain", "model.attn_implementation=eager")):
        assert computed(run(other, folder=f"other{number}")) == 24
    assert computed(run("model.name=renamed", folder="renamed")) == 24
    assert computed(run("evaluation.top_k=2", "evaluation.batch_tokens=2000", folder="less")) == 0


@pytest.mark.parametrize("family", ["llama", "qwen25vl"])
def test_captured_states_are_those_of_plain_prompts(
    family: str, run: Callable[..., Finished], tiny_backend: Callable[[str], Any]
) -> None:
    finished = run(
        "evaluation.capture.enabled=true",
        "evaluation.capture.layers=[-1,0]",
        "evaluation.capture.final_norm=true",
        "evaluation.lens=true",
        "evaluation.permutations=2",
        family=family,
    )
    features = features_of_run(finished.folder)
    backend = tiny_backend(family)
    last = len(backend.structure.layers) - 1
    assert features.names == ("layer_0", f"layer_{last}", "final_norm")
    rows = features.rows.to_pylist()
    assert len(rows) == len(features.states) == 48
    by_key = {(row["item_id"], row["presentation"], row["condition"]): n for n, row in enumerate(rows)}
    from thinkgap.evaluation.prepare import prepare

    prepared = prepare(
        composed(
            "model=local", f"model.path={backend.checkpoint.source}", "dataset=toy_facts", "dataset.limit=12",
            "trigger=let_me_think", "logger=none", "evaluation.permutations=2", "scoring=plain",
        )
    )  # fmt: skip
    for presentation in prepared.presentations[::5]:
        for one in prepared.builder.build(presentation):
            at = torch.tensor([[len(one.prompt.input_ids) - 1]])
            with Capture(backend.structure, at, Wanted(layers=(0, last), final_norm=True)) as capture:
                backend.next_token_logits([one])
            row = by_key[presentation.item.id, presentation.name, one.prompt.condition.name]
            assert float((features.states[row] - capture.states()[0, 0]).abs().max()) < 1e-4
    for record in read_records(finished.folder):
        # The layers are read of the source's order alone; a permutation may repeat it.
        if record.presentation == "identity":
            assert len(record.lens_label_logprobs) == len(record.lens_label_mass) == last + 1
            assert record.lens_label_logprobs[-1] == record.label_logprobs
        elif record.order != tuple(range(record.k)):
            assert record.lens_label_logprobs == record.lens_label_mass == ()
        assert len(record.top_ids) == 5
        assert record.top_ids[0] == record.top_token_id


def test_states_wanted_later_are_captured_later(run: Callable[..., Finished]) -> None:
    run(folder="first")
    finished = run("evaluation.capture.enabled=true", "evaluation.capture.dtype=float16", folder="second")
    assert computed(finished) == 24
    features = features_of_run(finished.folder, condition="let_me_think")
    assert features.states.dtype is torch.float16
    assert len(features.states) == 12
    # With states is enough for without.
    assert computed(run("trigger=let_me_think", folder="third")) == 0


def test_a_full_disk_keeps_what_was_written(
    run: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("dataset.limit=6", folder="first")
    before = {path: path.read_bytes() for path in cells(tmp_path)}
    original = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", full)
        with pytest.raises(StoreError, match="no space left"):
            run(folder="second")
    assert os.fsync is original
    assert {path: path.read_bytes() for path in cells(tmp_path)} == before
    assert run(folder="second").manifest["n_items"] == 12


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["evaluation.capture.enabled=true", "evaluation.reuse=false"], "set evaluation.reuse=true"),
        (["evaluation.capture.enabled=true", "evaluation.capture.layers=[9]"], "layers 0 to .*, not 9"),
        (["evaluation.top_k=-1"], "evaluation.top_k=-1"),
    ],
)
def test_settings_that_cannot_be(overrides: list[str], message: str, run: Callable[..., Finished]) -> None:
    with pytest.raises(ConfigError, match=message):
        run(*overrides)


def test_a_place_for_cells_that_is_none(run: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="paths.cells_dir"):
        run(f"paths.cells_dir={tmp_path / 'file'}")
