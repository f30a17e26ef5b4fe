"""Packed scoring against the plain path, for every family: the heart of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.models import FAMILIES, VISION
from tests.scoring.prompts import groups
from tests.scoring.reference import ALL, assert_equal, plain
from thinkgap.scoring import packed
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.capture import Rows
from thinkgap.scoring.packed import Planned, forward_packed, plan_prompts


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_packed_equals_plain(
    family: str, implementation: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    backend.model.set_attn_implementation(implementation)
    try:
        planned = [plan_prompts(backend, group) for group in groups(backend, picture)]
        assert all(one.trie.size * 2 < one.trie.n_linear for one in planned), "something is shared"
        expected = [plain(backend, one.prompts) for one in planned]
        for size in (1, 3, len(planned)):
            for start in range(0, len(planned), size):
                got = forward_packed(backend, planned[start : start + size], ALL)
                wanted = expected[start : start + size]
                states = torch.cat([one.states for one in wanted if one.states is not None])
                assert_equal(got, Rows(torch.cat([one.logits for one in wanted]), states))
    finally:
        backend.model.set_attn_implementation("sdpa")


@pytest.mark.parametrize("family", ["gemma3", "gemma3_vision"])
def test_prompts_are_longer_than_the_sliding_window(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the distance in the mask these models give other logits, so the test above would notice."""
    backend = tiny_backend(family)
    planned = [plan_prompts(backend, groups(backend, picture)[1])]
    expected = plain(backend, planned[0].prompts)
    original = packed.attention_of
    monkeypatch.setattr(packed, "attention_of", lambda model: replace(original(model), window=None))
    with pytest.raises(AssertionError):
        assert_equal(forward_packed(backend, planned, ALL), expected)


def test_image_tokens_see_each_other_in_gemma(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("gemma3_vision")
    planned = [plan_prompts(backend, groups(backend, picture)[2])]
    expected = plain(backend, planned[0].prompts)
    original = packed.attention_of
    monkeypatch.setattr(packed, "attention_of", lambda model: replace(original(model), image_blocks=False))
    with pytest.raises(AssertionError):
        assert_equal(forward_packed(backend, planned, ALL), expected)


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_state_left_behind_does_not_matter(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """huggingface/transformers#36013 and its kin: rope deltas of an earlier image."""
    backend = tiny_backend(family)
    made = groups(backend, picture)
    fresh = [forward_packed(backend, [plan_prompts(backend, group)]).logits for group in made]
    for group, before in reversed(list(zip(made, fresh, strict=True))):
        backend.model.model.rope_deltas = torch.full((1, 1), 17)
        assert torch.equal(forward_packed(backend, [plan_prompts(backend, group)]).logits, before)


@pytest.mark.parametrize("forward", [forward_packed, forward_branched])
@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_image_positions_matter(
    family: str,
    forward: Callable[..., Rows],
    tiny_backend: Callable[[str], Any],
    picture: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Positions that merely count up give other logits, so the equivalence tests would notice them."""
    backend = tiny_backend(family)
    group = groups(backend, picture)[3]
    expected = plain(backend, group)
    monkeypatch.setattr(type(backend), "linear_positions", lambda self, prompts: [None] * len(prompts))
    with pytest.raises(AssertionError):
        assert_equal(forward(backend, [plan_prompts(backend, group)], ALL), expected)


def encoded_rows(backend: Any, run: Callable[[], Any]) -> list[int]:
    """Rows of pixels that each call of the vision tower gets while `run()` is going on."""
    tower: Any = backend.model.model
    tower = getattr(tower, "visual", None) or tower.vision_tower
    rows: list[int] = []

    def count(module: Any, args: Any, kwargs: Any) -> None:
        value = args[0] if args else kwargs.get("pixel_values", kwargs.get("hidden_states"))
        rows.append(len(value))

    handle = tower.register_forward_pre_hook(count, with_kwargs=True)
    try:
        run()
    finally:
        handle.remove()
    return rows


@pytest.mark.parametrize("family", VISION)
def test_an_image_is_encoded_once(family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend(family)
    planned = plan_prompts(backend, groups(backend, picture)[2])
    assert len(planned.prompts) == 18
    once = planned.prompts[0].tensors["pixel_values"]
    assert encoded_rows(backend, lambda: forward_packed(backend, [planned])) == [len(once)]


@pytest.mark.parametrize("family", VISION)
def test_an_image_in_several_places_is_encoded_once(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Three pictures are options under three orders, unless the template moves them; other items show them too."""
    backend = tiny_backend(family)
    planned = [plan_prompts(backend, group) for group in groups(backend, picture)[2:]]
    assert sum(len(one.trie.images) for one in planned) >= 8
    got: list[Rows] = []
    rows = encoded_rows(backend, lambda: got.append(forward_packed(backend, planned, ALL)))
    # The item with three options that are pictures shows every picture of the four items.
    assert rows == [len(planned[2].prompts[0].tensors["pixel_values"])]
    expected = [plain(backend, one.prompts) for one in planned]
    states = torch.cat([one.states for one in expected if one.states is not None])
    assert_equal(got[0], Rows(torch.cat([one.logits for one in expected]), states))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_state_of_the_whole_sequence_meets_the_head(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Nothing of shape `[batch, seq, vocab]` exists: the head sees the read nodes only."""
    backend = tiny_backend(family)
    planned = [plan_prompts(backend, group) for group in groups(backend, picture)[:2]]
    seen: list[torch.Size] = []
    handle = backend.structure.head.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape))
    try:
        rows = forward_packed(backend, planned, ALL)
    finally:
        handle.remove()
    distinct = sum(len(set(one.trie.reads.tolist())) for one in planned)
    assert [tuple(shape[:2]) for shape in seen] == [(1, distinct)]
    n_layers = len(backend.structure.layers)
    assert rows.states is not None
    assert rows.states.shape[:2] == (sum(len(one.prompts) for one in planned), n_layers + 2)
    assert rows.states.untyped_storage().nbytes() == rows.states.numel() * rows.states.element_size()


def test_equal_prompts_get_equal_rows(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend("llama")
    planned: Planned = plan_prompts(backend, groups(backend, picture)[0])
    rows = forward_packed(backend, [planned])
    by_ids: dict[tuple[int, ...], torch.Tensor] = {}
    for prepared, logits in zip(planned.prompts, rows.logits, strict=True):
        assert torch.equal(by_ids.setdefault(prepared.prompt.input_ids, logits), logits)
    assert len(by_ids) < len(planned.prompts)
