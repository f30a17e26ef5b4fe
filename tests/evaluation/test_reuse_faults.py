"""Reuse and capture when something is in the way: other settings, deleted folders, damage, full disks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.evaluation import predict, reuse
from thinkgap.evaluation.native import Finished
from thinkgap.scoring import check, engine
from thinkgap.store import cells
from thinkgap.store.features import features_of_run
from thinkgap.store.records import read_records

Run = Callable[..., Finished]


@pytest.fixture
def killed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`killed(*overrides, folder=)`: a run that dies in its fourth pass, after three batches were written."""

    def started(*overrides: str, folder: str = "run") -> None:
        original, passes = engine.forward_packed, []

        def dying(*arguments: Any) -> Any:
            passes.append(1)
            if len(passes) == 4:
                raise RuntimeError("killed")
            return original(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(predict, "_SHARD_RECORDS", 1)
            patch.setattr(engine, "forward_packed", dying)
            # A lone item per batch.
            with pytest.raises(RuntimeError, match="killed"):
                run("evaluation.batch_tokens=20", *overrides, folder=folder)

    return started


def computed(finished: Finished) -> int:
    return finished.manifest["scoring"]["prompts"]


def test_cells_belong_to_the_device_that_computes_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are moved when the predict loop starts; what is asked of the device before that is always cpu."""
    moved, asked = [], []
    original_to, original_context = HFBackend.to, reuse.cell_context

    def to(self: HFBackend, device: Any) -> None:
        moved.append(device)
        original_to(self, device)

    def context(*arguments: Any) -> Any:
        asked.append(bool(moved))
        return original_context(*arguments)

    monkeypatch.setattr(HFBackend, "to", to)
    monkeypatch.setattr(reuse, "cell_context", context)
    run()
    assert asked == [True]


def test_the_check_at_load_runs_where_the_prompts_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, checked = [], []
    original_to, original_differences = HFBackend.to, check.differences

    def to(self: HFBackend, device: Any) -> None:
        moved.append(device)
        original_to(self, device)

    def differences(*arguments: Any) -> Any:
        checked.append(bool(moved))
        return original_differences(*arguments)

    monkeypatch.setattr(HFBackend, "to", to)
    monkeypatch.setattr(check, "differences", differences)
    run()
    assert checked
    assert all(checked)


def test_the_cell_folder_can_be_deleted_at_any_time(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/running.md promises it; a run that is at work then writes shards into a folder without fingerprint.json."""
    original = predict.RecordWriter.write_on_batch_end

    def deleting(self: Any, *arguments: Any) -> None:
        shutil.rmtree(tmp_path / "cells", ignore_errors=True)
        original(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(predict.RecordWriter, "write_on_batch_end", deleting)
        run(folder="first")
    assert run(folder="second").manifest["n_items"] == 12


def test_other_weights_in_a_snapshot_folder_are_another_model(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """A local folder whose path looks like the hub's cache, from which transformers may take a commit (holds today)."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "snapshots" / ("0123456789" * 4)
    shutil.copytree(tiny_model("llama"), folder)
    first = run(folder="first", model=folder)
    file = folder / "model.safetensors"
    weights = {name: tensor + 0.1 * torch.randn_like(tensor) for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    second = run(folder="second", model=folder)
    fresh = run("evaluation.reuse=false", folder="fresh", model=folder)
    assert read_records(fresh.folder) != read_records(first.folder)
    assert computed(second) == 24
    assert read_records(second.folder) == read_records(fresh.folder)


def test_no_layers_at_all_names_the_setting(run: Run) -> None:
    with pytest.raises(ThinkgapError, match="evaluation.capture"):
        run("evaluation.capture.enabled=true", "evaluation.capture.layers=[]")


def test_features_of_a_run_are_what_that_run_captured(run: Run) -> None:
    """Another run of the same model that captures something else must not break the first one's features."""
    first = run("evaluation.capture.enabled=true", "evaluation.capture.layers=[1]", folder="first")
    before = features_of_run(first.folder)
    other = ["evaluation.capture.enabled=true", "evaluation.capture.layers=[0]", "dataset.seed=5"]
    run(*other, folder="other")
    after = features_of_run(first.folder)
    assert after.names == before.names == ("layer_1",)


def test_features_do_not_depend_on_what_other_runs_wrote_as(run: Run) -> None:
    first = run("evaluation.capture.enabled=true", folder="first")
    before = features_of_run(first.folder).states
    run("evaluation.capture.enabled=true", "evaluation.capture.dtype=float16", "dataset.seed=5", folder="other")
    after = features_of_run(first.folder).states
    assert after.dtype is before.dtype


def test_a_load_on_the_cpu_leaves_later_loads_alone(
    tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sweep over accelerators one process loads several models."""
    import os

    from thinkgap.backends.load import load_backend
    from thinkgap.schema import ModelConfig

    monkeypatch.delenv("TRANSFORMERS_SDPA_FORCE_GQA", raising=False)
    config = ModelConfig(name="llama", path=str(tiny_model("llama")))
    load_backend(config, on_accelerator=False)
    load_backend(config, on_accelerator=True)
    assert os.environ.get("TRANSFORMERS_SDPA_FORCE_GQA") != "1"


def questions(path: Path, n: int) -> Path:
    """`n` different questions, each twice under another id."""
    rows = [
        {
            "id": f"{copy}-{number}",
            "question": f"Which number is the largest, asked for the {number}th time?",
            "choices": ["twelve", "seventeen and a half", "three"],
            "answer": 1,
        }
        for number in range(n)
        for copy in "ab"
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("scoring", ["packed", "plain"])
def test_the_same_question_twice_has_one_reading(run: Run, tmp_path: Path, scoring: str) -> None:
    """Records do not depend on whether a kill came between cells and records: equal prompts, equal figures."""
    file = questions(tmp_path / "twice.jsonl", 9)
    settings = ["dataset=jsonl", f"dataset.path={file}", "dataset.limit=null", f"scoring={scoring}"]
    settings += ["evaluation.batch_size=4", "evaluation.batch_tokens=100"]
    first = run(*settings, folder="first")
    again = run(*settings, folder="again")
    assert computed(again) == 0
    assert (again.folder / "records.parquet").read_bytes() == (first.folder / "records.parquet").read_bytes()


def test_every_field_of_the_manifest_is_documented(run: Run) -> None:
    text = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    table = text[text.index("## manifest.json") : text.index("## Shards")]
    missing = [name for name in run().manifest if f"`{name}`" not in table]
    assert not missing


def test_a_resume_that_would_capture_otherwise_is_refused(
    run: Run, killed: Callable[..., None], tmp_path: Path
) -> None:
    """Rows that are done are not captured again, so one run's states would be of two types or in two folders."""
    killed("evaluation.capture.enabled=true", "evaluation.capture.dtype=float16")
    settings = ["evaluation.capture.enabled=true", "evaluation.batch_tokens=20"]
    with pytest.raises(StoreError, match=r"reads\.state_dtype: "):
        run(*settings, "evaluation.capture.dtype=float32")
    with pytest.raises(StoreError, match=r"reads\.cells_dir: "):
        run(*settings, "evaluation.capture.dtype=float16", f"paths.cells_dir={tmp_path / 'two'}")
    finished = run(*settings, "evaluation.capture.dtype=float16")
    assert len(features_of_run(finished.folder).states) == 24


def test_verify_of_a_finished_run_says_that_nothing_was_left(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run()
    caplog.clear()
    run("evaluation.verify=5")
    assert "evaluation.verify had nothing to check" in caplog.text


def test_layers_without_capture_are_refused(run: Run) -> None:
    with pytest.raises(ThinkgapError, match="evaluation.capture.enabled=true too"):
        run("evaluation.capture.layers=[-1]")


def test_a_damaged_fingerprint_of_cells_names_the_setting(run: Run, tmp_path: Path) -> None:
    run(folder="first")
    (file,) = (tmp_path / "cells").glob("*/fingerprint.json")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(StoreError, match="paths.cells_dir"):
        run(folder="second")


def test_a_flipped_bit_in_a_state_is_not_handed_out(run: Run, tmp_path: Path) -> None:
    finished = run("evaluation.capture.enabled=true")
    (file,) = (tmp_path / "cells").glob("*/*.safetensors")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x40
    file.write_bytes(data)
    with pytest.raises(StoreError, match="sha256 does not match"):
        features_of_run(finished.folder)


@pytest.mark.parametrize("capture", [False, True])
def test_readings_that_cannot_be_kept_end_no_run(
    capture: bool, run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The cells may be on another disk than the run; states that cannot be kept are another matter."""

    def full(*arguments: Any) -> Any:
        raise StoreError("no space left")

    monkeypatch.setattr(cells, "write_shard", full)
    if capture:
        with pytest.raises(StoreError, match="no space left"):
            run("evaluation.capture.enabled=true")
    else:
        assert run().manifest["n_items"] == 12
        assert "cells are not kept from here on" in caplog.text


def test_rows_whose_states_could_not_be_kept_are_computed_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up and is freed: no row may count as done without its states."""
    original, calls = cells.write_shard, []

    def full_once(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise StoreError("no space left")
        return original(*arguments)

    settings = ["evaluation.capture.enabled=true", "evaluation.batch_tokens=20"]
    monkeypatch.setattr(predict, "_SHARD_RECORDS", 1)
    with monkeypatch.context() as patch:
        patch.setattr(cells, "write_shard", full_once)
        with pytest.raises(StoreError, match="no space left"):
            run(*settings)
    assert len(features_of_run(run(*settings).folder).states) == 24


def test_half_precision_takes_no_cells_of_passes_of_another_size(run: Run) -> None:
    assert computed(run("model.dtype=bfloat16", folder="first")) == 24
    assert computed(run("model.dtype=bfloat16", "evaluation.batch_tokens=60", folder="second")) == 24
    assert computed(run("model.dtype=bfloat16", folder="third")) == 0
