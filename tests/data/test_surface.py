"""Perturbed items: the answer to each is read back as the content of the source; orders are uniform and stable."""

from __future__ import annotations

from collections import Counter

import pytest
from data_examples import make_item
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkgap.data.surface import bullets, shuffled
from thinkgap.data.variants import variants_of
from thinkgap.evaluation.asking import question_of
from thinkgap.presentation_names import BULLETS, LABEL_SETS
from thinkgap.responses.answered import read_answered
from thinkgap.schema import VariantsConfig
from thinkgap.types import Answered, Item, Presentation, Response, Thinking

NAMES = ("shuffle", "bullets", *LABEL_SETS)
TEXTS = st.text(
    st.sampled_from("ab1 -.,{}\\\\$%()iIvVA7\n") | st.characters(exclude_categories=("Cs", "Cc")),
    min_size=1,
    max_size=12,
).filter(lambda text: bool(text.strip()))


def shown_as(item: Item, name: str, seed: int = 0) -> Presentation | None:
    found = variants_of(item, VariantsConfig(surface=[name]), seed)
    assert len(found.shown) + len(found.missing) == 1
    return found.shown[0] if found.shown else None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(TEXTS, min_size=2, max_size=10, unique=True) | st.lists(TEXTS, min_size=2, max_size=3),
    st.sampled_from(NAMES),
    st.integers(0, 10**6),
    st.data(),
)
def test_a_boxed_label_is_read_back_as_the_content_of_the_source(
    choices: list[str], name: str, seed: int, data: st.DataObject
) -> None:
    content = data.draw(st.integers(0, len(choices) - 1))
    presentation = shown_as(make_item(choices=tuple(choices), gold=content), name, seed)
    if presentation is None:
        return
    slot = presentation.order.index(content)
    question = question_of("d", presentation)
    for said in (f"\\boxed{{{presentation.labels[slot]}}}", f"So:\n**\\boxed{{ {presentation.labels[slot]} }}**."):
        read = read_answered(Answered(question, "strict", Thinking.disabled, Response(said)))
        assert read.slot is not None, said
        assert question.contents[read.slot] == content
        assert read.answer == question.answer


@pytest.mark.parametrize("name", NAMES)
def test_plain_options_have_every_perturbation(name: str) -> None:
    for k in range(2, 10):
        item = make_item(choices=tuple(f"option {n}" for n in range(k)), gold=k - 1)
        presentation = shown_as(item, name)
        assert presentation is not None
        assert sorted(presentation.order) == list(range(k))
        assert presentation.contents[presentation.gold_slot] == f"option {k - 1}"


def test_shuffles_put_each_content_into_each_slot_equally_often() -> None:
    orders = [shuffled(make_item(id=f"i{n}", choices=tuple("wxyz")), 3) for n in range(2000)]
    counts = Counter((slot, c) for one in orders if not isinstance(one, str) for slot, c in enumerate(one.order))
    assert len(counts) == 16
    assert all(abs(n - 500) < 100 for n in counts.values()), "five standard deviations are 97"
    identities = sum(one.order == (0, 1, 2, 3) for one in orders if not isinstance(one, str))
    assert 40 < identities < 130


def test_without_identity_another_order_is_drawn_and_the_others_stay() -> None:
    for n in range(300):
        item = make_item(id=f"i{n}", choices=("x", "y", "z"))
        free, other = shuffled(item, 1), shuffled(item, 1, allow_identity=False)
        assert not isinstance(free, str)
        assert not isinstance(other, str)
        assert other.order != (0, 1, 2)
        assert free.order in ((0, 1, 2), other.order)
        assert shuffled(item, 1) == free


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        (("red", "red ", "blue"), "two of its options have the same text"),
        (("a  b", "a b"), "two of its options have the same text"),
        (("f(x", "open {"), "one of its options cannot be read back from a box"),
        (("<image 1>", "<image 2>"), "its options are images"),
        (("{}", "x"), "one of its options cannot be read back from a box"),
    ],
)
def test_options_that_cannot_be_bullets(choices: tuple[str, ...], reason: str) -> None:
    assert bullets(make_item(choices=choices, gold=0)) == reason


def test_why_an_item_lacks_a_perturbation() -> None:
    asked = VariantsConfig(surface=["shuffle", "bullets", "roman", "numeric"])
    many = make_item(choices=tuple(f"option {n}" for n in range(21)), gold=0)
    assert dict(variants_of(many, asked, 0).missing) == dict.fromkeys(
        ("roman", "numeric"), "it has more options than the set has labels"
    )
    for item in (
        make_item(answer_space="bool", choices=("Yes", "No"), gold=0),
        make_item(answer_space="open", choices=(), gold=None),
    ):
        assert dict(variants_of(item, asked, 0).missing) == dict.fromkeys(asked.surface, "it has no options")


def test_a_bullets_answer_is_its_text() -> None:
    presentation = bullets(make_item(choices=("red ", "red and blue"), gold=0))
    assert isinstance(presentation, Presentation)
    question = question_of("d", presentation)
    assert (question.answer, question.presentation, question.contents) == ("red", BULLETS, (0, 1))
