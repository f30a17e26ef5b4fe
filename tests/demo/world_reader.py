"""A reader of the world that shares no code with its maker: marks from pixels or words, answers from marks.

A mark is (place, colour, digit). Everything is worked out from what a model would be shown, and from scikit-learn's
own labels of the handwriting.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from thinkgap.demo.world.words import COLOURS
from thinkgap.types import Item

Mark = tuple[str, str, int]
Items = Callable[..., tuple[Item, ...]]
"""The fixture `made`."""
_CORNERS = {"upper left": (0, 0), "upper right": (0, 28), "lower left": (28, 0), "lower right": (28, 28)}
_NAME = r"the \w+ digit|the digit in the \w+ \w+|the \d"


@cache
def digits() -> Any:
    """scikit-learn's digits."""
    from sklearn.datasets import load_digits

    return load_digits()


def marks_in_text(text: str) -> set[Mark]:
    """Marks that a sentence tells of."""
    return {(place, colour, int(digit)) for colour, digit, place in re.findall(r"a (\w+) (\d) in the (\w+ \w+)", text)}


def marks_of_scene(item: Item) -> set[Mark]:
    """Marks that the item says it is about."""
    found = [re.fullmatch(r"(\w+ \w+) (\w+) (\d)", part) for part in item.meta["scene"].split("; ")]
    return {(mark[1], mark[2], int(mark[3])) for mark in found if mark}


def marks_in_picture(item: Item) -> set[Mark]:
    """Marks read from the pixels; what a glyph says is the label of the sample that it must be a copy of."""
    with Image.open(io.BytesIO(item.images[0].load())) as image:
        assert image.size == (56, 56)
        pixels = np.asarray(image.convert("RGB")).astype(float)
    rows = [int(row) for row in item.meta["handwriting"].split()]
    marks: set[Mark] = set()
    for place, (y, x) in _CORNERS.items():
        cell = pixels[y : y + 28, x : x + 28]
        ink = np.abs(cell - 24).sum(axis=2)
        if ink.max() < 100:
            assert ink.max() == 0, "a quadrant is empty or clearly not"
            continue
        fullest = cell.reshape(-1, 3)[ink.argmax()]
        colour = min(COLOURS, key=lambda name: float(np.abs(np.array(COLOURS[name]) - fullest).sum()))
        row = rows.pop(0)
        assert likeness(ink, digits().images[row]) > 0.9
        marks.add((place, colour, int(digits().target[row])))
    assert not rows
    return marks


def likeness(ink: np.ndarray, sample: np.ndarray) -> float:
    """Best correlation of a quadrant with a sample enlarged three times, over the places it may have."""
    large = np.kron(sample, np.ones((3, 3)))
    return max(
        float(np.corrcoef(ink[y : y + 24, x : x + 24].ravel(), large.ravel())[0, 1]) for y in range(5) for x in range(5)
    )


def shown(item: Item) -> set[Mark]:
    """What the item itself shows or tells."""
    return marks_in_picture(item) if item.images else marks_in_text(item.context)


def named(name: str, marks: set[Mark]) -> Mark:
    """The one mark of a name such as `the red digit`."""
    name = name[0].lower() + name[1:]
    if match := re.fullmatch(r"the digit in the (\w+ \w+)", name):
        found = [mark for mark in marks if mark[0] == match[1]]
    elif match := re.fullmatch(r"the (\w+) digit", name):
        found = [mark for mark in marks if mark[1] == match[1]]
    else:
        found = [mark for mark in marks if f"the {mark[2]}" == name]
    (mark,) = found
    return mark


def answer(question: str, marks: set[Mark]) -> str:
    """The answer to a question about marks."""
    numbers = sorted(digit for _, _, digit in marks)
    if question == "Which digit is the largest?":
        assert numbers.count(numbers[-1]) == 1 < len(numbers)
        return str(numbers[-1])
    if question == "How many digits are there?":
        return str(len(marks))
    if match := re.fullmatch(r"How many digits are (\w+)\?", question):
        return str(sum(colour == match[1] for _, colour, _ in marks))
    if match := re.fullmatch(r"What is the sum of (.+) and (.+)\?", question):
        assert match[1] != match[2]
        return str(named(match[1], marks)[2] + named(match[2], marks)[2])
    if match := re.fullmatch(r"Which digit is in the (.+)\?", question):
        return str(named(f"the digit in the {match[1]}", marks)[2])
    if match := re.fullmatch(r"Which digit is (\w+)\?", question):
        return str(named(f"the {match[1]} digit", marks)[2])
    if match := re.fullmatch(r"What colour is (.+)\?", question):
        return named(match[1], marks)[1]
    match = re.fullmatch(r"Where is (.+)\?", question)
    assert match, question
    return named(match[1], marks)[0]


def holds(mark: Mark, said: str) -> bool:
    """Whether `a 7`, `red` or `in the upper left` is true of a mark."""
    place, colour, digit = mark
    article = "an" if digit == 8 else "a"
    return said in (f"in the {place}", colour, f"{article} {digit}")


def claim_is_true(claim: str, marks: set[Mark]) -> bool:
    """The answer to a yes/no question about marks."""
    numbers = sorted(digit for _, _, digit in marks)
    if match := re.fullmatch(r"Is the largest digit (an 8|a [^8])\?", claim):
        return int(match[1][-1]) == numbers[-1]
    if match := re.fullmatch(r"Is the sum of (.+) and (.+) (\d+)\?", claim):
        return named(match[1], marks)[2] + named(match[2], marks)[2] == int(match[3])
    if match := re.fullmatch(r"Is there 1 (?:(\w+) )?digit\?|Are there (\d+) (?:(\w+) )?digits\?", claim):
        colour = match[1] or match[3]
        return sum(colour in (None, mark[1]) for mark in marks) == int(match[2] or 1)
    match = re.fullmatch(rf"Is ({_NAME}) (in the \w+ \w+|an? \d|\w+)\?", claim)
    assert match, claim
    return holds(named(match[1], marks), match[2])


def check_rationale(text: str, marks: set[Mark]) -> str:
    """Require that each sentence is true of the marks; returns what the last one says the answer is."""
    *steps, last = re.findall(r"[^.]+\.", text)
    subject: Mark | None = None
    for sentence in (step.strip().removesuffix(".") for step in steps):
        if sentence.startswith("There is "):
            assert marks_in_text(sentence) == marks
        elif match := re.fullmatch(r"That makes (\d) (?:(\w+) )?digits?", sentence):
            assert sum(match[2] in (None, mark[1]) for mark in marks) == int(match[1])
        elif match := re.fullmatch(r"The digits are ([\d, and]+)", sentence):
            assert sorted(map(int, re.findall(r"\d", match[1]))) == sorted(mark[2] for mark in marks)
        elif match := re.fullmatch(r"The largest of them is (\d)", sentence):
            assert int(match[1]) == max(mark[2] for mark in marks)
        elif match := re.fullmatch(r"(\d) plus (\d) is (\d+)", sentence):
            assert int(match[1]) + int(match[2]) == int(match[3])
        elif match := re.fullmatch(r"The (\d) in the (\w+ \w+) is (\w+)", sentence):
            assert (match[2], match[3], int(match[1])) in marks
        elif match := re.fullmatch(r"It is (.+)", sentence):
            assert subject
            assert holds(subject, match[1])
        else:
            match = re.fullmatch(rf"(T{_NAME[1:].replace('|t', '|T')}) is (.+)", sentence)
            assert match, sentence
            subject = named(match[1], marks)
            assert holds(subject, match[2])
    match = re.fullmatch(r" So the answer is (.+)\.", last)
    assert match, last
    return match[1]
