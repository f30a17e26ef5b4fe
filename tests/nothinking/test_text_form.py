"""Open answers to rewritten multiple-choice items: the same text, or the same number, and never algebra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nothinking.examples import answered
from thinkgap.nothinking.analyse import analyse, analyse_all, open_pairs
from thinkgap.nothinking.correct import is_correct
from thinkgap.nothinking.text_form import same_text
from thinkgap.types import Answered, Question


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("Mitosis", "mitosis."),
        ("The  mitochondrion", "mitochondrion"),
        ("an equal share", "Equal share"),
        ("the end of the war", "The End of War"),
        ("Yes, because it is hot", "yes because it is hot"),
        ("double-blind", "double blind"),
        ("Hobson's choice", "Hobson’s choice"),
        ("Dun & Bradstreet, Inc.", "dun & bradstreet inc"),
        ("'Aurignacian'", r"\text{Aurignacian}"),
        ("1,000 people", "1000 people"),
        ("12", "12.0"),
        ("1/2", r"\frac{1}{2}"),
        ("50%", "0.5"),
        ("5 cm", "5"),
        ("STRASSE", "Straße"),
        ("the", "The"),
        ("?", "?"),
    ],
)
def test_the_same(gold: str, answer: str) -> None:
    assert same_text(gold, answer)
    assert same_text(answer, gold)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("AB", "BA"),
        ("x^2", "x2"),
        ("2x", "x2"),
        ("a + b", "b + a"),
        ("C++", "C"),
        ("positive -5", "positive 5"),
        ("vitamin A", "vitamin"),
        ("vitamin A", "vitamin K"),
        ("5 cm", "5 m"),
        ("1.5 to 2", "15 to 2"),
        ("1, 2", "12"),
        ("12", "twelve"),
        ("50%", "50"),
        ("?", "!"),
        ("mitosis", "It is mitosis"),
        ("mitosis", "meiosis"),
        ("mitosis", ""),
        ("twelve", "12"),
    ],
)
def test_not_the_same(gold: str, answer: str) -> None:
    assert not same_text(gold, answer)
    assert not same_text(answer, gold)


@given(st.text(max_size=40))
def test_a_text_is_itself(text: str) -> None:
    assert same_text(text, text)


def opened(gold: str, presentation: str) -> Question:
    return replace(answered(space="open", gold=gold).question, presentation=presentation)


def never(gold: str, answer: str) -> bool | None:
    pytest.fail(f"compared {gold!r} with {answer!r} by algebra")


@pytest.mark.parametrize(
    ("presentation", "gold", "answer", "correct"),
    [
        ("open_text", "ab", "ba", False),
        ("open_text", "Mitosis", "mitosis", True),
        ("open_text", "2", "1 + 1", False),
        ("open_text", "2", None, False),
        ("open_numeric", "1/2", "50%", True),
        ("open_numeric", "1,250", r"\$1250.00", True),
        ("open_numeric", "8", "8%", False),
        ("open_numeric", "0.33", "1/3", False),
        ("open_numeric", "2", "1 + 1", False),
        ("open_numeric", "2", "two", False),
        ("open_numeric", "2", None, False),
    ],
)
def test_rewrites_have_rules_of_their_own(presentation: str, gold: str, answer: str | None, correct: bool) -> None:
    question = opened(gold, presentation)
    assert is_correct(question, answer, never) is correct
    assert is_correct(question, answer) is correct, "and take no comparison from the caller"


def test_questions_that_are_open_from_the_start_are_compared_by_the_caller() -> None:
    question = opened("ab", "identity")
    assert is_correct(question, "ba", lambda gold, answer: True) is True
    assert is_correct(question, "ba") is None
    assert is_correct(opened("x", "open_numeric"), "x", lambda gold, answer: True) is True, "no number to compare with"


def test_many_rewrites_are_judged_without_a_comparison() -> None:
    def shown(content: str, gold: str, presentation: str) -> Answered:
        one = answered(content, "open", gold=gold)
        return replace(one, question=replace(one.question, presentation=presentation))

    def decide(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        assert pairs == [("72", "72")]
        return [True]

    rows = [
        shown(r"\boxed{ab}", "ba", "open_text"),
        shown(r"\boxed{the cell}", "Cell", "open_text"),
        shown(r"\boxed{0.50}", "1/2", "open_numeric"),
        shown("I cannot say.", "1/2", "open_numeric"),
        shown(r"\boxed{72}", "72", "identity"),
    ]
    read = [row.reading for row in analyse_all(rows, decide=decide)]
    assert [one.correct for one in read] == [False, True, True, False, True]
    assert not any(one.undecided for one in read)
    assert open_pairs(rows[0], analyse(rows[0]).reading) == []
