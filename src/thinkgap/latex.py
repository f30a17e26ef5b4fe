r"""Finds `\boxed{}` and `\fbox{}` in LaTeX text by counting braces.

Used for the reference answers of MATH and for reading answers out of responses. It does not know what stands in a
box, whether two answers are equal, or which box a study counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# `\boxed` and not `\boxedtext`. A backslash before it (`\\boxed{5}`) is tolerated: it comes from a line break right
# before a box or from text that was escaped twice, and in both cases the author meant a box.
_COMMAND = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
# What `\boxed 5` encloses. TeX would take one character; people who write `\boxed 12` mean the number.
_ONE_TOKEN = re.compile(r"-?\d+(?:[.,]\d+)*|\\[A-Za-z]+|\\.|[^\s{}$\\]")


@dataclass(frozen=True)
class Box:
    """One balanced box: `text[start:end]` is the command with its argument."""

    start: int
    end: int
    content: str


def find_boxes(text: str) -> list[Box]:
    r"""All boxes of `text` whose braces close, in order of where they start; a nested box is listed too.

    A command without braces (`\boxed 5`) encloses one token: a number, a command, or a character.
    """
    boxes = []
    for command in _COMMAND.finditer(text):
        start = command.end()
        if text.startswith("{", start):
            end = closing_brace(text, start)
            if end is not None:
                boxes.append(Box(command.start(), end + 1, text[start + 1 : end].strip()))
        elif token := _ONE_TOKEN.match(text, start):
            boxes.append(Box(command.start(), token.end(), token.group()))
    return boxes


def last_boxed(text: str) -> str | None:
    r"""Content of the last balanced box (the innermost, where boxes are nested), or None if there is none."""
    boxes = find_boxes(text)
    return boxes[-1].content if boxes else None


def closing_brace(text: str, start: int) -> int | None:
    r"""Index of the brace that closes the one at `start`, or None if it never closes.

    A backslash takes the next character with it, so that `\{` and `\}` do not count and the brace of `\\{` does.
    """
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None
