r"""Which box of a reply holds its answer: the last one with content, or none if the last one never closes.

An unterminated final box is a failure, never a reason to take an earlier one (marin-community/marin#9163). It does not
know how the content is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from thinkgap.latex import Box, BoxCommand, find_box_commands

_BLANK = re.compile(r"[\s{}~]*")
_PUNCTUATION = ".,;:!?\"'`)]*"
_FORCED = re.compile(r"\\.|[{}\n]", re.DOTALL)


@dataclass(frozen=True)
class Boxes:
    """The boxes of one text."""

    final: Box | None
    """The last box with content; `start` and `end` are those of the outermost box around it."""
    first: tuple[int, int] | None
    """Where the first box with content stands."""
    n: int
    """Number of boxes with content; a box and the one inside it are two."""
    unclosed: bool
    """Whether the last box never closes; `final` is None then."""
    empty: bool
    """Whether some box has no content."""


def find_answer_box(text: str) -> Boxes:
    """Finds the box that counts as the answer of `text`."""
    if "boxed" not in text and "fbox" not in text:
        return Boxes(None, None, 0, unclosed=False, empty=False)
    commands = [command for command in find_box_commands(text) if not _is_mention(text, command)]
    if commands and commands[-1].argument is None:
        return Boxes(None, None, 0, unclosed=True, empty=False)
    closed = [command for command in commands if command.argument is not None]
    filled = _with_content(text, closed)
    empty = len(filled) < len(closed)
    if not filled:
        return Boxes(None, None, 0, unclosed=False, empty=empty)
    last = filled[-1]
    around = next(command for command in filled if command.start <= last.start and command.end >= last.end)
    final = Box(around.start, around.end, _content(text, last).strip())
    return Boxes(final, (filled[0].start, filled[0].end), len(filled), unclosed=False, empty=empty)


def ends_in_open_box(text: str) -> bool:
    """Whether `text` opens a box that it does not close, so that what is written after it begins inside that box."""
    return any(command.braced and command.argument is None for command in find_box_commands(text))


def find_completion(text: str) -> Box | None:
    r"""What completes a box that the prompt opened: the first line up to a brace that nothing in it opens.

    Mode M6 ends its prompt in `The answer is \boxed{`, which a model may continue with `B}` (arXiv 2610.11765).
    """
    start = len(text) - len(text.lstrip())
    depth = 0
    for found in _FORCED.finditer(text, start):
        if found.group() == "\n":
            return None
        if found.group() == "{":
            depth += 1
        elif found.group() == "}":
            if depth == 0:
                content = text[start : found.start()].strip()
                return Box(start, found.end(), content) if content else None
            depth -= 1
    return None


def _content(text: str, command: BoxCommand) -> str:
    return "" if command.argument is None else text[slice(*command.argument)]


def _with_content(text: str, closed: list[BoxCommand]) -> list[BoxCommand]:
    """Those of `closed` that hold more than blanks, braces and empty boxes."""
    filled = []
    substance: dict[int, int] = {}
    """Start of a box -> first position in or after it that is none of these."""
    for command in reversed(closed):
        start, end = command.argument or (0, 0)
        blank = _BLANK.match(text, start)
        position = blank.end() if blank else start
        substance[command.start] = position = substance.get(position, position)
        if position < end:
            filled.append(command)
    return filled[::-1]


def _is_mention(text: str, command: BoxCommand) -> bool:
    r"""Whether the command is only spoken of: "I put it in \boxed." or "use \boxed for answers"."""
    if command.braced:
        return False
    if command.argument is None:
        return command.end < len(text)
    token = _content(text, command)
    if token in _PUNCTUATION:
        return True
    return len(token) == 1 and token.isalpha() and text[command.end : command.end + 1].isalpha()
