"""`evaluation=no_thinking` over vLLM in this process; vLLM itself is a stand-in here, as `made_up_vllm` says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.evaluation import made_up_vllm
from tests.evaluation.no_thinking_runs import ITEMS, items_file, settings, started
from thinkgap.backends.load import load_backend
from thinkgap.backends.vllm import VllmModel, load_vllm
from thinkgap.errors import ConfigError, ModelError
from thinkgap.evaluation import responses_vllm
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.schema import EvaluateConfig, ModelConfig, PromptConfig


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[made_up_vllm.LLM]:
    """The stand-in is what `import vllm` finds; the engines that are made."""
    monkeypatch.setitem(sys.modules, "vllm", made_up_vllm.module())
    monkeypatch.setattr(made_up_vllm, "MADE", [])
    return made_up_vllm.MADE


@pytest.fixture
def cfg(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., EvaluateConfig]:
    items = items_file(tmp_path / "items.jsonl")

    def composed_with(*overrides: str, backend: str = "vllm", mode: str = "mode=[strict,soft]") -> EvaluateConfig:
        given = ["model=local", f"model.backend={backend}", f"model.path={tiny_model('llama')}", "model.name=tiny"]
        return settings(*given, *overrides, items=items, mode=mode)

    return composed_with


def test_its_rows_are_those_of_a_local_run(
    cfg: Callable[..., EvaluateConfig], engines: list[made_up_vllm.LLM], tmp_path: Path, tiny_model: Any
) -> None:
    own = ["+model.vllm.tensor_parallel_size=2", "+model.vllm.gpu_memory_utilization=0.5"]
    cap = "evaluation.generation.max_new_tokens=40"
    forms = ["evaluation.variants.rewrites=[verification]", "evaluation.variants.surface=[shuffle]"]
    _, rows, manifest = started(cfg(cap, *own, *forms), tmp_path / "vllm")
    _, local, local_manifest = started(cfg(cap, *forms, backend="hf"), tmp_path / "local")
    assert rows == local
    # One of the three items has options, and so three forms more.
    assert len(rows) == (3 + 3) * 2
    assert {row["finish_reason"] for row in rows} <= {"stop", "length"}
    (engine,) = engines
    folder = str(tiny_model("llama"))
    assert (engine.model, engine.tokenizer, engine.enable_prefix_caching) == (folder, folder, True)
    assert (engine.max_model_len, engine.tensor_parallel_size, engine.gpu_memory_utilization) == (4096, 2, 0.5)
    ((n_prompts, sampling),) = engine.calls
    stops = local_manifest["decoding"]["stop_ids"]
    assert (n_prompts, sampling.max_tokens, sampling.stop_token_ids) == (12, 40, stops)
    assert manifest["decoding"]["stop_ids"] == stops
    assert manifest["decoding"]["replies"] == 12
    assert manifest["decoding"]["new_tokens"] == sum(row["completion_tokens"] for row in rows)
    assert manifest["model"]["vllm"] == "0.0-made-up"
    assert manifest["model"]["arguments"]["enable_prefix_caching"] is True


def test_a_mode_more_and_a_killed_run_ask_only_what_is_new(
    cfg: Callable[..., EvaluateConfig],
    engines: list[made_up_vllm.LLM],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(responses_vllm, "_PROMPTS", 2)
    run_no_thinking(cfg(mode="mode=strict"), tmp_path / "first")
    assert [n for n, _ in engines[0].calls] == [2, 1]
    answer = made_up_vllm.LLM.generate

    def killed(self: made_up_vllm.LLM, *given: Any, **named: Any) -> Any:
        if self.calls:
            raise KeyboardInterrupt
        return answer(self, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(made_up_vllm.LLM, "generate", killed)
        with pytest.raises(KeyboardInterrupt):
            run_no_thinking(cfg(), tmp_path / "killed")
    _, rows, _ = started(cfg(), tmp_path / "killed")
    assert sum(n for engine in engines for n, _ in engine.calls) == 6, "3 strict and 3 soft, each once"
    _, alone, _ = started(cfg(f"paths.cells_dir={tmp_path / 'others'}"), tmp_path / "alone")
    assert rows == alone


def test_a_prompt_leaves_room_for_the_longest_reply(
    cfg: Callable[..., EvaluateConfig], engines: list[made_up_vllm.LLM], tmp_path: Path
) -> None:
    items_file(tmp_path / "items.jsonl", [*ITEMS, {"id": "long", "question": "word " * 300, "answer": "1"}])
    _, rows, manifest = started(cfg("model.max_length=300"), tmp_path / "run")
    assert {row["item_id"] for row in rows} == {"b", "m", "o"}
    assert "its reply up to 5," in manifest["excluded"]["jsonl"]["long"]
    assert "1 of 4 items cannot be shown to this model; they are in the manifest." in manifest["notes"]
    assert engines[0].max_model_len == 300
    longest = max(rows, key=lambda row: row["prompt_tokens"])
    for room, kept in ((5, 3), (4, 2)):
        bound = longest["prompt_tokens"] + room
        _, found, _ = started(cfg(f"model.max_length={bound}"), tmp_path / f"room_{room}")
        assert len({row["item_id"] for row in found}) == kept
        assert (longest["item_id"] in {row["item_id"] for row in found}) == (kept == 3)
    with pytest.raises(ConfigError, match=r"max_new_tokens=5 leaves no room for a prompt in the 5 tokens"):
        run_no_thinking(cfg("model.max_length=5"), tmp_path / "no_room")


def test_without_vllm_the_way_out_is_named(
    cfg: Callable[..., EvaluateConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ConfigError, match="`pip install vllm`, or set model.backend=hf"):
        run_no_thinking(cfg(), tmp_path / "run")


def test_hidden_states_and_a_servers_replies_are_refused(
    cfg: Callable[..., EvaluateConfig], engines: list[made_up_vllm.LLM], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="run by vLLM, which gives no hidden states"):
        load_backend(cfg().model, on_accelerator=False)
    with pytest.raises(ConfigError, match="model.backend=api, as in model=qwen3_32b_vllm"):
        run_no_thinking(cfg("model.served.base_url=http://127.0.0.1:1/v1"), tmp_path / "run")
    assert not engines


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+model.vllm.max_model_len=9", "model.vllm sets 'max_model_len'"),
        ("+model.vllm.enable_prefix_caching=false", "model.vllm sets 'enable_prefix_caching'"),
        ("model.compile=true", "model.compile is for model.backend=hf"),
        ("model.random_weights=0", "model.random_weights is for model.backend=hf"),
        ("model.device_map=auto", "model.device_map is for model.backend=hf"),
        (f"model.sha256={'0' * 64}", "is not the expected one"),
        ("evaluation.estimate=true", "counts the calls of a served model"),
    ],
)
def test_settings_that_do_not_apply_are_refused(
    cfg: Callable[..., EvaluateConfig],
    engines: list[made_up_vllm.LLM],
    tmp_path: Path,
    override: str,
    message: str,
) -> None:
    with pytest.raises((ConfigError, ModelError), match=message):
        run_no_thinking(cfg(override), tmp_path / "run")
    assert not engines


def test_what_vllm_refuses_is_one_error(
    cfg: Callable[..., EvaluateConfig], engines: list[made_up_vllm.LLM], tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"vLLM 0\.0-made-up cannot load model tiny .*no_such_argument"):
        run_no_thinking(cfg("+model.vllm.no_such_argument=1"), tmp_path / "run")


def test_images_are_refused(
    cfg: Callable[..., EvaluateConfig], engines: list[made_up_vllm.LLM], tmp_path: Path, picture: Any
) -> None:
    (tmp_path / "one.png").write_bytes(picture(4, 4).load())
    items_file(tmp_path / "items.jsonl", [ITEMS[0] | {"images": ["one.png"]}])
    with pytest.raises(ConfigError, match="1 items have images, and model.backend=vllm is given text only"):
        run_no_thinking(cfg(), tmp_path / "run")


class Engine:
    """Answers what it is told."""

    def __init__(self, token_ids: list[int], finish: str, stop: int | None, prompt: list[int] | None = None) -> None:
        self.written = made_up_vllm.CompletionOutput(0, "", token_ids, None, None, finish, stop)
        self.prompt = prompt

    def generate(self, prompts: Any, sampling: Any, use_tqdm: bool) -> list[Any]:
        ids = self.prompt or prompts[0]["prompt_token_ids"]
        return [made_up_vllm.RequestOutput("0", None, ids, None, [self.written], True)]


def model_of(engine: Engine) -> VllmModel:
    fmt: Any = SimpleNamespace(name="tiny")
    place: Any = None
    return VllmModel(fmt, None, None, place, "", "9", {}, engine, made_up_vllm.SamplingParams)


@pytest.mark.parametrize(
    ("token_ids", "finish", "stop", "expected"),
    [
        ([5, 6, 2], "stop", 2, ((5, 6), "stop", 5)),
        ([5, 6], "stop", 2, ((5, 6), "stop", 5)),
        ([5, 6], "length", None, ((5, 6), "length", 5)),
        ([2], "stop", 2, ((), "stop", 2)),
        ([], "stop", 2, ((), "stop", 2)),
        # The last of the allowed tokens is the stop token: the reply is whole.
        ([5, 6, 2], "length", None, ((5, 6), "stop", 5)),
    ],
)
def test_completions(token_ids: list[int], finish: str, stop: int | None, expected: tuple[Any, ...]) -> None:
    (one,) = model_of(Engine(token_ids, finish, stop)).complete([[1, 7]], 3, [2])
    assert (one.token_ids, one.finish, one.first_token_id) == expected


def test_completions_that_cannot_be_used() -> None:
    with pytest.raises(ModelError, match="ended a reply of tiny with 'abort'"):
        model_of(Engine([5], "abort", None)).complete([[1, 7]], 3, [2])
    with pytest.raises(ModelError, match="did not answer the prompts of tiny"):
        model_of(Engine([5], "stop", 2, prompt=[7, 1])).complete([[1, 7]], 3, [2])


def test_a_model_of_another_backend_is_not_loaded(tiny_model: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError, match="set model.backend=vllm"):
        load_vllm(ModelConfig(name="tiny", path=str(tiny_model("llama"))), PromptConfig(), "~")
