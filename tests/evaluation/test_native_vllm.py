"""The native readout over vLLM; vLLM itself is a stand-in here, as `made_up_vllm` says."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.evaluation import made_up_vllm
from tests.evaluation.loopback_vllm import served_vllm
from tests.test_config import composed
from thinkgap.errors import ConfigError, ModelError
from thinkgap.evaluation.native import Finished
from thinkgap.readouts.report import report_of_run
from thinkgap.readouts.sheet import Missing
from thinkgap.store.records import read_records
from thinkgap.types import Record

VLLM = ("model.backend=vllm", "model.name=tiny", "evaluation.reuse=false")
UNTOLD = {"entropy", "gold_rank", "top_ids", "top_tokens", "top_logprobs"}
"""Columns that vLLM cannot fill, or fills with the first token alone."""


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[made_up_vllm.LLM]:
    """The stand-in is what `import vllm` finds; the engines that are made."""
    monkeypatch.setitem(sys.modules, "vllm", made_up_vllm.module())
    monkeypatch.setattr(made_up_vllm, "MADE", [])
    return made_up_vllm.MADE


def assert_alike(own: list[Record], local: list[Record]) -> None:
    assert [one.key for one in own] == [one.key for one in local]
    for one, other in zip(own, local, strict=True):
        assert one.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)
        for name in ("label_mass", "reasoning_mass", "reasoning_mass_strict", "top_logprob"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-4)
        assert (one.gold_rank, math.isnan(one.entropy)) == (-1, True)
        assert one.top_ids == other.top_ids[:1]
        floats = {"label_logprobs", "label_mass", "reasoning_mass", "reasoning_mass_strict", "top_logprob"}
        same = {field.name for field in dataclasses.fields(Record)} - UNTOLD - floats
        assert {name: getattr(one, name) for name in same} == {name: getattr(other, name) for name in same}


def test_its_records_are_those_of_a_local_run(run: Callable[..., Finished], engines: list[made_up_vllm.LLM]) -> None:
    asked = ("trigger=[let_me_think,answer]", "evaluation.permutations=2", "labels=both")
    local = run(*asked, "model.name=tiny", "evaluation.reuse=false", folder="local")
    own = run(*asked, *VLLM, "evaluation.verify=3", folder="vllm")
    assert_alike(read_records(own.folder), read_records(local.folder))
    (engine,) = engines
    first, *again = engine.calls
    # One call for all prompts, then three prompts alone and without the cache.
    assert first[0] == 12 * 2 * 3
    assert [(n, one.skip_reading_prefix_cache) for n, one in again] == [(1, True)] * 3
    manifest = json.loads((own.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["scoring"]["method"] == "next_token_ids"
    assert {"gold_rank", "states"} <= set(manifest["scoring"]["unavailable"])
    assert manifest["scoring"]["verified"]["plain"]["largest_difference"] < 1e-5


def test_what_it_cannot_tell_is_missing_in_the_tables(
    run: Callable[..., Finished], engines: list[made_up_vllm.LLM]
) -> None:
    del engines
    own = run(*VLLM, "evaluation=vocabulary", folder="vllm")
    sheets = {sheet.name: sheet for sheet in report_of_run(own.folder).sheets}
    levels, changes = sheets["vocabulary"], sheets["vocabulary_change"]
    names = [column.name for column in levels.columns]
    for row in levels.rows:
        assert isinstance(row[names.index("gold_rank")], Missing)
        assert isinstance(row[names.index("entropy")], Missing)
        assert not isinstance(row[names.index("label_mass")], Missing)
    names = [column.name for column in changes.columns]
    for row in changes.rows:
        assert isinstance(row[names.index("gold_rank_change")], Missing)
        assert not isinstance(row[names.index("label_mass_change")], Missing)


def test_finished_cells_are_not_asked_again(
    run: Callable[..., Finished], engines: list[made_up_vllm.LLM], tmp_path: Any
) -> None:
    cells = f"paths.cells_dir={tmp_path / 'cells'}"
    run("model.backend=vllm", cells, folder="first")
    run("model.backend=vllm", cells, "trigger=[let_me_think,answer]", folder="second")
    assert [sum(n for n, _ in one.calls) for one in engines] == [12 * 2, 12]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("evaluation.capture.enabled=true", "evaluation.capture.enabled=true is not available"),
        ("evaluation.lens=true", "evaluation.lens=true is not available"),
        ("evaluation.likelihood.enabled=true", "evaluation.likelihood.enabled=true is not available"),
        ("evaluation.generation.enabled=true", "evaluation.generation.enabled=true is not available"),
        ("scoring=packed", "vLLM shares prefixes by itself"),
    ],
)
def test_what_it_has_not_is_refused(run: Callable[..., Finished], override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run("model.backend=vllm", override)


def test_a_version_without_the_argument_is_refused(
    run: Callable[..., Finished], engines: list[made_up_vllm.LLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    del engines
    module = made_up_vllm.module()

    def old(*, temperature: float = 1.0, max_tokens: int = 16) -> None:
        del temperature, max_tokens

    module.__dict__["SamplingParams"] = old
    monkeypatch.setitem(sys.modules, "vllm", module)
    with pytest.raises(ConfigError, match="does not give log-probabilities of chosen ids"):
        run(*VLLM)


def test_a_server_gives_the_same_records(
    run: Callable[..., Finished], tiny_model: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    local = run("model.name=tiny", "evaluation.reuse=false", folder="local")
    monkeypatch.setenv("OWN_KEY", "secret-of-the-server")
    with served_vllm(tiny_model("llama"), "tiny", key="secret-of-the-server") as server:
        where = (f"model.served.base_url={server.url}", "model.served.api_key_env=OWN_KEY")
        own = run(*VLLM, *where, "evaluation.verify=2", folder="served")
    assert_alike(read_records(own.folder), read_records(local.folder))
    assert sum("cache_salt" in one for one in server.asked) == 2
    # Prompts go as ids: the server's template and tokenizer have no say.
    assert all(isinstance(one["prompt"][0], int) and one["max_tokens"] == 1 for one in server.asked)
    text = (own.folder / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(text)["model"]["served"] == "tiny"
    assert "secret-of-the-server" not in text


def test_a_server_that_is_not_the_models_is_refused(
    run: Callable[..., Finished], tiny_model: Callable[[str], Any]
) -> None:
    with (
        served_vllm(tiny_model("llama"), "another") as server,
        pytest.raises(ConfigError, match="serves another, and model.path=.* is not one of them"),
    ):
        run(*VLLM, f"model.served.base_url={server.url}")
    gone = (f"model.served.base_url={server.url}", "model.served.max_retries=0")
    with pytest.raises(ModelError, match="cannot be reached"):
        run(*VLLM, *gone)
    with pytest.raises(ConfigError, match="NOT_SET: that environment variable is empty"):
        run(*VLLM, *gone, "model.served.api_key_env=NOT_SET")


def test_a_server_that_leaves_ids_out_is_refused(
    run: Callable[..., Finished], tiny_model: Callable[[str], Any]
) -> None:
    with (
        served_vllm(tiny_model("llama"), "tiny", tells=False) as server,
        pytest.raises(ModelError, match="no log-probability of token .* which was asked for"),
    ):
        run(*VLLM, f"model.served.base_url={server.url}")


def test_settings_compose() -> None:
    cfg = composed(
        "model=local", "model.path=x", "model.backend=vllm", "model.served.base_url=http://localhost:8000/v1"
    )
    assert cfg.model.backend.name == "vllm"
