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
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


@dataclass(frozen=True)
class Box:
    """One balanced box: `text[start:end]` is the command with its argument."""

    start: int
    end: int
    content: str


@dataclass(frozen=True)
class BoxCommand:
    r"""One `\boxed` or `\fbox`, whether or not it has an argument."""

    start: int
    end: int
    """After the argument, or after the command where `argument` is None."""
    argument: tuple[int, int] | None
    """What the box holds, as positions in the text; None if nothing follows or its brace never closes."""
    braced: bool


def find_box_commands(text: str) -> list[BoxCommand]:
    r"""All box commands of `text` in order, in time linear in its length however deep they are nested.

    A command without braces (`\boxed 5`) encloses one token: a number, a command, or a character.
    """
    commands = []
    found = list(_COMMAND.finditer(text))
    pairs = brace_pairs(text) if found else {}
    for command in found:
        start = command.end()
        if text.startswith("{", start):
            end = pairs.get(start)
            argument = (start + 1, end) if end is not None else None
            commands.append(BoxCommand(command.start(), start if end is None else end + 1, argument, braced=True))
        elif token := _ONE_TOKEN.match(text, start):
            commands.append(BoxCommand(command.start(), token.end(), token.span(), braced=False))
        else:
            commands.append(BoxCommand(command.start(), start, None, braced=False))
    return commands


def find_boxes(text: str) -> list[Box]:
    """All boxes of `text` whose braces close, in order of where they start; a nested box is listed too."""
    return [
        Box(command.start, command.end, text[slice(*command.argument)].strip())
        for command in find_box_commands(text)
        if command.argument is not None
    ]


def last_boxed(text: str) -> str | None:
    r"""Content of the last balanced box (the innermost, where boxes are nested), or None if there is none."""
    boxes = find_boxes(text)
    return boxes[-1].content if boxes else None


def brace_pairs(text: str) -> dict[int, int]:
    r"""Index of each opening brace that closes -> index of the brace that closes it.

    A backslash takes the next character with it, so that `\{` and `\}` do not count and the brace of `\\{` does.
    """
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            opened.append(found.start())
        elif found.group() == "}" and opened:
            pairs[opened.pop()] = found.start()
    return pairs


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
