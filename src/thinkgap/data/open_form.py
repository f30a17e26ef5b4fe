"""Multiple-choice items as open questions: the options are taken away, and the answer is given in full.

Only questions that stand without their options can be asked so (`data.option_dependence`). Knows no prompt and no
model.
"""

from __future__ import annotations

import re
from dataclasses import replace

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.data.option_dependence import needs_options, without_tail
from thinkgap.data.referring import referring
from thinkgap.presentation_names import OPEN_NUMERIC, OPEN_TEXT
from thinkgap.responses.normalise import normalise
from thinkgap.responses.rational import rational
from thinkgap.types import Item, Presentation

_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:/\d+)?%?", re.ASCII)


def open_numeric(item: Item) -> Presentation | str:
    """The item as an open question whose answer is a number, or why it has no such form (inertia study, table I.5)."""
    return _why_not(item) or _not_a_number(item) or _opened(item, OPEN_NUMERIC)


def open_text(item: Item) -> Presentation | str:
    """The item as an open question, whatever its right option says, or why it cannot be asked so (not in the study)."""
    return _why_not(item) or _opened(item, OPEN_TEXT)


def is_plain_number(text: str) -> bool:
    """Whether a text is a number and nothing else: sign, thousands commas, decimals, a/b, percent, without blanks.

    Words (`twelve`), units (`3 cm`, `$5`), ranges (`2-3`), mixed numbers, LaTeX, powers of ten (`1e3`) and a final stop
    (`5.`) make it something else. The Unicode minus is a minus.
    """
    plain = normalise(text).strip()
    return _NUMBER.fullmatch(plain) is not None and rational(plain) is not None


def _why_not(item: Item) -> str:
    if item.answer_space != "mcq" or item.gold is None:
        return "it has no options"
    if any(PLACEHOLDER.search(choice) for choice in item.choices):
        return "its options are images"
    return "its right option refers to other options" if item.gold in referring(item.choices) else ""


def _not_a_number(item: Item) -> str:
    return "" if is_plain_number(item.choices[item.gold or 0]) else "its right option is no plain number"


def _opened(item: Item, name: str) -> Presentation | str:
    question = without_tail(item.question)
    if pattern := needs_options(question):
        return f"its question depends on the options ({pattern})"
    answer = item.choices[item.gold or 0]
    opened = replace(item, question=question, choices=(), gold=None, answer_space="open", answer=answer)
    return Presentation(opened, (), (), name)
