"""The command itself, as a user types it: sweeps, W&B runs, exit states, prompts, real items."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Command, run_command, user_environment
from tests.conftest import ROOT
from tests.models import write_model
from tests.tracking.wandb_file import read


def evaluate(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `evaluate.py` from another folder, without any W&B key."""
    return run_command("evaluate.py", *arguments, cwd=cwd, environment=user_environment(**environment))


def test_a_sweep_of_two_jobs_is_two_finished_wandb_runs(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    """Trap 47: one run per job, each with its own summary and exit state."""
    done = evaluate(
        "-m",
        f"model={tiny_model('llama')},{tiny_model('gemma3')}",
        "dataset=toy_facts",
        "dataset.limit=6",
        "trigger=let_me_think",
        cwd=tmp_path,
        RUN_ID="mysweep",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| direct ") >= 2
    jobs = sorted((tmp_path / "outputs" / "sweeps" / "mysweep").glob("[01]_*"))
    assert [job.name for job in jobs] == ["0_llama_toy_facts", "1_gemma3_toy_facts"]
    runs = [read(job) for job in jobs]
    assert len({run["id"] for run in runs}) == 2
    for run, model in zip(runs, ("llama", "gemma3"), strict=True):
        assert (run["exit_code"], run["group"], run["job_type"]) == (0, "mysweep", "evaluate")
        assert {model, "toy_facts", "let_me_think"} <= set(run["tags"])
        assert run["config"]["model"]["name"] == model
        assert run["summary"]["direct/n"] == 6
        assert 0 <= run["summary"]["let_me_think/accuracy"] <= 1
    assert not (tmp_path / "wandb").exists()


def test_a_failing_job_is_marked_failed_and_the_others_still_run(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    common = ["dataset=toy_facts", "dataset.limit=4", "trigger=direct", f"model={tiny_model('llama')}"]
    done = evaluate("-m", *common, "evaluation.batch_size=0,4", cwd=tmp_path, RUN_ID="s")
    assert done.returncode != 0
    assert "evaluation.batch_size=0: must be at least 1" in done.stderr
    assert "Traceback" not in done.stderr
    jobs = sorted((tmp_path / "outputs" / "sweeps" / "s").glob("[01]_*"))
    assert [read(job)["exit_code"] for job in jobs] == [1, 0]
    assert "evaluation.batch_size=0" in (jobs[0] / "evaluate.log").read_text()
    assert (jobs[1] / "records.parquet").exists()


def test_an_error_is_one_message_and_a_status(tmp_path: Path) -> None:
    done = evaluate("dataset=mmlu", "dataset.path=./nowhere", "logger=none", cwd=tmp_path)
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_output_is_quiet_when_it_is_no_terminal(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    """Python itself is started: libraries warn when they are first imported."""
    arguments = [f"model={tiny_model('llama')}", "dataset=toy_facts", "dataset.limit=4", "trigger=direct"]
    command = [sys.executable, str(ROOT / "evaluate.py"), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env=user_environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "%|" not in done.stderr + done.stdout
    assert [line for line in done.stderr.splitlines() if line.strip()] == [
        line for line in done.stderr.splitlines() if " INFO " in line
    ], done.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["mode=paper", "dataset=toy_facts", "model=gpt_5_4"], ['"effort": "high"', '"input": [']),
        (["mode=paper", "model=smollm2"], ["think_on: unavailable, smollm2 has no switch"]),
        (["mode=strict", "dataset=toy_facts", "model=gpt_5_4"], ["Give the final answer directly"]),
        (["mode=prefix_assistant", "dataset=toy_facts", "model=gpt_5_4"], ["unavailable: gpt_5_4 is served"]),
    ],
)
def test_prompts_of_served_models(arguments: list[str], shown: list[str], tmp_path: Path) -> None:
    done = evaluate("evaluation=prompts", "evaluation.items=1", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in shown:
        assert text in done.stdout


def test_prompts_of_a_local_model_show_read_position_and_labels(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    done = evaluate(
        "evaluation=prompts", f"model={tiny_model('qwen3')}", "dataset=toy_facts", "trigger=let_me_think", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("◀ read here") == 4
    assert "</think>\n\n◀ read here" in done.stdout
    assert "label tokens {'A': {49: 'A'}" in done.stdout


def test_scienceqa_images_through_qwen25vl(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    """The whole path on all image items of the shared ScienceQA rows, with the true class and processor."""
    folder = Path(os.environ.get("THINKGAP_SHARED", ROOT.parent / "shared")) / "data" / "scienceqa"
    if not folder.is_dir():
        pytest.skip(f"real benchmark data is not here: {folder}")
    done = evaluate(
        f"model={tiny_model('qwen25vl')}",
        "dataset=scienceqa",
        f"dataset.path={folder}",
        "dataset.images=only",
        "trigger=let_me_think",
        f"hydra.run.dir={tmp_path / 'run'}",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["n_items"], manifest["excluded"]) == (134, [])
    assert manifest["image_tokens"]["max"] <= 40
    assert any("published test split has 4,241" in note for note in manifest["dataset"]["notes"])
    assert done.stdout.count("| 134 |") == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_the_run_with_its_records_and_a_way_back(
    number: signal.Signals, smollm2_folder: Path, tmp_path: Path
) -> None:
    """Schedulers send SIGTERM; what is computed is kept, and the same command goes on."""
    model = write_model("llama", tmp_path / "deep", smollm2_folder, num_hidden_layers=60)
    arguments = [
        f"model={model}",
        "dataset=toy_facts",
        "dataset.limit=60",
        "trigger=direct",
        "logger=none",
        "scoring=plain",
        "evaluation.batch_size=1",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    command = Command("evaluate.py", *arguments, cwd=tmp_path)
    deadline = time.monotonic() + 120
    # Cells are opened right before the first pass.
    while not list((tmp_path / "cells").glob("*/fingerprint.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.7)
    command.send_signal(number)
    stopped = command.finished(60)
    assert stopped.returncode != 0, stopped.stderr
    counted = re.search(r"interrupted: (\d+) of 60 items are done", stopped.stderr)
    assert counted is not None, stopped.stderr
    assert 0 < int(counted.group(1)) < 60
    assert f"hydra.run.dir={tmp_path / 'run'}" in stopped.stderr
    assert list((tmp_path / "run" / "shards").glob("*.parquet"))
    done = evaluate(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resuming the run" in done.stderr
    assert "| 60 |" in done.stdout
