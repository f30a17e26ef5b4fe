"""A served run beside a local one: the packaged SmolLM2 behind a real server, `transformers serve` on this machine."""

from __future__ import annotations

import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.served.loopback import free_port
from tests.commands import Command
from tests.evaluation.no_thinking_runs import ITEMS, items_file, settings, started
from thinkgap.evaluation.judges import open_judge
from thinkgap.schema import (
    BackendKind,
    EvaluateConfig,
    JudgeConfig,
    JudgeKind,
    ModelConfig,
    PathsConfig,
    ServedConfig,
)
from thinkgap.types import Pair

CAP = 10
"""New tokens; some replies end before, some are cut."""
CHOICE = {"id": "c", "question": "Which is a colour?", "choices": ["red", "seven"], "answer": "A"}
PATIENCE = 180.0
"""Seconds that the server has to load the model."""
COUNTED = {"completion_tokens", "trace_tokens", "visible_tokens"}
"""Columns that depend on who counts: this server counts the stop token, and a served trace has no tokenizer."""


@pytest.fixture(scope="module")
def base_url(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Root of the API of `transformers serve`, which reads the folder that a local run reads."""
    port = free_port()
    options = [str(smollm2_folder), "--host", "127.0.0.1", "--port", str(port)]
    options += ["--device", "cpu", "--dtype", "float32"]
    server = Command("transformers.cli.transformers", "serve", *options, cwd=tmp_path_factory.mktemp("serve"))
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            assert server.runs, server.finished()
            assert time.monotonic() < deadline, "the server does not answer"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                    break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.send_signal(signal.SIGTERM)
        server.finished(60)


@pytest.fixture
def cfg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., EvaluateConfig]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    items = items_file(tmp_path / "items.jsonl", [*ITEMS, CHOICE])

    def composed_with(*overrides: str, mode: str = "mode=[prefix,strict]") -> EvaluateConfig:
        given = [f"evaluation.generation.max_new_tokens={CAP}", "model.name=smollm2", *overrides]
        return settings(*given, items=items, mode=mode)

    return composed_with


def test_the_served_run_gives_the_local_runs_rows(
    base_url: str, smollm2_folder: Path, cfg: Callable[..., EvaluateConfig], tmp_path: Path
) -> None:
    served = ["model=local", "model.backend=api", f"model.path={smollm2_folder}", "model.served.thinks=false"]
    served.append(f"model.served.base_url={base_url}")
    _, local, _ = started(cfg("model=smollm2"), tmp_path / "local")
    assert len(local) == 4 * 2
    assert {row["finish_reason"] for row in local} == {"stop", "length"}, "both ends are compared"

    _, chat, manifest = started(cfg(*served), tmp_path / "chat")
    assert (manifest["requests"]["answered"], manifest["failed_requests"]) == (8, [])
    assert [without(row) for row in chat] == [without(row) for row in local]
    assert {row["served_model"] for row in chat} == {str(smollm2_folder)}
    for own, other in zip(local, chat, strict=True):
        assert other["completion_tokens"] == own["completion_tokens"] + (own["finish_reason"] == "stop")

    responses = ["model.served.api=responses", "model.served.token_field=max_output_tokens"]
    _, other_api, _ = started(cfg(*served, *responses, mode="mode=strict"), tmp_path / "responses")
    strict = [row for row in local if row["mode"] == "strict"]
    # This server's responses API (transformers 5.24) calls a reply complete although the limit cut it. So what depends
    # on the cut differs; what was asked and what was said does not.
    assert {row["finish_reason"] for row in other_api} == {"stop"}
    said = ("item_id", "mode", "problem", "gold", "content", "reasoning", "prompt_tokens")
    assert [[row[name] for name in said] for row in other_api] == [[row[name] for name in said] for row in strict]
    whole = [place for place, row in enumerate(strict) if row["finish_reason"] == "stop"]
    assert {row["reasoning_tokens"] for row in other_api} == {0}, "counted there, and by nobody here"
    counted = [{**without(strict[place]), "reasoning_tokens": 0} for place in whole]
    assert [without(other_api[place]) for place in whole] == counted


@pytest.mark.slow  # the suite has a judge behind a scripted server
def test_a_judge_behind_it(base_url: str, smollm2_folder: Path, tmp_path: Path) -> None:
    """Its labels are poor, if it gives any: that each trace gets a label or a reason, and once, is what is tested."""
    served = ServedConfig(base_url=base_url, thinks=False)
    model = ModelConfig(name="smollm2", path=str(smollm2_folder), backend=BackendKind.api, served=served)
    cfg = JudgeConfig(name="smollm2", kind=JudgeKind.served, model=model, max_new_tokens=20, json_schema=False)
    run = EvaluateConfig(paths=PathsConfig(responses_dir=str(tmp_path)))
    pairs = [Pair(question, "It is known, so the answer follows.") for question in ("What is 3 + 4?", "Is ice cold?")]
    with open_judge(cfg, run) as judge:
        found = judge.judge(pairs)
        counts = judge.describe()["counts"]["traces"]
    assert (counts["distinct"], counts["failed"]) == (2, 0), [one.reason for one in found]
    assert all((one.label is None) == bool(one.reason) for one in found)
    with open_judge(cfg, run) as judge:
        assert judge.judge(pairs) == found
        assert judge.describe()["counts"]["traces"]["requests"] == 0


def without(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what says who answered and who counted."""
    return {name: value for name, value in row.items() if name not in COUNTED | {"served_model"}}
