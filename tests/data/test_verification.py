"""Boolean verification: the two proposals of an item, which negatives may be drawn, and which items have none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.items import mcq
from thinkgap.data.verification import PROPOSED, same_value, verification
from thinkgap.evaluation.asking import question_of
from thinkgap.schema import Negative
from thinkgap.types import Item, Presentation


def proposals(
    item: Item, negative: Negative = Negative.random, seed: int = 0, ranking: tuple[int, ...] = ()
) -> list[Presentation]:
    found = verification(item, negative, seed, ranking)
    assert not isinstance(found, str), found
    return found


def proposed(item: Item, negative: Negative = Negative.random, seed: int = 0, ranking: tuple[int, ...] = ()) -> int:
    """Content that the negative proposes."""
    return int(proposals(item, negative, seed, ranking)[1].item.meta[PROPOSED])


def reason(*choices: str, gold: int = 0, negative: Negative = Negative.random, **fields: Any) -> str:
    found = verification(mcq(choices=choices, gold=gold, **fields), negative, 0)
    assert isinstance(found, str)
    return found


def test_both_proposals_word_for_word() -> None:
    item = mcq("i", group_id="g", question="How many?", choices=("two", "three"), gold=1, meta={"area": "sums"})
    positive, negative = proposals(item)
    assert positive.item.question == (
        "How many?\nProposed answer: three\nIs the proposed answer correct? Answer yes or no."
    )
    assert negative.item.question == (
        "How many?\nProposed answer: two\nIs the proposed answer correct? Answer yes or no."
    )
    assert [one.name for one in (positive, negative)] == ["verification_positive", "verification_negative"]
    for one, gold in ((positive, 0), (negative, 1)):
        assert (one.item.id, one.item.group_id, one.item.answer_space) == ("i", "g", "bool")
        assert (one.item.choices, one.item.gold, one.labels) == (("Yes", "No"), gold, ("Yes", "No"))
        assert one.item.meta["area"] == "sums"


def test_what_tables_get_of_a_proposal() -> None:
    """Accuracy on positives and negatives needs the polarity and the proposed content of every row (defect 7)."""
    positive, negative = (question_of("d", one) for one in proposals(mcq(choices=("two", "three", "four"), gold=2)))
    assert (positive.presentation, positive.answer, positive.contents) == ("verification_positive", "yes", (2,))
    assert (negative.presentation, negative.answer) == ("verification_negative", "no")
    assert negative.contents in ((0,), (1,))
    assert negative.problem.startswith("Question: Which number is the largest?\nProposed answer: t")
    assert "Options" not in negative.problem


def test_a_drawn_negative_depends_on_seed_and_texts_alone() -> None:
    item = mcq(choices=("one", "two", "three", "four", "five"), gold=1)
    drawn = proposed(item)
    assert {proposed(replace(item, id=f"row {n}")) for n in range(20)} == {drawn}, "another place in the file"
    turned = replace(item, choices=item.choices[::-1], gold=3)
    assert turned.choices[proposed(turned)] == item.choices[drawn], "another order of the options"
    assert len({proposed(item, seed=seed) for seed in range(30)}) == 4, "every wrong option is drawn by some seed"


def test_drawn_negatives_do_not_prefer_a_slot() -> None:
    items = [mcq(question=f"What is {n}?", choices=("a", "b", "c", "d"), gold=0) for n in range(600)]
    counts = Counter(proposed(item) for item in items)
    assert set(counts) == {1, 2, 3}
    assert min(counts.values()) > 150  # 200 expected, SD 11.5


def test_first_is_the_first_wrong_option_that_can_be_proposed() -> None:
    assert proposed(mcq(choices=("a", "b", "c"), gold=0), Negative.first) == 1
    assert proposed(mcq(choices=("a", "b", "c"), gold=2), Negative.first) == 0
    assert proposed(mcq(choices=("1/2", "0.5", "2"), gold=0), Negative.first) == 2


def test_hardest_is_the_likeliest_wrong_option_that_can_be_proposed() -> None:
    item = mcq(choices=("0.5", "1/2", "2", "3"), gold=0)
    assert proposed(item, Negative.hardest, ranking=(1, 3, 0, 2)) == 3, "1/2 is right as well"
    assert proposed(item, Negative.hardest, ranking=(0, 2, 3, 1)) == 2
    assert verification(item, Negative.hardest, 0) == "the earlier run has no reading of it"
    assert verification(item, Negative.hardest, 0, (1, 0)) == "the earlier run shows it with another number of options"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/2", "0.5"),
        ("50%", "1/2"),
        (r"\frac{1}{2}", "0.5"),
        ("1,000", "1000"),
        ("1e3", "1000"),
        ("−4", "-4"),
        ("0", "-0"),
        ("5 million", "5,000,000"),
        ("3 cm", "3cm"),
        ("Mitosis", " mitosis."),
        ("(a,  b)", "(a, b)"),
    ],
)
def test_equal_values_are_no_negatives(one: str, other: str) -> None:
    assert same_value(one, other)
    assert same_value(other, one)
    assert reason(one, other) == "no wrong option stands for itself and differs from the right one"
    assert proposed(mcq(choices=(one, other, "else"), gold=0)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 cm", "5 m"), ("x = 5", "y = 5"), ("50%", "50"), ("12", "twelve"), ("1", "-1"), ("C", "C++"), ("2", "2-3")],
)
def test_other_values_are_negatives(one: str, other: str) -> None:
    assert not same_value(one, other)
    assert proposed(mcq(choices=(one, other), gold=0)) == 1


def test_items_without_proposals_say_why() -> None:
    refers = "its right option refers to other options"
    assert reason("a", "b", "All of the above", gold=2) == refers
    assert reason("a", "b", "Both A and B", gold=2) == refers
    assert reason("a", "None of the above") == "no wrong option stands for itself and differs from the right one"
    assert reason("same", "same", "SAME") == "no wrong option stands for itself and differs from the right one"
    assert reason("<image 1>", "<image 2>") == "its options are images"
    assert reason("Yes", "No", answer_space="bool") == "it has no options"
    assert verification(mcq(choices=(), gold=None, answer_space="open"), Negative.random, 0) == "it has no options"


def test_references_are_not_proposed() -> None:
    item = mcq(choices=("a", "All of the above", "b", "None of the above"), gold=0)
    assert {proposed(item, seed=seed) for seed in range(20)} == {2}
    assert proposed(item, Negative.first) == 2


def test_equal_wrong_options_do_not_raise_their_chance() -> None:
    item = mcq(choices=("right", "x", "x", "x", "y"), gold=0)
    drawn = Counter(item.choices[proposed(item, seed=seed)] for seed in range(200))
    assert drawn["y"] > 70


TEXTS = st.one_of(
    st.text(min_size=1, max_size=20), st.sampled_from(["1/2", "0.5", "50%", "A and B", "All of these", "x"])
)


@given(
    choices=st.lists(TEXTS, min_size=2, max_size=20),
    question=st.text(max_size=60),
    data=st.data(),
    negative=st.sampled_from(Negative),
    seed=st.integers(),
)
def test_any_options_give_two_proposals_or_a_reason(
    choices: list[str], question: str, data: st.DataObject, negative: Negative, seed: int
) -> None:
    gold = data.draw(st.integers(0, len(choices) - 1))
    ranking = data.draw(st.permutations(range(len(choices))))
    item = mcq(question=question, choices=tuple(choices), gold=gold)
    found = verification(item, negative, seed, ranking)
    if isinstance(found, str):
        assert found
        return
    contents = []
    for one in found:
        asked = question_of("d", one)
        (content,) = asked.contents
        assert f"\nProposed answer: {choices[content]}\n" in one.item.question
        assert (asked.answer == "yes") == (content == gold)
        contents.append(content)
    assert contents[0] == gold
    assert not same_value(choices[contents[1]], choices[gold])
