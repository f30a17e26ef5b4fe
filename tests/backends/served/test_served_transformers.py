"""A real server with a real model: `transformers serve` on this machine, with the packaged SmolLM2.

It needs fastapi and uvicorn, which thinkgap does not: `pip install fastapi uvicorn`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.backends.served.loopback import free_port
from thinkgap.backends.served import ResponseStore, ask, build_request
from thinkgap.evaluation.judges import open_judge
from thinkgap.schema import (
    BackendKind,
    EvaluateConfig,
    JudgeConfig,
    JudgeKind,
    ModelConfig,
    PathsConfig,
    ServedApi,
    ServedConfig,
    TokenField,
)
from thinkgap.types import Pair, Thinking

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("fastapi") is None or find_spec("uvicorn") is None,
        reason="transformers serve needs fastapi and uvicorn",
    ),
]
QUESTIONS = ("What is the capital of France?", "Name a colour of the sky.", "How many days has a week?")
CAP = 12


@pytest.fixture(scope="module")
def folder(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as the server wants it: the name of its class is in its config."""
    target = tmp_path_factory.mktemp("served") / "smollm2"
    target.mkdir()
    for file in smollm2_folder.iterdir():
        (target / file.name).symlink_to(file)
    config = json.loads((smollm2_folder / "config.json").read_text())
    (target / "config.json").unlink()
    (target / "config.json").write_text(json.dumps({**config, "architectures": ["LlamaForCausalLM"]}))
    return target


@pytest.fixture(scope="module")
def base_url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    log = tmp_path_factory.mktemp("log") / "serve.log"
    with (
        log.open("wb") as sink,
        subprocess.Popen(command, stdout=sink, stderr=sink, env={**os.environ, "HF_HUB_OFFLINE": "1"}) as process,
    ):
        try:
            deadline = time.monotonic() + 180
            while True:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                        break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def expected(folder: Path) -> list[tuple[str, int, int]]:
    """(greedy reply, prompt tokens, new tokens) of each question, by transformers in this process."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found = []
    for text in QUESTIONS:
        turns = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        whole = network.generate(**ids, max_new_tokens=CAP, do_sample=False)[0]
        new = whole[ids["input_ids"].shape[1] :]
        found.append((tokenizer.decode(new, skip_special_tokens=True), ids["input_ids"].shape[1], len(new)))
    return found


@pytest.mark.parametrize("api", list(ServedApi))
def test_a_real_server_gives_the_models_own_greedy_replies(
    api: ServedApi, base_url: str, folder: Path, tmp_path: Path
) -> None:
    field = TokenField.max_output_tokens if api is ServedApi.responses else TokenField.max_tokens
    served = ServedConfig(base_url=base_url, api=api, token_field=field, thinks=False, concurrency=2)
    cfg = ModelConfig(name="smollm2_served", path=str(folder), backend=BackendKind.api, served=served)
    requests = [
        build_request(cfg, [{"role": "user", "content": text}], Thinking.disabled, max_new_tokens=CAP)
        for text in QUESTIONS
    ]
    with ResponseStore.open(tmp_path, cfg.name) as store:
        answers = ask(cfg, requests, store)
        assert (answers.counts.answered, answers.counts.errors) == (3, 0), answers.outcomes
        assert ask(cfg, requests, store).counts.stored == 3
    responses = [answers[request].response for request in requests]
    for response, (text, prompt_tokens, new_tokens) in zip(responses, expected(folder), strict=True):
        assert response is not None
        assert (response.content, response.prompt_tokens) == (text, prompt_tokens)
        assert response.completion_tokens == new_tokens
        assert response.model.startswith(str(folder))
        assert response.reasoning == ""
        # This server's responses API (transformers 5.24) calls a reply complete although its limit cut it.
        cut = new_tokens == CAP and api is ServedApi.chat
        assert response.finish_reason == ("length" if cut else "stop")


def test_a_judge_behind_it(folder: Path, base_url: str, tmp_path: Path) -> None:
    """Its labels are poor, if it gives any: that each trace gets a label or a reason, and once, is what is tested."""
    cfg = JudgeConfig(
        name="smollm2",
        kind=JudgeKind.served,
        model=ModelConfig(
            name="smollm2",
            path=str(folder),
            backend=BackendKind.api,
            served=ServedConfig(base_url=base_url, thinks=False),
        ),
        batch_size=2,
        max_new_tokens=60,
        json_schema=False,
    )
    run = EvaluateConfig(paths=PathsConfig(responses_dir=str(tmp_path)))
    pairs = [Pair(question, "It is known, so the answer follows.") for question in QUESTIONS]
    with open_judge(cfg, run) as judge:
        found = judge.judge(pairs)
        counts = judge.describe()["counts"]["traces"]
    assert (counts["distinct"], counts["failed"]) == (3, 0), [one.reason for one in found]
    assert all((one.label is None) == bool(one.reason) for one in found)
    with open_judge(cfg, run) as judge:
        assert judge.judge(pairs) == found
        assert judge.describe()["counts"]["traces"]["requests"] == 0
