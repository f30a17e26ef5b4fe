"""A reader of lessons that shares no code with them: what a user turn shows, and whether a reply to it is true.

Scenes and questions are read by `world_reader`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import world_reader as reader
from world_reader import Mark

from thinkgap.demo.lessons import Example

ATTRIBUTES = r"an 8|a [^8]|in the \w+ \w+|\w+"
TRIGGERS = (
    "Let me think step by step.",
    "Let's think step by step.",
    "Let's solve this step by step.",
    "Let's reason step by step.",
    "Reasoning:",
)
"""The prefix study's, byte-exact."""


@dataclass(frozen=True)
class Asked:
    """A user turn, taken apart."""

    marks: set[Mark]
    question: str
    options: dict[str, str]
    """Content by letter, in the order in which they stand."""
    last: str
    """The line below question and options, if there is one."""

    def content(self, reply: str) -> str:
        """What a letter stands for; the reply itself where there are no options."""
        return self.options[reply] if self.options else reply


def asked(example: Example) -> Asked:
    """What a question shows: a picture, or words on its first line; a question; options; an instruction or a cue."""
    lines = example.user.split("\n")
    if example.scene is None:
        marks = reader.marks_in_text(lines[0])
        assert lines.pop(0).count(" in the ") == len(marks)
    else:
        marks = marks_shown(example)
    options = {match[1]: match[2] for line in lines if (match := re.fullmatch(r"([A-E])\. (.+)", line))}
    last = lines[len(options) + 1 :]
    assert len(last) <= 1
    assert [f"{letter}. {content}" for letter, content in options.items()] == lines[1 : len(options) + 1]
    assert len(set(options.values())) == len(options)
    assert sorted(options) == list("ABCDE")[: len(options)]
    return Asked(marks, lines[0], options, last[0] if last else "")


def marks_shown(example: Example) -> set[Mark]:
    """Marks of the picture."""
    assert example.scene is not None
    return {(mark.place, mark.colour, int(mark.digit)) for mark in example.scene.marks}


def statement_is_true(sentence: str, marks: set[Mark]) -> bool:
    """Whether a sentence about marks is well-formed and true."""
    numbers = sorted(digit for _, _, digit in marks)
    if match := re.fullmatch(r"There (is 1|are [^1]) (?:(\w+) )?digit(s?)\.", sentence):
        n = sum(match[2] in (None, colour) for _, colour, _ in marks)
        return n == int(match[1][-1]) and (match[3] == "") == (n == 1)
    if match := re.fullmatch(r"The largest digit is (?:an 8|a ([^8]))\.", sentence):
        return numbers.count(numbers[-1]) == 1 and numbers[-1] == int(match[1] or 8)
    if match := re.fullmatch(r"The sum of (.+) and (.+) is (\d+)\.", sentence):
        first, second = (reader.named(name, marks) for name in match.groups()[:2])
        return first != second and first[2] + second[2] == int(match[3])
    match = re.fullmatch(rf"(The \w+ digit|The digit in the \w+ \w+|The \d) is ({ATTRIBUTES})\.", sentence)
    assert match, sentence
    return reader.holds(reader.named(match[1], marks), match[2])


def rationale_answer(reply: str, marks: set[Mark]) -> tuple[str, str]:
    """The cue that a rationale opens with, if any, and the answer that it ends in, once all its steps are true."""
    opening = next((cue for cue in TRIGGERS if reply.startswith(f"{cue} ")), "")
    steps = reply.removeprefix(f"{opening} ") if opening else reply
    return opening, reader.check_rationale(re.sub(r"^A ", "The ", steps), marks)


def matched(example: Example) -> list[tuple[str, str]]:
    """Pairs that a matching reply gives, in order, after a check of the form of question and reply."""
    question, *lines = example.user.split("\n")
    printed = dict(line.split(". ", 1) for line in lines)
    pairs = [pair.removesuffix(".").split(": ") for pair in re.findall(r"[^.]+\.", example.reply.replace(". ", "."))]
    assert " ".join(f"{left}: {right}." for left, right in pairs) == example.reply
    by_option = question.startswith("What are the letters of ")
    wanted = question.removeprefix("What are the letters of ").removeprefix("What are ").removesuffix("?").split(", ")
    assert [left for left, _ in pairs] == wanted
    assert sorted(wanted) == sorted(printed.values() if by_option else printed)
    letters = [(right, left) if by_option else (left, right) for left, right in pairs]
    assert all(printed[letter] == option for letter, option in letters)
    return letters
