"""Checks that every adapter's items pass, and readings that several adapters share.

A failed check is a `RowError`: the loader reports the row and skips it. Nothing here knows a data set or a file.
"""

from __future__ import annotations

import re
from dataclasses import replace

from thinkgap.errors import RowError
from thinkgap.types import LETTERS, Item

PLACEHOLDER = re.compile(r"<image (\d+)>")
YES_NO = ("Yes", "No")

# C0 controls other than tab and line ends, and DEL: no tokenizer's idea of text, and Parquet viewers drop them.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# `\alpha`, `\bullet`, `\vert` and `\frac` that someone's string literal turned into a bell, backspace, ... + "lpha".
_LOST_ESCAPE = re.compile(r"[\x07\x08\x0b\x0c](?=[a-z])")
_ESCAPES = {"\x07": r"\a", "\x08": r"\b", "\x0b": r"\v", "\x0c": r"\f"}


def normalise(text: str) -> str:
    """`text` with every run of whitespace as one space and none around it."""
    return " ".join(text.split())


def replace_controls(text: str) -> str:
    r"""`text` without control characters other than tab and line ends.

    A bell, backspace, vertical tab or form feed before a lower-case letter becomes the LaTeX escape that it was; any
    other becomes a space. Tabs and line ends stay, also where they were `\t`, `\n` or `\r`.
    """
    text = _LOST_ESCAPE.sub(lambda match: _ESCAPES[match.group()], text)
    return _CONTROL.sub(" ", text)


def without_controls(item: Item) -> Item:
    """`item` with control characters replaced in its texts; the same object if there were none."""
    texts = (item.question, item.context, item.answer, *item.choices)
    if not any(_CONTROL.search(text) for text in texts):
        return item
    return replace(
        item,
        question=replace_controls(item.question),
        context=replace_controls(item.context),
        answer=replace_controls(item.answer),
        choices=tuple(replace_controls(choice) for choice in item.choices),
    )


def letter_index(letter: str, k: int) -> int:
    """Index of a label letter among `k` options.

    Raises:
        RowError: It is missing, no capital letter, or beyond the last option.

    """
    if not letter:
        raise RowError("the answer is missing")
    if len(letter) != 1 or letter not in LETTERS:
        raise RowError(f"answer {letter!r} is no option letter")
    return option_index(LETTERS.index(letter), k, shown=letter)


def option_index(index: int, k: int, shown: str | None = None) -> int:
    """`index`, if it is that of one of `k` options."""
    if not 0 <= index < k:
        raise RowError(f"answer {shown or index} is out of range: the row has {k} options")
    return index


def readable(text: str, what: str) -> str:
    """`text`, unless half of a surrogate pair is in it, which no tokenizer and no file takes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RowError(f"{what} holds a lone surrogate, so it is no valid text: {ascii(text)[:60]}") from None
    return text


def check_item(item: Item, placeholders: bool) -> None:
    """Refuse an item that cannot be shown or scored as it stands.

    Args:
        item: What the adapter made of a row.
        placeholders: Whether the data set's text refers to images by `<image n>`.

    Raises:
        RowError: With the reason.

    """
    for text in (item.question, item.context, item.answer, item.subject, *item.choices, *item.meta.values()):
        readable(text, "its text")
    if not normalise(item.question):
        raise RowError("the question is empty")
    if item.answer_space == "mcq":
        _check_choices(item)
    elif item.answer_space == "bool" and (item.choices != YES_NO or item.gold not in (0, 1)):
        raise RowError(f"a bool item has choices {item.choices} and gold {item.gold}")
    elif item.answer_space == "open":
        if item.choices or item.gold is not None:
            raise RowError("an open item has choices or a gold index")
        if not normalise(item.answer):
            raise RowError("the answer is empty")
    _check_placeholders(item, placeholders)


def _check_choices(item: Item) -> None:
    k = len(item.choices)
    if k < 2:
        raise RowError("it has no options" if k == 0 else "it has a single option")
    if k > len(LETTERS):
        raise RowError(f"it has {k} options, more than the {len(LETTERS)} letters")
    for index, choice in enumerate(item.choices):
        if not normalise(choice):
            raise RowError(f"option {LETTERS[index]} is empty")
    if item.gold is None:
        raise RowError("the answer is missing")
    option_index(item.gold, k)


def repeated_options(item: Item) -> str:
    """Which two options of an item have the same text, as a sentence; empty if none have."""
    seen: dict[str, int] = {}
    for index, choice in enumerate(normalise(choice) for choice in item.choices):
        if choice in seen:
            return f"options {LETTERS[seen[choice]]} and {LETTERS[index]} are the same: {choice[:60]!r}"
        seen[choice] = index
    return ""


def _check_placeholders(item: Item, placeholders: bool) -> None:
    for text in (item.context, item.question, *item.choices):
        for match in PLACEHOLDER.finditer(text):
            if not placeholders and item.images:
                raise RowError(f"its text holds {match.group()} literally and it has an image, so the two would mix")
            if placeholders and not 1 <= int(match.group(1)) <= len(item.images):
                raise RowError(f"its text refers to {match.group()}, and it has {len(item.images)} image(s)")
