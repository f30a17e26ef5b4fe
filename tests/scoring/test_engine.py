"""The engine: the same results whatever the batch, the memory or the way of scoring."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models import FAMILIES
from tests.scoring.prompts import groups
from thinkgap.backends.load import load_backend
from thinkgap.errors import ModelError
from thinkgap.schema import Dtype, ModelConfig, Scoring
from thinkgap.scoring import check, engine, packed
from thinkgap.scoring.capture import Wanted
from thinkgap.scoring.engine import Engine, Scored
from thinkgap.scoring.readings import ReadOptions
from thinkgap.scoring.vocabulary import reasoning_tokens

ALL = Wanted(embeddings=True, final_norm=True)


def assert_same(got: Sequence[Sequence[Scored]], expected: Sequence[Sequence[Scored]]) -> None:
    assert [len(group) for group in got] == [len(group) for group in expected]
    for a, b in ((a, b) for one, other in zip(got, expected, strict=True) for a, b in zip(one, other, strict=True)):
        assert a.prompt is b.prompt
        assert a.reading.label_logprobs == pytest.approx(b.reading.label_logprobs, abs=1e-4)
        assert a.reading.top_token_id == b.reading.top_token_id
        assert a.reading.entropy == pytest.approx(b.reading.entropy, abs=1e-3)
        # Among 12,000 tokens some differ by less than the tolerance.
        assert a.reading.gold_rank == pytest.approx(b.reading.gold_rank, rel=1e-3, abs=3)
        if b.states is not None:
            assert a.states is not None
            assert a.states.shape == b.states.shape
            assert float((a.states - b.states).abs().max()) < 1e-4
        assert len(a.lens) == len(b.lens)
        for own, other in zip(a.lens, b.lens, strict=True):
            assert own.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_and_plain_agree_on_everything_they_return(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    made = groups(backend, picture)
    options = ReadOptions(reasoning_tokens(backend.fmt.tokenize), top_k=3)
    expected = Engine.of(backend, Scoring.plain, options=options, wanted=ALL, lens=True).score(made)
    for budget in (1, 900, 10**6):
        one = Engine.of(backend, Scoring.auto, options=options, wanted=ALL, lens=True, batch_tokens=budget)
        assert one.choice.method is Scoring.packed, one.choice.reason
        assert one.choice.error is not None
        assert_same(one.score(made), expected)
        assert one.counts.prompts == sum(map(len, made))
        assert one.counts.computed_tokens * 2 < one.counts.linear_tokens
    assert one.counts.passes == 1


def test_batches_keep_to_the_budget(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    made = groups(backend, picture) * 4
    sizes: list[list[int]] = []
    original = engine.forward_packed

    def noting(backend: Any, batch: Any, wanted: Any) -> Any:
        sizes.append([planned.trie.size for planned in batch])
        return original(backend, batch, wanted)

    monkeypatch.setattr(engine, "forward_packed", noting)
    Engine.of(backend, batch_tokens=900).score(made)
    assert sum(map(len, sizes)) == len(made)
    assert all(len(batch) == 1 or sum(batch) <= 900 for batch in sizes)
    assert any(sum(batch) > 600 for batch in sizes)
    assert max(map(len, sizes)) > 1


@pytest.mark.parametrize("method", [Scoring.packed, Scoring.branched])
@pytest.mark.parametrize("room", [400, pytest.param(100, marks=pytest.mark.slow)])
def test_full_memory_changes_no_result(
    room: int,
    method: Scoring,
    tiny_backend: Callable[[str], Any],
    picture: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batches are halved, then tries."""
    backend = tiny_backend("qwen25vl")
    made = groups(backend, picture)[:3]
    expected = Engine.of(backend).score(made)
    name = f"forward_{method.name}"
    original = getattr(engine, name)
    failures: list[int] = []

    def small(backend: Any, batch: Any, wanted: Any) -> Any:
        size = sum(planned.trie.size for planned in batch)
        if size > room and sum(len(planned.prompts) for planned in batch) > 1:
            failures.append(size)
            raise torch.OutOfMemoryError("no memory")
        return original(backend, batch, wanted)

    tight = Engine.of(backend, method)
    monkeypatch.setattr(engine, name, small)
    assert_same(tight.score(made), expected)
    assert failures


def test_one_prompt_too_large_for_the_memory(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    full = Engine.of(backend)

    def none(*_: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    monkeypatch.setattr(engine, "forward_packed", none)
    with pytest.raises(ModelError, match=r"out of memory on one prompt of \d+ tokens \(item short\): set model.max_le"):
        full.score(groups(backend, picture)[:1])


@pytest.mark.parametrize("method", [Scoring.packed, Scoring.branched, Scoring.plain])
def test_nan_names_the_item_and_the_first_layer(
    method: Scoring, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    scorer = Engine.of(backend, method)
    made = groups(backend, picture)
    poisoned = set(made[1][0].prompt.input_ids) - set(made[0][0].prompt.input_ids)

    def poison(module: Any, args: Any, kwargs: Any, output: torch.Tensor) -> torch.Tensor:
        rows = [any(int(token) in poisoned for token in row) for row in seen[-1]]
        return torch.where(torch.tensor(rows)[:, None, None], math.nan, output)

    seen: list[torch.Tensor] = []
    handles = [
        backend.model.model.embed_tokens.register_forward_pre_hook(lambda _, args: seen.append(args[0])),
        backend.structure.layers[1].register_forward_hook(poison, with_kwargs=True),
    ]
    try:
        with pytest.raises(ModelError, match="item long, condition direct: .*not finite .first after layer 1."):
            scorer.score(made)
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"layer_types": ["linear_attention", "full_attention"]}, "has linear_attention layers, whose state cannot"),
        ({"_attn_implementation": "flash_attention_2"}, "attn_implementation=flash_attention_2 takes no 4-D mask"),
    ],
)
def test_models_that_cannot_branch_fall_back_and_say_so(
    change: dict[str, Any],
    reason: str,
    tiny_backend: Callable[[str], Any],
    picture: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = tiny_backend("llama")
    for name, value in change.items():
        monkeypatch.setattr(backend.model.config, name, value, raising=False)
    with caplog.at_level(logging.WARNING):
        chosen = Engine.of(backend)
    assert chosen.choice.method is Scoring.plain
    assert reason in caplog.text
    for method in (Scoring.packed, Scoring.branched):
        with pytest.raises(ModelError, match=f"scoring={method.name} is not exact for llama: .*set scoring=auto"):
            Engine.of(backend, method)


def test_a_model_that_ignores_the_mask_is_found_by_numbers(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    original = packed.layout_of

    def unmasked(*arguments: Any) -> Any:
        layout = original(*arguments)
        return replace(layout, masks={kind: torch.zeros_like(mask) for kind, mask in layout.masks.items()})

    monkeypatch.setattr(packed, "layout_of", unmasked)
    choice = check.choose(backend, Scoring.auto)
    assert choice.method is Scoring.branched
    assert "packed texts differ from plain ones" in choice.reason


def test_a_model_that_needs_images_apart_is_found_by_numbers(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("gemma3_vision")
    original = packed.attention_of
    monkeypatch.setattr(
        packed, "attention_of", lambda model: type(original(model))(original(model).kinds, original(model).window)
    )
    choice = check.choose(backend, Scoring.auto)
    assert choice.method is Scoring.branched
    assert "packed images differ from plain ones" in choice.reason


@pytest.mark.parametrize("family", ["llama", "gemma3", "llava"])
def test_the_lens_at_the_last_layer_is_the_reading(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """And its logits come out of the last captured state, by one norm and the head."""
    backend = tiny_backend(family)
    made = groups(backend, picture)[:1]
    (scored,) = Engine.of(backend, wanted=Wanted(), lens=True).score(made)
    for one in scored:
        assert len(one.lens) == len(backend.structure.layers)
        assert one.lens[-1] == one.reading
        assert one.states is not None
        logits = backend.structure.logits(one.states[-1]).detach()
        expected = [float(torch.log_softmax(logits, -1)[ids[0]]) for ids in one.prompt.label_ids]
        assert one.lens[-1].label_logprobs == pytest.approx(expected, abs=1e-4)
        assert one.lens[0].label_logprobs != pytest.approx(expected, abs=1e-2)


def test_the_lens_of_one_presentation(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    """Same readings and states; layers of the presentations of that name alone, the same as without the limit."""
    backend = tiny_backend("llama")
    (made,) = groups(backend, picture)[:1]
    turned = [
        replace(one, prompt=replace(one.prompt, presentation=replace(one.prompt.presentation, name="other")))
        for one in made[::2]
    ]
    mixed = [one for pair in zip(turned, made[1::2], strict=False) for one in pair]
    (everything,) = Engine.of(backend, wanted=Wanted((1,)), lens=True).score([mixed])
    (limited,) = Engine.of(backend, wanted=Wanted((1,)), lens=True, lens_of="identity").score([mixed])
    for one, full in zip(limited, everything, strict=True):
        assert one.reading == full.reading
        assert one.states is not None
        assert full.states is not None
        assert torch.equal(one.states, full.states)
        if one.prompt.presentation.name == "other":
            assert one.lens == ()
        else:
            for own, other in zip(one.lens, full.lens, strict=True):
                assert own.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-5)


def test_no_groups_and_empty_groups(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend("llama")
    scorer = Engine.of(backend)
    assert scorer.score([]) == []
    made = groups(backend, picture)[0]
    assert [len(group) for group in scorer.score([[], made, []])] == [0, len(made), 0]


def test_a_released_model_is_scored_packed(smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its large activations make its own batches differ by more than those of the tiny models."""
    backend = load_backend(ModelConfig(name="smollm2", path=str(smollm2_folder)), on_accelerator=False)
    found: dict[Scoring, list[tuple[float, float]]] = {Scoring.packed: [], Scoring.branched: []}
    measured = check.differences

    def noting(backend: Any, method: Scoring, prompts: Any) -> tuple[float, float]:
        found[method].append(measured(backend, method, prompts))
        return found[method][-1]

    monkeypatch.setattr(check, "differences", noting)
    choice = check.choose(backend, Scoring.auto)
    assert choice.method is Scoring.packed, choice.reason
    assert check.refusal_of(backend, Scoring.branched)[0] == ""
    for differences in found.values():
        assert len(differences) == len(check.probes(backend))
        for error, own in differences:
            assert 0 < error < 1e-4
            assert 0 < own < 1e-4


def test_the_allowance_for_a_models_own_spread_is_bounded(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model whose batches differ greatly must not excuse a wrong mask."""
    backend = tiny_backend("llama")
    for error, own, expected in ((5e-5, 2e-5, "packed"), (5e-5, 1e-6, "plain"), (5e-3, 1.0, "plain")):
        monkeypatch.setattr(check, "differences", lambda *_, pair=(error, own): pair)
        assert check.choose(backend, Scoring.auto).method.name == expected, (error, own)


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen25vl", "llava"])
def test_half_precision_rounds_otherwise_and_is_still_told_from_a_wrong_mask(
    family: str, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ModelConfig(name=family, path=str(tiny_model(family)), dtype=Dtype.bfloat16)
    backend = load_backend(config, on_accelerator=False)
    for method in (Scoring.packed, Scoring.branched):
        refusal, error = check.refusal_of(backend, method)
        assert not refusal
        assert error is not None
    original = packed.layout_of

    def unmasked(*arguments: Any) -> Any:
        layout = original(*arguments)
        return replace(layout, masks={kind: torch.zeros_like(mask) for kind, mask in layout.masks.items()})

    monkeypatch.setattr(packed, "layout_of", unmasked)
    assert "packed texts differ from plain ones" in check.refusal_of(backend, Scoring.packed)[0]


@pytest.mark.slow  # half a minute of compiling
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on a CPU")
def test_compiled_layers_give_the_same(
    tiny_model: Callable[[str], Path], tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    made = groups(tiny_backend("qwen3"), picture)
    expected = Engine.of(tiny_backend("qwen3"), Scoring.plain, wanted=ALL).score(made)
    config = ModelConfig(name="qwen3", path=str(tiny_model("qwen3")), compile=True)
    compiled = Engine.of(load_backend(config, on_accelerator=False), wanted=ALL, batch_tokens=150)
    assert compiled.choice.method is Scoring.packed, compiled.choice.reason
    assert_same(compiled.score(made), expected)
    assert compiled.backend.describe()["compiled"]


def test_what_cannot_be_compiled_is_said(tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(forward: Any, **_: Any) -> Any:
        def fails(*arguments: Any, **settings: Any) -> Any:
            raise RuntimeError("no working C++ compiler\nfurther lines")

        return fails

    monkeypatch.setattr(torch, "compile", broken)
    config = ModelConfig(name="llama", path=str(tiny_model("llama")), compile=True)
    with pytest.raises(ModelError, match="no working C\\+\\+ compiler; set model.compile=false"):
        load_backend(config, on_accelerator=False)
