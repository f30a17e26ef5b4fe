"""The two levels against brute force: every way of dividing the prompts among stems."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.scoring.test_plan import IMAGE, pieces, texts, with_images
from thinkgap.scoring import levels
from thinkgap.scoring.levels import Levels, Stem, plan_levels
from thinkgap.scoring.plan import LinearPrompt, Span, Trie, build_trie

prompts_of = st.lists(
    st.one_of(texts.map(lambda ids: LinearPrompt(tuple(ids))), pieces.map(with_images)), min_size=1, max_size=5
)


def shared(trie: Trie, leaves: Sequence[int]) -> int:
    """The longest prefix that some prompts share, leave a token of, and that ends in no image."""
    paths = [trie.path(leaf) for leaf in leaves]
    length = min(map(len, paths)) - 1
    while length and (
        any(path[length - 1] != paths[0][length - 1] for path in paths)
        or any(image.start <= paths[0][length - 1] < image.start + image.length - 1 for image in trie.images)
    ):
        length -= 1
    return length


def partitions(values: Sequence[int]) -> Iterator[list[list[int]]]:
    if not values:
        yield []
        return
    for rest in partitions(values[1:]):
        yield [[values[0]], *rest]
        for number, block in enumerate(rest):
            yield [*rest[:number], [values[0], *block], *rest[number + 1 :]]


def distinct(trie: Trie) -> list[int]:
    return np.unique(trie.reads, return_index=True)[1].tolist()


def check(trie: Trie, plan: Levels) -> None:
    """Every distinct prompt once, from a prefix that it has; tokens and passes as counted here."""
    stems = [stem for group in plan.groups for stem in group]
    assert sorted(leaf for stem in stems for leaf in stem.leaves) == sorted(distinct(trie))
    assert all(len({stem.stop for stem in group}) == 1 for group in plan.groups)
    lengths = [len(trie.path(number)) for number in range(len(trie.reads))]
    for stem in stems:
        assert stem.stop >= plan.root
        kept = [trie.path(leaf)[: stem.stop].tolist() for leaf in stem.leaves]
        # Those that end with the root share no more than that.
        assert stem.stop == plan.root or all(one == kept[0] for one in kept)
        assert all(stem.stop < lengths[leaf] for leaf in stem.leaves)
    tokens = plan.root + sum(stem.stop - plan.root for stem in stems)
    tokens += sum(lengths[leaf] - stem.stop for stem in stems for leaf in stem.leaves)
    assert plan.tokens == tokens
    assert trie.size <= plan.tokens <= trie.n_linear
    assert plan.passes == bool(plan.root) + sum(1 + (group[0].stop > plan.root) for group in plan.groups)


@given(prompts_of)
@example([LinearPrompt(ids) for ids in ((0,), (0, 0, 1, 0), (0, 1), (0, 2), (0, 0, 1, 0, 0))])  # stems inside a stem
@settings(max_examples=300, deadline=None)
def test_no_division_into_stems_computes_fewer_tokens(prompts: list[LinearPrompt]) -> None:
    trie = build_trie(prompts)
    leaves = distinct(trie)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_LENGTH_WORTH", -1)
        plan = plan_levels(trie)
    check(trie, plan)
    root = shared(trie, leaves) if len(leaves) > 1 else 0
    assert plan.root == root
    lengths = {leaf: len(trie.path(leaf)) for leaf in leaves}

    def cost(block: list[int]) -> int:
        stop = max(shared(trie, block), root) if len(block) > 1 else root
        return stop - root + sum(lengths[leaf] - stop for leaf in block)

    assert plan.tokens == root + min(sum(map(cost, blocks)) for blocks in partitions(leaves))


def test_prompts_that_each_continue_another() -> None:
    plan = plan_levels(build_trie([LinearPrompt((7,) * n) for n in range(1, 1201)]))
    assert sorted(leaf for group in plan.groups for stem in group for leaf in stem.leaves) == list(range(1200))


@given(prompts_of)
@settings(deadline=None)
def test_shorter_stems_are_still_stems(prompts: list[LinearPrompt]) -> None:
    trie = build_trie(prompts)
    check(trie, plan_levels(trie))


def study(n_orders: int, n_conditions: int, unequal: int = 0) -> Trie:
    """A question, options in several orders, whose lengths differ by up to `unequal`, and conditions."""
    question = tuple(range(100, 150))
    prompts = []
    for order in range(n_orders):
        options = tuple(1000 + 100 * order + token for token in range(30 + order % (unequal + 1)))
        for condition in range(n_conditions):
            prompts.append(LinearPrompt((*question, *options, *range(2000 + 50 * condition, 2012 + 50 * condition))))
    return build_trie(prompts)


def test_orders_and_conditions_are_the_two_levels() -> None:
    trie = study(5, 6)
    plan = plan_levels(trie)
    assert plan.root == 50
    assert [[stem.stop for stem in group] for group in plan.groups] == [[80] * 5]
    assert plan.tokens == trie.size == 50 + 5 * 30 + 30 * 12
    assert plan.passes == 3


def test_orders_of_almost_equal_length_share_their_passes() -> None:
    trie = study(5, 6, unequal=1)
    plan = plan_levels(trie)
    assert [[stem.stop for stem in group] for group in plan.groups] == [[80] * 5]
    # Two orders have a token more, which their six conditions compute each.
    assert plan.tokens == trie.size + 2 * 5
    assert plan.passes == 3


def test_orders_of_unequal_length_have_passes_of_their_own() -> None:
    longer = build_trie(
        [LinearPrompt((*range(50), *range(s, s + n), 1, 2 * c, 7)) for s, n in ((100, 10), (200, 40)) for c in range(6)]
    )
    plan = plan_levels(longer)
    assert [[stem.stop for stem in group] for group in plan.groups] == [[61], [91]]
    assert plan.tokens == longer.size
    assert plan.passes == 5


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (((1, 2, 3),), Levels(0, ((Stem(0, (0,)),),), 3)),
        (((1, 2, 3), (1, 2, 3)), Levels(0, ((Stem(0, (0,)),),), 3)),
        (((1, 2, 3), (4, 5)), Levels(0, ((Stem(0, (0, 1)),),), 5)),
        # The shorter prompt computes its last token again.
        (((1, 2, 3), (1, 2)), Levels(1, ((Stem(1, (0, 1)),),), 4)),
        (((1,), (1, 2)), Levels(0, ((Stem(0, (0, 1)),),), 3)),
    ],
)
def test_nothing_to_share(ids: Sequence[Sequence[int]], expected: Levels) -> None:
    assert plan_levels(build_trie([LinearPrompt(one) for one in ids])) == expected


def test_a_prefix_never_ends_inside_an_image() -> None:
    """A prompt that ends with its image leaves no last token to compute again but the image's."""
    image = (Span(1, 3, "x"),)
    trie = build_trie([LinearPrompt((5, *[IMAGE] * 3), image), LinearPrompt((5, *[IMAGE] * 3, 6, 7), image)])
    assert plan_levels(trie).root == 1


def test_thirty_prompts_are_planned_in_milliseconds() -> None:
    trie = study(5, 6)
    seconds = []
    for _ in range(20):
        before = time.perf_counter()
        plan_levels(trie)
        seconds.append(time.perf_counter() - before)
    assert min(seconds) < 0.01, f"{min(seconds) * 1e3:.1f} ms"
