"""The trie against naive definitions: sets of prefixes, and ancestors found by walking to the root."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkgap.scoring.plan import LinearPrompt, Span, Trie, build_trie

IMAGE = 9
# Few tokens and short prompts, so that prefixes are shared, repeated and nested often.
texts = st.lists(st.integers(0, 2), min_size=1, max_size=8)
# An image by its number: image n has n + 1 tokens, so contents differ in length too.
pieces = st.lists(st.one_of(st.integers(0, 1), st.sampled_from(["x", "yy", "zz"])), min_size=1, max_size=6)


def with_images(parts: list[int | str]) -> LinearPrompt:
    ids: list[int] = []
    spans = []
    for part in parts:
        if isinstance(part, str):
            spans.append(Span(len(ids), len(part), part))
            ids += [IMAGE] * len(part)
        else:
            ids.append(part)
    return LinearPrompt(tuple(ids), tuple(spans))


def meanings(prompt: LinearPrompt) -> list[tuple[object, ...]]:
    """What each token stands for; equal prefixes of these, and only these, may be merged."""
    found: list[tuple[object, ...]] = [(token,) for token in prompt.ids]
    for ordinal, span in enumerate(prompt.spans):
        for offset in range(span.length):
            found[span.start + offset] = (span.content, ordinal, offset)
    return found


def naive_ancestors(trie: Trie) -> np.ndarray:
    mask = np.zeros((trie.size, trie.size), bool)
    for node in range(trie.size):
        at = node
        while at >= 0:
            mask[node, at] = True
            at = int(trie.parents[at])
    return mask


@given(st.lists(st.one_of(texts.map(lambda ids: LinearPrompt(tuple(ids))), pieces.map(with_images)), min_size=1))
@settings(max_examples=300, deadline=None)
def test_every_prompt_is_recovered_and_every_prefix_is_one_node(prompts: list[LinearPrompt]) -> None:
    trie = build_trie(prompts)
    prefixes = {tuple(meanings(prompt)[:end]) for prompt in prompts for end in range(1, len(prompt.ids) + 1)}
    assert trie.size == len(prefixes)
    assert trie.n_linear == sum(len(prompt.ids) for prompt in prompts)
    for number, prompt in enumerate(prompts):
        path = trie.path(number)
        assert tuple(trie.tokens[path]) == tuple(prompt.ids)
        assert list(trie.depths[path]) == list(range(len(prompt.ids)))
        assert (trie.positions[:, path] == np.arange(len(prompt.ids))).all()
        for ordinal, span in enumerate(prompt.spans):
            (block,) = set(trie.blocks[path[span.start : span.start + span.length]])
            shown = trie.images[block]
            assert shown.ordinal == ordinal
            assert prompts[shown.prompt].spans[shown.ordinal].content == span.content
            assert (shown.start, shown.length) == (path[span.start], span.length)
    nodes = np.arange(trie.size)
    assert (((nodes <= nodes[:, None]) & (nodes[:, None] < trie.ends)) == naive_ancestors(trie)).all()
    assert (trie.parents < np.arange(trie.size)).all()
    assert [image.start for image in trie.images] == sorted(image.start for image in trie.images)
    assert int((trie.blocks >= 0).sum()) == sum(image.length for image in trie.images)


@given(st.lists(texts, min_size=1, max_size=6), st.integers(0, 5))
@settings(deadline=None)
def test_positions_are_those_of_the_linear_prompts(token_lists: list[list[int]], offset: int) -> None:
    def positions(ids: list[int]) -> np.ndarray:
        # Any function of the prefix will do.
        return np.stack([np.cumsum(ids), np.cumsum(ids) * 2 + offset, np.arange(len(ids))])

    trie = build_trie([LinearPrompt(ids, (), positions(ids)) for ids in token_lists])
    assert trie.positions.shape == (3, trie.size)
    for number, ids in enumerate(token_lists):
        assert (trie.positions[:, trie.path(number)] == positions(ids)).all()


def test_disagreeing_positions_are_refused() -> None:
    prompts = [LinearPrompt((1, 2, 3)), LinearPrompt((1, 2, 4), (), np.array([[0, 7, 8]]))]
    with pytest.raises(ValueError, match="other positions than an earlier one on 2 shared tokens"):
        build_trie(prompts)


def test_a_prompt_that_is_a_prefix_of_another_and_equal_prompts() -> None:
    trie = build_trie([LinearPrompt((1, 2, 3)), LinearPrompt((1, 2)), LinearPrompt((1, 2, 3)), LinearPrompt((1, 2, 4))])
    assert trie.size == 4
    assert trie.reads[0] == trie.reads[2]
    assert trie.ends[trie.reads[1]] == 4, "the shorter prompt's read node is inner"


def test_the_same_tokens_of_another_image_are_another_branch() -> None:
    """Image tokens have one id whatever they show."""
    one, same, other = (LinearPrompt((1, IMAGE, IMAGE, 2), (Span(1, 2, name),)) for name in ("x", "x", "y"))
    trie = build_trie([one, same, other])
    assert trie.size == 1 + 2 * 3
    assert len(trie.images) == 2


@pytest.mark.parametrize("prompts", [[], [LinearPrompt(())], [LinearPrompt((1,)), LinearPrompt(())]])
def test_nothing_to_plan(prompts: list[LinearPrompt]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        build_trie(prompts)


def test_what_thirty_prompts_share_is_there_once() -> None:
    rng = np.random.default_rng(0)
    context = rng.integers(0, 5000, 150)
    options = [rng.integers(0, 5000, 30) for _ in range(5)]
    triggers = [rng.integers(5000, 9000, 12) for _ in range(6)]
    prompts = [
        LinearPrompt(tuple(map(int, np.concatenate([context, option, trigger]))))
        for option in options
        for trigger in triggers
    ]
    trie = build_trie(prompts)
    assert 0 <= 150 + 5 * 30 + 30 * 12 - trie.size <= 10, "but for first tokens that happen to be equal"
    assert trie.n_linear == 30 * 192
