"""Which options refer to other options: phrases of benchmarks, and what only looks like them."""

from __future__ import annotations

import pytest

from thinkgap.data.referring import referring

PLAIN = ("red", "green", "blue")


@pytest.mark.parametrize(
    "option",
    [
        "All of the above",
        "none of the above.",
        "ALL of the above",
        "All the above",
        "none of above.",
        "Both of the above",
        "Either of the above",
        "Neither of the above",
        "Any two of the above",
        "More than one of the above",
        "all of the above except B and C.",
        "All of the above are correct.",
        "None of the above answers",
        "None of the above can affect the value.",
        "None of these",
        "All of these options.",
        "None of these choices is correct.",
        "Both of these",
        "All of the options given are correct",
        "None of the options are correct.",
        "All of the others",
        "None of the other answers",
        "the first two",
        "Both of the first two options",
        "No answer is correct",
        "The correct answer is not given",
        '"None of the above"',
        "(all of the above)",
        "  All  of the\nabove ",
        "both A and B",
        "Both A & C",
        "A and B",
        "A, B and C",
        "A, B, and C",
        "(A) and (C)",
        "A and C only",
        "either B or C",
        "Neither A nor B",
        "A or B",
        "Options A and B",
        "Both A and B are true.",
        "A and B but not C",
        "none of A, B or C",
    ],
)
def test_it_refers(option: str) -> None:
    assert referring((*PLAIN, option)) == (3,)


@pytest.mark.parametrize(
    "option",
    [
        "I and II",
        "I, II and III only",
        "II only",
        "both I and II",
        "vitamins A and B",
        "Vitamin A and C",
        "A and B vitamins",
        "Country A and B have identical living standards.",
        "events A and B are independent",
        "statements A and B",
        "both a and b",
        "a or b",
        "Both",
        "Neither",
        "None of them",
        "None of these countries",
        "all of these theories are speculation",
        "All choices involve opportunity costs",
        "All of the information on the site is current.",
        "The area of the above triangle",
        "94% or above",
        "located above all of the others it will rise",
        "None of the predictor variables",
        "the first two amendments",
        "neither parallel nor perpendicular to the table",
        "both supply and demand",
        "A",
        "A only",
        "A, B",
        "A and T",
        "C and D",
        "E and F",
        "AB and C",
        "A + B",
        "C and C++",
        "An A or a B",
        "no other answer",
        "all others",
        "A and B and their product",
    ],
)
def test_it_stands_for_itself(option: str) -> None:
    assert referring((*PLAIN, option)) == ()


def test_letters_of_the_question_are_no_reference() -> None:
    """Where options are made of letters, these name points, statements or vitamins of the question."""
    assert referring(("A and B", "A and C", "B and C", "A, B and C")) == ()
    assert referring(("A", "B", "C", "Both A and B")) == ()
    assert referring(("B and C", "A and D", "both A and C", "neither")) == ()


def test_several_options_refer() -> None:
    assert referring(("red", "green", "Both A and B", "Neither A nor B")) == (2, 3)
    assert referring(("red", "A and C", "green", "All of the above")) == (3,)


def test_a_bare_list_refers_to_what_stands_before_it() -> None:
    assert referring(("A and B", "red", "green")) == (), "its own letter is in it"
    assert referring(("B and C", "red", "green")) == ()
    assert referring(("Both B and C", "red", "green")) == (0,)
    assert referring(("All of the above", "red")) == (0,)


def test_letters_beyond_the_options_are_something_else() -> None:
    assert referring(("red", "green", "blue", "grey", "both D and E")) == ()
    assert referring(("red", "green", "blue", "grey", "white", "both D and E")) == (5,)
    ten = tuple(f"number {number}" for number in range(9))
    assert referring((*ten, "I and II")) == (), "I is the ninth letter, II is none"
    assert referring((*ten, "H and I")) == (9,)


def test_nothing_to_refer() -> None:
    assert referring(()) == ()
    assert referring(("Yes", "No")) == ()
