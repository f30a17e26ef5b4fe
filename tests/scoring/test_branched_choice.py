"""Which models are scored branched, and that the engine does so."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models import FAMILIES, write_model
from tests.scoring.prompts import groups
from tests.scoring.reference import ALL
from thinkgap.backends.load import load_backend
from thinkgap.errors import ModelError
from thinkgap.schema import ModelConfig, Scoring
from thinkgap.scoring import branched, check
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.levels import plan_levels
from thinkgap.scoring.packed import plan_prompts


@pytest.mark.parametrize("family", FAMILIES)
def test_the_engine_scores_branched(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    backend = tiny_backend(family)
    made = [*groups(backend, picture), []]
    expected = Engine.of(backend, Scoring.plain, wanted=ALL, lens=True).score(made)
    with caplog.at_level(logging.INFO):
        engine = Engine.of(backend, Scoring.branched, wanted=ALL, lens=True)
    assert f"scoring=branched for {backend.fmt.name}: the expanded cache reproduces plain scoring" in caplog.text
    assert engine.choice.error is not None
    for group, others in zip(engine.score(made), expected, strict=True):
        for one, other in zip(group, others, strict=True):
            assert one.prompt is other.prompt
            assert one.reading.label_logprobs == pytest.approx(other.reading.label_logprobs, abs=1e-4)
            assert one.states is not None
            assert other.states is not None
            assert float((one.states - other.states).abs().max()) < 1e-4
            assert len(one.lens) == len(other.lens)
    plans = [plan_levels(plan_prompts(backend, group).trie) for group in made if group]
    assert engine.counts.prompts == sum(map(len, made))
    assert engine.counts.computed_tokens == sum(plan.tokens for plan in plans)
    assert engine.counts.passes == sum(plan.passes for plan in plans)
    assert engine.counts.computed_tokens * 2 < engine.counts.linear_tokens
    assert engine.describe()["method"] == "branched"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_check_at_load_runs_both_levels(family: str, tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend(family)
    probes = check.probes(backend)
    # By kind: of the texts the last, which have both levels.
    plans = {kind: plan_levels(plan_prompts(backend, prompts).trie) for kind, prompts in probes}
    assert set(plans) == ({"texts", "images"} if backend.fmt.is_vision else {"texts"})
    for kind, plan in plans.items():
        (stems,) = plan.groups
        assert plan.root > 1
        assert stems[0].stop > plan.root + 1
        assert len(stems) == 2, kind
        assert min(len(stem.leaves) for stem in stems) > 1


def test_auto_takes_branched_where_packed_is_refused(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = tiny_backend("gemma3")
    original = check.attention_of
    monkeypatch.setattr(check, "attention_of", lambda model: replace(original(model), refusal="no mask today"))
    with caplog.at_level(logging.INFO):
        engine = Engine.of(backend)
    assert engine.choice.method is Scoring.branched
    assert (
        "scoring=branched for gemma3: the expanded cache reproduces plain scoring; not packed: no mask" in caplog.text
    )
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    with pytest.raises(ModelError, match="scoring=packed is not exact for gemma3: no mask today; set scoring=auto"):
        Engine.of(backend, Scoring.packed)


def test_a_wrong_cache_is_found_by_numbers(tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a pass continue from the stems of others."""
    backend = tiny_backend("llama")
    original = branched.expanded
    monkeypatch.setattr(branched, "expanded", lambda cache, entries: original(cache, entries[::-1]))
    with pytest.raises(ModelError, match="scoring=branched is not exact for llama: branched texts differ from plain"):
        check.choose(backend, Scoring.branched)
    assert check.choose(backend, Scoring.auto).method is Scoring.packed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layer_types": ["full_attention", "chunked_attention"]}, "it has chunked_attention layers, whose state"),
        ({"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, "its rotary frequencies"),
    ],
)
def test_models_that_cannot_continue_from_a_prefix_are_refused_by_name(
    changes: dict[str, Any], reason: str, tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = copy.copy(tiny_backend("llama"))
    for name, value in changes.items():
        monkeypatch.setattr(backend.model.config, name, value, raising=False)
    backend.length_dependent = "rope_parameters" in changes
    monkeypatch.setattr(check, "differences", lambda *_: pytest.fail("the probe must not run"))
    with pytest.raises(ModelError, match=f"scoring=branched is not exact for llama: {reason}"):
        check.choose(backend, Scoring.branched)


def test_a_recurrent_state_is_refused_by_name(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its config says of its layers."""
    backend = tiny_backend("llama")
    monkeypatch.setattr(type(backend.model), "_is_stateful", True)
    with pytest.raises(ModelError, match="LlamaForCausalLM keeps a recurrent state"):
        check.choose(backend, Scoring.branched)


def test_an_unknown_cache_is_refused_by_name(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import cache_utils

    class Odd(cache_utils.DynamicLayer):
        """Holds something beside keys and values."""

    backend = tiny_backend("llama")
    monkeypatch.setitem(cache_utils.DYNAMIC_LAYER_TYPE_MAPPING, "full_attention", Odd)
    with pytest.raises(ModelError, match="its cache has layers of class Odd, which are not known here"):
        check.choose(backend, Scoring.branched)


def test_linear_attention_is_scored_plainly(
    smollm2_folder: Path, tmp_path: Path, picture: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_model("qwen3_next", tmp_path / "qwen3_next", smollm2_folder)
    backend = load_backend(ModelConfig(name="next", path=str(folder)), on_accelerator=False)
    with caplog.at_level(logging.WARNING):
        engine = Engine.of(backend)
    assert engine.choice.method is Scoring.plain
    assert "not packed: it has linear_attention layers" in caplog.text
    assert "not branched: it has linear_attention layers" in caplog.text
    made = groups(backend, picture)[:1]
    assert [len(group) for group in engine.score(made)] == [len(made[0])]
    with pytest.raises(ModelError, match="scoring=branched is not exact for next: it has linear_attention layers"):
        check.choose(backend, Scoring.branched)


@pytest.mark.slow
def test_a_released_model(smollm2_folder: Path, picture: Callable[..., Any]) -> None:
    backend = load_backend(ModelConfig(name="smollm2", path=str(smollm2_folder)), on_accelerator=False)
    (group,) = groups(backend, picture, orders=5)[:1]
    assert len(group) == 30
    assert check.choose(backend, Scoring.branched).method is Scoring.branched
    got = forward_branched(backend, [plan_prompts(backend, group)])
    expected = torch.cat([backend.next_token_logits([prepared]) for prepared in group])
    a, b = torch.log_softmax(got.logits, -1), torch.log_softmax(expected, -1)
    assert float((a - b).abs().max()) < 1e-4
    assert (a.argmax(-1) == b.argmax(-1)).all()
