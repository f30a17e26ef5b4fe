"""Branched scoring against the plain path, for every family, and what it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tests.items import mcq
from tests.models import FAMILIES
from tests.scoring.prompts import groups
from tests.scoring.reference import ALL, assert_equal, plain
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring import branched
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.capture import Rows
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.levels import plan_levels
from thinkgap.scoring.packed import plan_prompts
from thinkgap.types import Condition, Presentation, Prompt, Request


def all_equal(backend: Any, made: Sequence[Sequence[PreparedPrompt]], sizes: Sequence[int]) -> None:
    """Compare groups with the plain path, so many to a call."""
    planned = [plan_prompts(backend, group) for group in made]
    expected = [plain(backend, one.prompts) for one in planned]
    for size in sizes:
        for start in range(0, len(planned), size):
            got = forward_branched(backend, planned[start : start + size], ALL)
            wanted = expected[start : start + size]
            states = torch.cat([one.states for one in wanted if one.states is not None])
            assert_equal(got, Rows(torch.cat([one.logits for one in wanted]), states))


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_branched_equals_plain(
    family: str, implementation: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    backend.model.set_attn_implementation(implementation)
    try:
        made = groups(backend, picture)
        for group in made:
            trie = plan_prompts(backend, group).trie
            plan = plan_levels(trie)
            assert plan.root > 1
            assert max(len(stems) for stems in plan.groups) > 1, "both levels run"
            assert plan.tokens < 1.4 * trie.size < 0.5 * trie.n_linear
        all_equal(backend, made, sizes=(1, 3, len(made)))
    finally:
        backend.model.set_attn_implementation("sdpa")


# Flash attention is no choice for Gemma 3's images, which see each other in both directions.
@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "gemma3_vision"])
def test_attention_that_takes_no_mask_of_our_own(
    family: str, unpadded: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    vision = backend.fmt.is_vision
    backend.model.set_attn_implementation({"text_config": unpadded} if vision else unpadded)
    try:
        made = groups(backend, picture)
        all_equal(backend, made, sizes=(len(made),))
        chosen = Engine.of(backend)
        assert chosen.choice.method is Scoring.branched, chosen.choice.reason
        assert "not packed: attn_implementation=unpadded takes no 4-D mask" in chosen.choice.reason
    finally:
        backend.model.set_attn_implementation("sdpa")


def from_ids(*prompts: Sequence[int]) -> list[PreparedPrompt]:
    presentation = Presentation(mcq("ids"), (0, 1, 2), ("A", "B", "C"))
    condition = Condition("direct", "trigger", Request.label)
    return [PreparedPrompt(Prompt(presentation, condition, "", tuple(ids), ((0,), (1,), (2,)))) for ids in prompts]


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen25vl"])
@pytest.mark.parametrize(
    "prompts",
    [
        [(3, 6, 9, 12)],
        [(3,)],
        [(3, 6, 9), (3, 6, 9)],
        [(3,), (3, 6)],
        [range(3, 40), range(3, 39), range(3, 60)],
        [range(3, 40), range(100, 103), (7,)],
        [(*range(3, 30), *middle, 77, *end) for middle in ((5, 6, 7), (6, 5, 7)) for end in ((8,), range(80, 100), ())],
        # Stems of clearly unequal length, and one prompt that is in none.
        [(3, 4, *range(s, s + n), 9, *range(e)) for s, n in ((50, 5), (90, 60)) for e in (1, 2, 3)] + [(3, 4, 5)],
    ],
)
def test_odd_shapes(family: str, prompts: Sequence[Sequence[int]], tiny_backend: Callable[[str], Any]) -> None:
    """One prompt, equal ones, prefixes of others, nothing in common, nothing left after a stem."""
    backend = tiny_backend(family)
    all_equal(backend, [from_ids(*prompts), from_ids(*reversed(prompts))], sizes=(1, 2))


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl", "llava"])
def test_images_and_none_in_one_group(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Some prompts of the last pass show images, others do not."""
    backend = tiny_backend(family)
    made = groups(backend, picture, orders=1)
    all_equal(backend, [made[0][:2] + made[2][:3] + made[3][:3]], sizes=(1,))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_earlier_calls_leave_behind_does_not_matter(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """huggingface/transformers#36013 and its kin: rope deltas of an earlier image, a cache that was written into."""
    backend = tiny_backend(family)
    planned = [plan_prompts(backend, group) for group in groups(backend, picture)]
    fresh = [forward_branched(backend, [one]).logits for one in planned]
    for one, before in reversed(list(zip(planned, fresh, strict=True))):
        if family in ("qwen25vl", "qwen3vl"):
            backend.model.model.rope_deltas = torch.full((1, 1), 17)
        assert torch.equal(forward_branched(backend, [one]).logits, before)
    together = forward_branched(backend, planned[::-1]).logits
    assert torch.equal(together, torch.cat(fresh[::-1]))


@torch.inference_mode()
def test_expanding_leaves_the_cache_as_it_is(tiny_backend: Callable[[str], Any]) -> None:
    """Layers are shared until they grow, so growing one copy must not be seen in another."""
    backend = tiny_backend("gemma3")
    planned = plan_prompts(backend, from_ids(range(3, 30), range(60, 90)))
    cache = branched.new_cache(backend)
    branched._forward(backend, planned, [(0, 20)], 0, cache)
    before = [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]
    for entries in ([0], [0, 0, 0]):
        grown = branched.expanded(cache, entries)
        branched._forward(backend, planned, [(0, 27)] * len(entries), 20, grown)
        assert grown.get_seq_length() == 27
        assert len(grown.layers[0].keys) == len(entries)
    assert cache.get_seq_length() == 20
    for layer, (keys, values) in zip(cache.layers, before, strict=True):
        assert torch.equal(layer.keys, keys)
        assert torch.equal(layer.values, values)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_head_sees_one_token_of_a_row(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    planned = [plan_prompts(backend, group) for group in groups(backend, picture)[:2]]
    heads: list[tuple[int, ...]] = []
    computed: list[int] = []
    handles = [
        backend.structure.head.register_forward_pre_hook(lambda _, args: heads.append(tuple(args[0].shape[:2]))),
        backend.structure.layers[0].register_forward_hook(lambda _, args, out: computed.append(out[..., 0].numel())),
    ]
    try:
        rows = forward_branched(backend, planned, ALL)
    finally:
        for handle in handles:
            handle.remove()
    plans = [plan_levels(one.trie) for one in planned]
    assert len(heads) == sum(plan.passes for plan in plans)
    assert {width for _, width in heads} == {1}
    assert sum(computed) >= sum(plan.tokens for plan in plans), "padding comes on top"
    assert rows.states is not None
    assert rows.states.shape[:2] == (sum(len(one.prompts) for one in planned), len(backend.structure.layers) + 2)
    assert rows.states.untyped_storage().nbytes() == rows.states.numel() * rows.states.element_size()


@pytest.mark.parametrize("family", ["qwen25vl", "llava"])
def test_a_shared_image_is_encoded_once(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    planned = plan_prompts(backend, groups(backend, picture)[2])
    tower: Any = backend.model.model
    tower = getattr(tower, "visual", None) or tower.vision_tower
    calls: list[int] = []
    handle = tower.register_forward_pre_hook(lambda *_: calls.append(1))
    try:
        forward_branched(backend, [planned])
    finally:
        handle.remove()
    assert len(planned.prompts) == 18
    assert len(calls) == 1
