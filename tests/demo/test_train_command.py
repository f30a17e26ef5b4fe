"""The training's command as users run it: it finishes, its folder is a checkpoint, mistakes are told in a line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_command, user_environment
from tests.test_config import composed
from thinkgap.backends.load import load_backend
from thinkgap.evaluation.native import run_native
from thinkgap.schema import ModelConfig
from thinkgap.store.records import read_records

SMALL = (
    "demo.steps=50",
    "demo.facts=300",
    "demo.validation_facts=24",
    "demo.sizes={hidden: 32, layers: 2, heads: 2, inner: 64, vision_hidden: 32}",
    "logger.mode=offline",
)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("thinkgap.demo.train", f"hydra.run.dir={folder}", *arguments, cwd=folder.parent)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Python itself is started: libraries warn when they are first imported."""
    folder = tmp_path_factory.mktemp("command") / "run"
    command = [sys.executable, "-m", "thinkgap.demo.train", f"hydra.run.dir={folder}", *SMALL]
    done = subprocess.run(
        command, cwd=folder.parent, env=user_environment(), capture_output=True, text=True, timeout=300, check=False
    )
    return folder, done


def test_a_short_training_finishes(finished: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = finished
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, done.stderr):
        assert "Traceback" not in text
        assert "Warning" not in text
    assert f"the finished model: {folder / 'model'}" in done.stdout + done.stderr
    about = json.loads((folder / "model" / "training.json").read_text(encoding="utf-8"))
    assert (about["settings"]["steps"], about["settings"]["sizes"]["hidden"]) == (50, 32)
    points = [json.loads(line) for line in (folder / "curves.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [point["step"] for point in points] == [25, 50]
    assert points[1]["loss/caption"] < points[0]["loss/caption"]
    assert points[-1]["validation/direct"] > 0
    assert about["seconds"] == points[-1]["seconds"] > 0


def test_the_curves_are_kept_for_wandb(finished: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = finished
    (logged,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    content = logged.read_bytes()
    assert b"validation/direct" in content
    assert b"loss/caption" in content


def test_the_finished_folder_is_read_like_any_checkpoint(
    finished: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    model = finished[0] / "model"
    backend = load_backend(ModelConfig(name="demo", path=str(model)), on_accelerator=False)
    assert type(backend.model).__name__ == "Qwen2_5_VLForConditionalGeneration"
    assert backend.fmt.is_vision
    overrides = ["dataset=digit_scenes", "dataset.limit=8", "dataset.generation.size=40", "trigger=let_me_think"]
    run = run_native(composed("model=local", f"model.path={model}", "logger=none", *overrides), tmp_path / "run")
    records = read_records(run.folder)
    assert {record.condition for record in records} == {"direct", "let_me_think"}
    assert len(records) == 16
    assert {record.n_image_tokens for record in records} == {0, 4}
    assert all(0 < record.label_mass <= 1 for record in records)


def test_a_typo_names_the_nearest_setting_and_ends_with_status_2(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "demo.step=50")
    assert done.returncode == 2
    assert done.stderr.startswith("demo.step: no such setting; did you mean 'demo.steps'")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_setting_that_cannot_be_honoured_ends_with_status_1(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "demo.save_every=0")
    assert done.returncode == 1
    assert "demo.save_every=0: must be at least 1" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "run" / "settings.json").exists()


@pytest.mark.slow
def test_one_bad_training_of_a_sweep_does_not_stop_the_others(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "demo=glob(demo_vl*)", "demo.steps=0,-1", f"hydra.sweep.dir={tmp_path}/sweep", "-m")
    assert done.returncode == 1
    told = done.stdout + done.stderr
    assert "demo.steps=0: must be" in told
    assert "demo.steps=-1: must be" in told
    assert "Traceback" not in told
