"""Numerals, lower-case letters, Roman numerals and bullets: what is an answer to each, and what is none."""

from __future__ import annotations

import pytest

from thinkgap.errors import ConfigError
from thinkgap.responses import extract, permissive

TEN = tuple(str(number) for number in range(1, 11))
NUMBERS = TEN[::-1]
LOWER = ("cat", "dog", "a cow", "an owl")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
WORDS = tuple(f"number {word}" for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
WORDS += ("number ten",)
BULLETS = ("red", "red and blue", "3", "a mammal", "-7", "7", "long " * 500 + "text")


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (r"\boxed{3}", "3"), (r"\boxed{10}", "10"), (r"\boxed{1}", "1"), ("1.", "1"), (r"\boxed{Option 3}", "3"),
        (r"\boxed{\text{Option 3}}", "3"), (r"\boxed{(10)}", "10"), ("3) 8", "3"), (r"\boxed{1. 10}", "1"),
        ("The answer is option 10.", "10"), ("The correct answer is (2) 9", "2"), ("Answer: 1, because", "1"),
        (r"\boxed{1. 9}", None), (r"\boxed{3.5}", None), (r"\boxed{11}", None), (r"\boxed{-3}", None),
        (r"\boxed{10.0}", None), (r"\boxed{3,4}", None), (r"\boxed{2 or 3}", None), (r"\boxed{Option 11}", None),
        ("The answer is 3 apples.", None), ("The answer is 1.5.", None), ("The answer is 10%", None),
        ("There are 3 of them.", None), ("The answer is 2 + 3 = 5.", None),
    ],
)  # fmt: skip
def test_numerals_that_are_option_texts_as_well(content: str, label: str | None) -> None:
    read = extract(content, "mcq", labels=TEN, options=NUMBERS)
    assert read.answer == label
    assert read.slot == (None if label is None else int(label) - 1)


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (r"\boxed{b}", "b"), (r"\boxed{B}", "b"), (r"\boxed{a}", "a"), ("a", "a"), (r"\boxed{B. dog}", "b"),
        (r"\boxed{a. cat}", "a"), ("The answer is a", "a"), ("The answer is a, since", "a"), ("The answer is B.", "b"),
        ("The answer is a cow.", "c"), (r"\boxed{a cow}", "c"), ("The answer is (b) dog", "b"),
        ("The answer is a mammal.", None), (r"\boxed{a mammal}", None), ("A bird", None), ("I think a dog", None),
        ("The answer is not a.", None), ("The answer is a: dog", None), (r"\boxed{B. cat}", None),
    ],
)  # fmt: skip
def test_lower_case_labels(content: str, label: str | None) -> None:
    assert extract(content, "mcq", labels=("a", "b", "c", "d"), options=LOWER).answer == label


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (r"\boxed{i}", "i"), (r"\boxed{IV}", "iv"), (r"\boxed{iv}", "iv"), (r"\boxed{(ii)}", "ii"), ("I", "i"),
        (r"\boxed{Option ii}", "ii"), (r"\boxed{IV. number four}", "iv"), ("ii. number two", "ii"),
        ("The answer is vi because", "vi"), ("The answer is (vii)", "vii"), ("The answer is x.", "x"),
        ("I think that this is right.", None), ("i think so", None), ("The answer is i think", None),
        ("The answer is I think ii", None), ("The answer is x = 5", None), (r"\boxed{xi}", None),
        (r"\boxed{i and ii}", None), (r"\boxed{ii, iii}", None), (r"\boxed{IV. number five}", None),
    ],
)  # fmt: skip
def test_roman_numerals(content: str, label: str | None) -> None:
    assert extract(content, "mcq", labels=ROMAN, options=WORDS).answer == label


@pytest.mark.parametrize(
    ("content", "slot"),
    [
        (r"\boxed{red}", 0), (r"\boxed{red and blue}", 1), (r"\boxed{Red.}", 0), (r"\boxed{- red}", 0), ("* red", 0),
        (r"\boxed{\text{red and blue}}", 1), (r"**\boxed{red}**", 0), (r"\boxed{**red**}", 0), (r"\boxed{3}", 2),
        (r"\boxed{mammal}", 3), (r"\boxed{-7}", 4), (r"\boxed{$7$}", 5), ("The answer is red and blue because", 1),
        ("The answer is:\n- red and blue", 1), ("- a mammal", 3), (rf"\boxed{{{BULLETS[6]}}}", 6),
        (r"\boxed{B}", None), (r"\boxed{2}", None), (r"\boxed{1}", None), (r"\boxed{- 7}", None), ("A", None),
        ("The answer is B.", None), ("The answer is red or blue", None), ("The answer is red and green", None),
        (r"\boxed{blue}", None), (r"\boxed{the first}", None), (r"\boxed{red, 3}", None), ("B) red", None),
        (r"\boxed{Option 3}", None), (r"\boxed{long}", None),
    ],
)  # fmt: skip
def test_bullets_are_read_by_their_text_alone(content: str, slot: int | None) -> None:
    read = extract(content, "mcq", options=BULLETS)
    assert read.slot == slot
    assert read.answer == (None if slot is None else BULLETS[slot].strip())


def test_the_permissive_reading_of_bullets_is_the_last_text() -> None:
    assert permissive("It may be 3, or rather red", "mcq", options=BULLETS) == "red"
    assert permissive("Option B, I guess", "mcq", options=BULLETS) is None


@pytest.mark.parametrize("options", [(), ("red", "red "), ("red", " ")])
def test_bullets_that_cannot_be_told_apart(options: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="without labels cannot be read"):
        extract("red", "mcq", options=options)
