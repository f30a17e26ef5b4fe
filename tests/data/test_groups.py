"""Groups: chains of shared keys, and names that depend on content only."""

from __future__ import annotations

import random

from data_examples import image_stub
from hypothesis import given
from hypothesis import strategies as st

from thinkgap.data.adapter import image_keys, question_key, text_key
from thinkgap.data.groups import group_ids

_KEYS = st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=3), max_size=12)


def test_a_chain_of_keys_is_one_group() -> None:
    first, second, third, alone = group_ids([["a", "b"], ["b", "c"], ["c"], ["d"]])
    assert first == second == third != alone


@given(_KEYS, st.randoms(use_true_random=False))
def test_names_do_not_depend_on_order(keys: list[list[str]], rng: random.Random) -> None:
    places = list(range(len(keys)))
    rng.shuffle(places)
    shuffled = group_ids([rng.sample(keys[place], len(keys[place])) for place in places])
    assert [group_ids(keys)[place] for place in places] == shuffled


@given(_KEYS)
def test_groups_are_the_connected_components(keys: list[list[str]]) -> None:
    names = group_ids(keys)
    component = list(range(len(keys)))
    for _ in keys:  # spread the smallest number over shared keys until nothing changes
        component = [
            min(component[other] for other, theirs in enumerate(keys) if other == index or set(own) & set(theirs))
            for index, own in enumerate(keys)
        ]
    for index in range(len(keys)):
        for other in range(len(keys)):
            assert (names[index] == names[other]) == (component[index] == component[other])


def test_keys_ignore_whitespace_and_the_order_of_options() -> None:
    assert question_key("a  b", ("x", "y")) == question_key("a\nb", ("y ", "x"))
    assert question_key("a", ("x",), "hint") != question_key("a", ("x",))
    assert text_key("passage", "a") != text_key("question", "a")
    assert text_key("question", "a b", "c") != text_key("question", "a", "b c")
    assert image_keys((image_stub("s"),)) == ("image:s",)
