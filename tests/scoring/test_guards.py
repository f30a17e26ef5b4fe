"""Details of scoring that the equivalence tests by themselves would not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.scoring.prompts import groups
from tests.scoring.test_trie_attention import CPU, expected, visible
from thinkgap.backends.attention import Attention
from thinkgap.schema import Scoring
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.plan import LinearPrompt, Span, build_trie
from thinkgap.scoring.trie_attention import layout_of


@pytest.mark.parametrize("kinds", [("full_attention",), ("full_attention", "sliding_attention")])
def test_an_image_in_a_chain_shorter_than_the_window_is_seen_both_ways(kinds: tuple[str, ...]) -> None:
    """A released Gemma 3 has a window longer than an image, unlike the tiny one."""
    attention = Attention(kinds, window=1024, image_blocks=True)
    ids = (1, 2, *[9] * 4, 3, 4)
    trie = build_trie([LinearPrompt(ids, (Span(2, 4, "picture"),)), LinearPrompt((*ids, 5), (Span(2, 4, "picture"),))])
    layout = layout_of([trie], attention, torch.float32, CPU, "sdpa")
    for kind in kinds:
        assert (visible(layout, trie.size, kind) == expected(trie, attention, kind)).all()


@pytest.mark.parametrize("method", [Scoring.packed, Scoring.branched])
@pytest.mark.parametrize("family", ["llama", "qwen25vl"])
def test_an_error_inside_a_pass_leaves_the_model_as_it_was(
    method: Scoring, family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Would notice: `trie_attention` without `finally`."""
    backend = tiny_backend(family)
    made = groups(backend, picture, orders=1)[-1:]
    before = backend.model.config.get_text_config()._attn_implementation
    engine = Engine.of(backend, method, lens=True)
    fresh = Engine.of(backend, Scoring.plain).score(made)

    def failing(*arguments: Any) -> None:
        raise KeyError("in the middle")

    hook = backend.structure.layers[1].register_forward_hook(failing)
    try:
        with pytest.raises(KeyError, match="in the middle"):
            engine.score(made)
    finally:
        hook.remove()
        left = backend.model.config.get_text_config()._attn_implementation
        backend.model.config.get_text_config()._attn_implementation = before
    assert left == before
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in backend.structure.layers)
    again = Engine.of(backend, Scoring.plain).score(made)
    assert [one.reading for one in again[0]] == [one.reading for one in fresh[0]]
