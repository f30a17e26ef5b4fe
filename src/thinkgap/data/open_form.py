"""Multiple-choice items as open questions: the options are taken away, and the answer is given in full.

Only questions that stand without their options can be asked so. Knows no prompt and no model.
"""

from __future__ import annotations

import re
from dataclasses import replace

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.data.referring import referring
from thinkgap.presentation_names import OPEN_NUMERIC, OPEN_TEXT
from thinkgap.types import Item, Presentation

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:/\d+)?%?")


def open_numeric(item: Item) -> Presentation | str:
    """The item as an open question whose answer is a number, or why it cannot be asked so."""
    found = _opened(item, OPEN_NUMERIC)
    if isinstance(found, Presentation) and not _is_number(found.item.answer):
        return "its right option is no plain number"
    return found


def open_text(item: Item) -> Presentation | str:
    """The item as an open question, or why it cannot be asked so."""
    return _opened(item, OPEN_TEXT)


def needs_options(question: str) -> str:
    """The words by which a question depends on its options; empty if there are none."""
    found = re.search(r"which (?:one )?of (?:the following|these)|the following", question, re.IGNORECASE)
    return found.group() if found else ""


def _opened(item: Item, name: str) -> Presentation | str:
    if item.answer_space != "mcq" or item.gold is None:
        return "it has no options"
    if any(PLACEHOLDER.search(choice) for choice in item.choices):
        return "its options are images"
    if item.gold in referring(item.choices):
        return "its right option refers to other options"
    if words := needs_options(item.question):
        return f"its question depends on the options ({words!r})"
    opened = replace(item, choices=(), gold=None, answer_space="open", answer=item.choices[item.gold])
    return Presentation(opened, (), (), name)


def _is_number(text: str) -> bool:
    plain = text.strip()
    return any(character.isdigit() for character in plain) and _NUMBER.fullmatch(plain) is not None
