"""Open questions made of multiple-choice items: what is a number, which questions need their options, what is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.items import mcq
from thinkgap.data.open_form import is_plain_number, open_numeric, open_text
from thinkgap.data.option_dependence import PATTERNS, Pattern, needs_options, without_tail
from thinkgap.evaluation.asking import question_of
from thinkgap.responses.rational import rational
from thinkgap.types import Presentation

NO_NUMBER = "its right option is no plain number"


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "-3",
        "+3",
        "−4",
        "1,000",
        "12,345,678",
        "1,000.5",
        ".5",
        "-.5",
        "0.50",
        "7/2",
        "-7/2",
        "50%",
        "12.5%",
        "-0",
    ],
)
def test_plain_numbers(text: str) -> None:
    assert is_plain_number(text)
    assert is_plain_number(f" {text}\n")
    assert rational(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "-",
            "%",
            ".",
            "twelve",
            "3 cm",
            "3cm",
            "$5",
            "5 dollars",
            "2-3",
            "2–3",
            "2 or 3",
            "1e3",
            "6 × 10^2",
            "1,2",
        ),
        *(
            "1,00,000",
            "1 1/2",
            "1/0",
            "1/2/3",
            "½",
            r"\frac{1}{2}",
            "$9$",
            "x = 5",
            "5.",
            "1 000",
            "50 %",
            "12 million",
        ),
        *("5!", "90°", "II", "A", "1;2", "--5", "٣", "10_8"),
    ],
)
def test_other_texts_are_no_plain_numbers(text: str) -> None:
    assert not is_plain_number(text)
    assert open_numeric(mcq(question="How much?", choices=(text or " ", "z"), gold=0)) == NO_NUMBER


def test_only_the_right_option_has_to_be_a_number() -> None:
    assert isinstance(open_numeric(mcq(question="How much?", choices=("5", "none"), gold=0)), Presentation)
    assert open_numeric(mcq(question="How much?", choices=("5", "none"), gold=1)) == NO_NUMBER


def test_an_opened_item_keeps_what_it_is_and_loses_its_options() -> None:
    item = mcq(
        "i", group_id="g", question="How many ____ are there?", choices=("7", "8"), gold=1, subject="s", context="c"
    )
    for opened, name in ((open_numeric(item), "open_numeric"), (open_text(item), "open_text")):
        assert isinstance(opened, Presentation)
        own = opened.item
        assert (own.id, own.group_id, own.subject, own.context, own.answer_space) == ("i", "g", "s", "c", "open")
        assert (own.question, own.answer, own.choices, own.gold) == ("How many ____ are there?", "8", (), None)
        asked = question_of("d", opened)
        assert (asked.presentation, asked.answer, asked.labels, asked.contents) == (name, "8", (), ())
        assert asked.problem == "Context: c\nQuestion: How many ____ are there?"


def test_reasons() -> None:
    depends = "its question depends on the options (which_of_following)"
    assert open_text(mcq(question="Which of the following is a cat?")) == depends
    assert open_numeric(mcq(question="Which of the following is prime?", choices=("2", "4"), gold=0)) == depends
    assert open_text(mcq(question="Q?", choices=("a", "b", "All of the above"), gold=2)) == (
        "its right option refers to other options"
    )
    assert open_text(mcq(question="Q?", choices=("<image 1>", "<image 2>"))) == "its options are images"
    assert open_text(mcq(choices=("Yes", "No"), answer_space="bool")) == "it has no options"
    assert open_text(mcq(choices=(), gold=None, answer_space="open")) == "it has no options"


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_each_pattern_takes_its_example_and_no_pattern_takes_the_other(pattern: Pattern) -> None:
    assert pattern.words.search(pattern.dropped)
    assert needs_options(pattern.dropped)
    assert not needs_options(pattern.kept)
    others = [one for one in PATTERNS if one is not pattern and one.words.search(pattern.dropped)]
    assert not others, "each example shows what its own pattern is for"


def test_the_page_has_every_pattern() -> None:
    page = (ROOT / "docs" / "answer_spaces.md").read_text(encoding="utf-8")
    cells = [[text.replace("|", "\\|") for text in (one.dropped, one.kept)] for one in PATTERNS]
    rows = [f"| `{one.name}` | {dropped} | {kept} |" for one, (dropped, kept) in zip(PATTERNS, cells, strict=True)]
    assert [row for row in rows if row not in page.splitlines()] == []


def test_patterns_have_names_of_their_own() -> None:
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS) == 18


@pytest.mark.parametrize(
    "question",
    [
        "Which one of the following is a metal?",
        "An affidavit with which of the following facts helps?",
        "WHICH OF THE\nFOLLOWING IS A METAL",
        "Which of the given formulas is best?",
        "Who amongst the following said so",
        "Call n powerful if it has a square factor. An example of a powerful number is",
        "Which component out of the following ones is not part of it?",
        "Which pair of religions below share a custom?",
        "In which set do all of the values solve x < 3?",
        "Which expression represents the phrase: 3 fewer than p",
        "Of the following ions, which has the smallest radius?",
        "In which of these scenarios is it wrong?",
        "Which option should the company choose?",
        "Two numbers are prime. In which number is the digit 6 worth most?",
        "Cells contain all of the following EXCEPT the",
        "City-states were NOT:",
        "A substance that is NOT generally toxic is",
        "Choose the best answer.",
        "From what you know, choose the correct answer.",
        "Pick the FALSE statement from the following list:",
        "Scenario 1 | I left. Scenario 2 | I stayed.",
    ],
)
def test_dropped(question: str) -> None:
    assert needs_options(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the mode of the following set of scores? 70, 70, 80",
        "What will be returned by the following call? max(1, 2)",
        "Find the number that makes the statement true: 0.32 g = _ cg.",
        "A cube is painted except for one face. How many faces are painted?",
        "In how many ways can we choose 4 balls, if at least 2 are red?",
        "What output will the profit-maximising firm choose?",
        "Find the value of y for which the solution is finite.",
        "A computer using RGB, which stores values for red, needs how many bits?",
        "What is the price of the put option?",
        "How many of these are red?",
        "What is the protester's best option for challenging the judgment?",
        "What is the force which results from the above reaction?",
        "Name the events which set the stage for the war.",
        "A programme, which lists the values that are set, prints how many?",
        "Which term describes a cell that eats others?",
        "In which state does a gas fill its vessel?",
        "The web was invented in which year?",
        "An agonist is ___________.",
        "Round your answer to the nearest tenth. What is 2/3?",
        "Is this correct? Answer 1 for yes and 0 for no.",
    ],
)
def test_kept(question: str) -> None:
    assert needs_options(question) == ""


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("How many grams? Choose one answer from the following:", "How many grams?"),
        ("How many grams?\n(Select one option.)", "How many grams?"),
        ("How many grams? Pick only one.", "How many grams?"),
        ("How many grams? Please choose one correct answer from the options below.", "How many grams?"),
    ],
)
def test_a_last_sentence_that_asks_to_choose_is_cut(question: str, left: str) -> None:
    assert without_tail(question) == left
    opened = open_numeric(mcq(question=question, choices=("5", "6"), gold=0))
    assert isinstance(opened, Presentation)
    assert opened.item.question == left


@pytest.mark.parametrize(
    "question",
    [
        "Choose one answer from the following:",
        "A ball is drawn. Choose one of the ten numbers at random. What is its mean?",
        "In how many ways can you choose one?",
        "What is it? Choose the best answer.",
        "What is 2 + 2?  ",
    ],
)
def test_anything_else_stays(question: str) -> None:
    assert without_tail(question) == question


@given(
    question=st.text(max_size=200),
    choices=st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=20),
    data=st.data(),
)
def test_any_item_is_opened_or_has_a_reason(question: str, choices: list[str], data: st.DataObject) -> None:
    gold = data.draw(st.integers(0, len(choices) - 1))
    item = mcq(question=question, choices=tuple(choices), gold=gold)
    text, number = open_text(item), open_numeric(item)
    assert isinstance(text, str) <= isinstance(number, str), "what is an open number is an open text"
    if isinstance(text, Presentation):
        assert question_of("d", text).answer == choices[gold]
    if isinstance(number, Presentation):
        assert rational(choices[gold]) is not None


@given(st.text())
def test_cutting_only_takes_from_the_end(question: str) -> None:
    left = without_tail(question)
    assert question.startswith(left)
