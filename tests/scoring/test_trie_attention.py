"""Blocks and their masks against naive ancestors: what a query sees, whatever the cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scoring.test_plan import naive_ancestors, pieces, texts, with_images
from thinkgap.backends.attention import Attention
from thinkgap.scoring import blocks
from thinkgap.scoring.blocks import Block, blocks_of
from thinkgap.scoring.plan import LinearPrompt, Trie, build_trie
from thinkgap.scoring.trie_attention import Layout, layout_of

CPU = torch.device("cpu")
FULL = Attention(("full_attention",))
BOTH = Attention(("full_attention", "sliding_attention"), window=3, image_blocks=True)


def visible(layout: Layout, size: int, kind: str) -> np.ndarray:
    """`[size, size]`: which key each query sees; a query that no block holds, or two hold, is an error."""
    seen, times = np.zeros((size, size), bool), np.zeros(size, int)
    flat = layout.masks[kind][0, 0, 0]
    for block in layout.blocks:
        queries = np.arange(*block.queries)
        keys = np.concatenate([np.arange(*span) for span in block.keys])
        times[queries] += 1
        if block.mask is None:
            assert (queries == keys).all(), "causal attention needs as many keys as queries"
            own = np.tril(np.ones((len(queries), len(keys)), bool))
        else:
            begin, width = block.mask
            own = (flat[begin : begin + len(queries) * width].view(len(queries), width)[:, : len(keys)] == 0).numpy()
        seen[np.ix_(queries, keys)] |= own
    assert (times == 1).all()
    return seen


def expected(trie: Trie, attention: Attention, kind: str) -> np.ndarray:
    seen = naive_ancestors(trie)
    if attention.image_blocks:
        for image in trie.images:
            own = slice(image.start, image.start + image.length)
            seen[own, own] = True
    if kind == "sliding_attention":
        assert attention.window is not None
        seen &= trie.depths[:, None] - trie.depths[None, :] < attention.window
    return seen


@pytest.mark.parametrize("attention", [FULL, BOTH])
@pytest.mark.parametrize("inner", ["sdpa", "eager"])
@given(
    tries=st.lists(
        st.lists(st.one_of(texts.map(lambda ids: LinearPrompt(tuple(ids))), pieces.map(with_images)), min_size=1),
        min_size=1,
        max_size=3,
    ),
    pairs=st.sampled_from([0, 8, 4096]),
    short=st.sampled_from([1, 3, 32]),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_query_sees_its_ancestors(
    attention: Attention,
    inner: str,
    tries: list[list[LinearPrompt]],
    pairs: int,
    short: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "_PAIRS_PER_BLOCK", pairs)
    monkeypatch.setattr(blocks, "_SHORT", short)
    built = [build_trie(prompts) for prompts in tries]
    layout = layout_of(built, attention, torch.float32, CPU, inner)
    for kind in attention.kinds:
        seen = visible(layout, sum(trie.size for trie in built), kind)
        start = 0
        for trie in built:
            own = slice(start, start + trie.size)
            assert (seen[own, own] == expected(trie, attention, kind)).all()
            assert seen[own].sum() == seen[own, own].sum(), "nothing of another trie"
            start += trie.size


def sweep(context: int, option: int, trigger: int) -> Trie:
    """Six triggers under each of five orders, all different."""
    rng = np.random.default_rng(0)
    prefix = rng.integers(0, 9999, context)
    prompts = [
        np.concatenate([prefix, rng.integers(0, 9999, option)]).tolist() + rng.integers(0, 9999, trigger).tolist()
        for _ in range(5)
    ]
    return build_trie(
        [LinearPrompt((*ids[: context + option], one, *ids[context + option :])) for ids in prompts for one in range(6)]
    )


def test_branches_do_not_pay_for_each_other() -> None:
    trie = sweep(context=150, option=30, trigger=12)
    cut = blocks_of(trie)
    assert cut[0] == Block((0, 150), ((0, 150),))
    assert cut[0].is_chain
    assert [block.queries[1] - block.queries[0] for block in cut[1:]] == [30 + 6 * 13] * 5
    assert all(block.keys[0] == (0, 150) or block.keys[0][0] == 0 for block in cut[1:])
    pairs = sum(queries * keys for queries, keys in (block.shape for block in cut))
    assert pairs < 0.4 * trie.size**2


def test_a_small_trie_is_one_block() -> None:
    trie = sweep(context=10, option=3, trigger=2)
    assert blocks_of(trie) == [Block((0, trie.size), ((0, trie.size),))]


def test_short_branches_share_a_block() -> None:
    """Thirty kernel calls of a few queries each cost more than the pairs they save."""
    trie = sweep(context=600, option=1, trigger=1)
    assert len(blocks_of(trie)) <= 3
