"""The run's own check against plain scoring."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.scoring.prompts import groups
from thinkgap.backends.load import load_backend
from thinkgap.schema import Dtype, ModelConfig, Scoring
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.verify import Comparison, Sample, Verified, compare, joined, verify
from thinkgap.types import Reading


def test_the_sample_does_not_depend_on_the_order_of_the_run(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    engine = Engine.of(backend)
    made = groups(backend, picture, orders=2)
    scored = engine.score(made)
    chosen = []
    for order in ((0, 1), (1, 0)):
        sample = Sample(5, seed=3)
        for number in order:
            sample.offer(made[number], scored[number])
        chosen.append({prepared.prompt.sha256 for prepared, _ in sample.pairs()})
    assert chosen[0] == chosen[1]
    other = Sample(5, seed=4)
    other.offer(made[0] + made[1], scored[0] + scored[1])
    assert {prepared.prompt.sha256 for prepared, _ in other.pairs()} != chosen[0]


def test_differences_and_flips_are_reported(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend("qwen25vl")
    engine = Engine.of(backend)
    (made,) = groups(backend, picture)[2:3]
    (scored,) = engine.score([made])
    sample = Sample(len(made))
    sample.offer(made, scored)
    found = verify(engine, sample)
    assert found is not None
    assert found.plain.prompts == len(made)
    assert found.plain.largest_difference < 1e-4
    assert (found.plain.flips, found.plain.top_token_flips) == (0, 0)
    assert found.float32 is None
    assert not found.skipped
    wrong = [
        replace(one, reading=replace(one.reading, label_logprobs=one.reading.label_logprobs[::-1], top_token_id=-1))
        for one in scored
    ]
    sample = Sample(len(made))
    sample.offer(made, wrong)
    found = verify(engine, sample)
    assert found is not None
    assert found.plain.largest_difference > 0.01
    assert found.plain.flips > 0
    assert found.plain.top_token_flips == len(made)
    assert f"{len(made)} prompts scored again plainly" in str(found)


def test_nothing_to_verify(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    engine = Engine.of(tiny_backend("llama"))
    (made,) = groups(engine.backend, picture)[:1]
    sample = Sample(0)
    sample.offer(made, engine.score([made])[0])
    assert verify(engine, sample) is None


@pytest.mark.parametrize("n", [3, 100])
def test_no_more_than_asked_for(n: int, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    engine = Engine.of(tiny_backend("llama"))
    made = groups(engine.backend, picture)
    sample = Sample(n)
    for prompts, scored in zip(made, engine.score(made), strict=True):
        sample.offer(prompts, scored)
    assert len(sample.pairs()) == min(n, sum(map(len, made)))


def half(tiny_model: Callable[[str], Path]) -> tuple[Engine, Sample]:
    """A bfloat16 model that has scored some prompts."""
    config = ModelConfig(name="qwen3", path=str(tiny_model("qwen3")), dtype=Dtype.bfloat16)
    engine = Engine.of(load_backend(config, on_accelerator=False))
    made = [prepared for group in groups(engine.backend, lambda *_: None) for prepared in group]
    sample = Sample(len(made))
    sample.offer(made, engine.score([made])[0])
    return engine, sample


def test_half_precision_is_compared_with_float32(
    tiny_model: Callable[[str], Path], tiny_backend: Callable[[str], Any]
) -> None:
    """The widened model gives what the checkpoint in float32 gives, and is as it was afterwards."""
    engine, sample = half(tiny_model)
    before = {name: (tensor.dtype, tensor.clone()) for name, tensor in engine.backend.model.state_dict().items()}
    found = verify(engine, sample)
    assert found is not None
    assert found.float32 is not None
    assert found.plain_float32 is not None
    after = engine.backend.model.state_dict()
    assert all(after[name].dtype is dtype and torch.equal(after[name], old) for name, (dtype, old) in before.items())
    # The tiny checkpoint is float32; rounded to bfloat16 and widened it is what bfloat16 stands for.
    exact = tiny_backend("qwen3").model
    rounded = {name: tensor.bfloat16().float() for name, tensor in exact.state_dict().items()}
    kept = {name: tensor.clone() for name, tensor in exact.state_dict().items()}
    try:
        exact.load_state_dict(rounded)
        prompts, readings = zip(*sample.pairs(), strict=True)
        wanted = Engine.of(tiny_backend("qwen3"), Scoring.plain).score([list(prompts)])[0]
    finally:
        exact.load_state_dict(kept)
    expected = compare(list(readings), [one.reading for one in wanted])
    assert found.float32.largest_difference == pytest.approx(expected.largest_difference, abs=1e-4)
    assert (found.float32.flips, found.float32.top_token_flips) == (expected.flips, expected.top_token_flips)
    assert 1e-4 < found.float32.largest_difference < 0.5
    assert "against float32" in str(found)


def test_what_cannot_be_widened_is_said(tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, sample = half(tiny_model)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=1000))
    found = verify(engine, sample)
    assert found is not None
    assert found.float32 is None
    assert "GiB more of 0.0 GiB free" in found.skipped
    engine.backend.placed = True
    found = verify(engine, sample)
    assert found is not None
    assert "quantised or spread" in str(found)


def test_a_comparison_by_hand() -> None:
    """Two prompts: the first differs by 0.5 nats and flips, the second is equal with an impossible label."""
    one = Reading((-1.0, -2.0), 0.5, 3, -0.5)
    other = replace(one, label_logprobs=(-1.5, -1.4), top_token_id=4)
    impossible = Reading((-math.inf, -0.1), 0.9, 1, -0.1)
    found = compare([one, impossible], [other, impossible])
    assert found == Comparison(2, found.largest_difference, flips=1, top_token_flips=1)
    assert found.largest_difference == pytest.approx(0.6)


def test_parts_of_several_processes_become_one() -> None:
    one = Verified(Comparison(3, 0.5, 1, 0), Comparison(3, 0.25, 0, 2), Comparison(3, 0.125, 1, 1))
    other = Verified(Comparison(2, 0.75, 1, 1), Comparison(2, 0.0, 1, 0), Comparison(2, 0.5, 0, 0))
    # 3 + 2 prompts; the larger difference; 1 + 1 flips; 0 + 1 flips of the top token; and so on
    assert joined([one, None, other]) == Verified(
        Comparison(5, 0.75, 2, 1), Comparison(5, 0.25, 1, 2), Comparison(5, 0.5, 1, 1)
    )
    assert joined([one]) == one
    assert joined([None, None]) is None
    assert [Verified.of(json.loads(json.dumps(part.as_dict()))) for part in (one, other)] == [one, other]


def test_a_comparison_that_one_process_skipped_is_left_out() -> None:
    one = Verified(Comparison(3, 0.5, 1, 0), Comparison(3, 0.25, 0, 2), Comparison(3, 0.125, 1, 1))
    other = Verified(Comparison(2, 0.75, 0, 0), skipped="out of memory")
    assert joined([one, other]) == Verified(Comparison(5, 0.75, 1, 0), skipped="out of memory")
