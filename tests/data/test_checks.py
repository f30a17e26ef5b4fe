"""Shared checks, apart from what the adapters' own tests already exercise."""

from __future__ import annotations

from typing import Any

import pytest
from data_examples import image_stub, make_item
from hypothesis import given
from hypothesis import strategies as st

from thinkgap.data.checks import (
    check_item,
    letter_index,
    normalise,
    repeated_options,
    replace_controls,
    without_controls,
)
from thinkgap.errors import RowError


def test_a_sound_item_passes() -> None:
    check_item(make_item(), placeholders=False)
    check_item(make_item(question="<image 1>", images=(image_stub("a"),)), placeholders=True)
    check_item(make_item(answer_space="open", choices=(), gold=None, answer="4"), placeholders=False)
    check_item(make_item(answer_space="bool", choices=("Yes", "No"), gold=0), placeholders=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"question": " \n"},
        {"gold": None},
        {"gold": 3},
        {"gold": -1},
        {"choices": ("red",), "gold": 0},
        {"answer_space": "bool"},
        {"answer_space": "bool", "choices": ("No", "Yes"), "gold": 0},
        {"answer_space": "open", "answer": "x"},
        {"answer_space": "open", "choices": (), "gold": None, "answer": ""},
        {"answer_space": "open", "choices": (), "gold": 0, "answer": "x"},
    ],
)
def test_unsound_items(fields: dict[str, Any]) -> None:
    with pytest.raises(RowError):
        check_item(make_item(**fields), placeholders=False)


@pytest.mark.parametrize("field", ["question", "context"])
def test_placeholders_name_an_image_of_the_item(field: str) -> None:
    two = {"images": (image_stub("a"), image_stub("b"))}
    check_item(make_item(**{field: "<image 1> and <image 2>"}, **two), placeholders=True)
    with pytest.raises(RowError, match="refers to <image 3>, and it has 2"):
        check_item(make_item(**{field: "<image 3>"}, **two), placeholders=True)
    with pytest.raises(RowError, match="literally"):
        check_item(make_item(**{field: "<image 1>"}, **two), placeholders=False)
    check_item(make_item(**{field: "<image 3>"}), placeholders=False)


def test_letter_index() -> None:
    assert [letter_index(letter, 26) for letter in "AZ"] == [0, 25]
    for letter in ("", "a", "AB", "1", "Ä", " "):
        with pytest.raises(RowError):
            letter_index(letter, 26)
    with pytest.raises(RowError, match="answer C is out of range: the row has 2 options"):
        letter_index("C", 2)


def test_control_characters() -> None:
    assert replace_controls("\x08eta \x07 b\x00c \x0crac \x0b5\x7f") == r"\beta   b c \frac  5 "
    assert replace_controls("tab\tline\nend\r\n é “ \x85") == "tab\tline\nend\r\n é “ \x85"
    clean = make_item()
    assert without_controls(clean) is clean
    dirty = without_controls(make_item(choices=("a\x01", "b", "c"), context="\x02", answer="b\x03"))
    assert (dirty.choices, dirty.context, dirty.answer) == (("a ", "b", "c"), " ", "b ")


@given(st.text())
def test_cleaning_is_idempotent(text: str) -> None:
    assert replace_controls(replace_controls(text)) == replace_controls(text)
    assert normalise(normalise(text)) == normalise(text)


def test_repeated_options_are_found_whatever_their_white_space() -> None:
    assert repeated_options(make_item(choices=("red", "blue", "red\t"))) == "options A and C are the same: 'red'"
    assert repeated_options(make_item()) == ""


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(RowError, match="its text holds a lone surrogate"):
        check_item(make_item(question="lone \ud800 x"), placeholders=False)
    with pytest.raises(RowError, match="lone surrogate"):
        check_item(make_item(choices=("a", "b\udfff")), placeholders=False)
