"""The run's own check against plain scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.scoring.prompts import groups
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.verify import Sample, verify


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
    assert found.prompts == len(made)
    assert found.largest_difference < 1e-4
    assert (found.flips, found.top_token_flips) == (0, 0)
    wrong = [
        replace(one, reading=replace(one.reading, label_logprobs=one.reading.label_logprobs[::-1], top_token_id=-1))
        for one in scored
    ]
    sample = Sample(len(made))
    sample.offer(made, wrong)
    found = verify(engine, sample)
    assert found is not None
    assert found.largest_difference > 0.01
    assert found.flips > 0
    assert found.top_token_flips == len(made)
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
