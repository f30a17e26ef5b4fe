"""The command itself, as a user types it, on the packaged model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from safetensors import safe_open

from tests.commands import run_command, user_environment
from tests.conftest import ROOT
from tests.tracking.wandb_file import read
from thinkgap.store.records import read_records


def test_the_users_own_command(tmp_path: Path) -> None:
    """`python train.py probe=lm_head_lora model=demo_vlm trigger=let_me_think`, with few items."""
    arguments = [
        "probe=lm_head_lora",
        "model=demo_vlm",
        "trigger=let_me_think",
        "probe.examples=48",
        "probe.epochs=2",
        "dataset.limit=20",
        "dataset.generation.size=200",
        f"hydra.run.dir={tmp_path / 'run'}",
    ]
    # Python itself is started: libraries warn when they are first imported.
    command = [sys.executable, str(ROOT / "train.py"), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env=user_environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "%|" not in done.stderr + done.stdout, "no bars where there is no terminal"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines == [line for line in lines if " INFO " in line], "no warnings of libraries"
    assert done.stdout.count("| let_me_think |") == 3
    assert "In short: " in done.stdout
    folder = tmp_path / "run"
    assert (folder / "train.log").exists()
    records = read_records(folder)
    assert len(records) == 20 * 2 * 3
    assert {record.split for record in records} == {"test"}
    with safe_open(folder / "adapters" / "direct" / "adapter_model.safetensors", "pt") as file:
        names = ["base_model.model.lm_head.lora_A.weight", "base_model.model.lm_head.lora_B.weight"]
        assert sorted(file.keys()) == names
        shapes = [tuple(file.get_slice(name).get_shape()) for name in names]
    vocabulary = json.loads((folder / "manifest.json").read_text())["model"]["vocab_size"]
    assert shapes == [(32, 160), (vocabulary, 32)], "rank 32 on a state of width 160"
    assert not list(folder.rglob("*.bin")) + list(folder.rglob("*.pt")) + list(folder.rglob("*.ckpt"))
    logged = read(folder)
    assert (logged["exit_code"], logged["job_type"]) == (0, "probe")
    assert {"demo_vlm", "lm_head_lora", "let_me_think"} <= set(logged["tags"])
    assert 0 <= logged["summary"]["let_me_think/direct/accuracy"] <= 1
    (table,) = folder.rglob("lm_head_lora*.table.json")
    assert len(json.loads(table.read_text())["data"]) == 2 * 3
    assert logged["history"]["epoch"] == 2
    assert logged["history"]["loss/let_me_think"] > 0


def test_an_error_is_one_message_and_a_status(tmp_path: Path) -> None:
    done = run_command("train.py", "probe=lm_head_lora", "probe.lora.rank=0", "logger=none", cwd=tmp_path)
    assert done.returncode == 1
    assert "probe.lora.rank=0: must be at least 1" in done.stderr
    assert "Traceback" not in done.stderr
