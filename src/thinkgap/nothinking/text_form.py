"""Whether an open answer in words is the reference answer: the same text but for what spelling leaves free.

Neither a paraphrase nor a longer answer is the same, so that this is a lower bound. No algebra: `AB` is not `BA`, and
`x2` not `2x`. Knows no question.
"""

from __future__ import annotations

import re

from thinkgap.responses.rational import unwrapped
from thinkgap.responses.same_value import same_number

_ARTICLE = re.compile(r"\A(?:the|an?)\s+(?=\S)|(?<=\s)(?:the|an?)\s+(?=\S)")
_FIRST_ARTICLE = re.compile(r"\A(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_BETWEEN_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MARK = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[;!?\"'`“”‘’«»()\[\]{}_…]|(?<=[^\W\d_])-(?=[^\W\d_])")
"""Punctuation; signs that count or name something (`C++`, `-5`, `x^2`, `50%`) stay, and points within numbers."""
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")


def same_text(gold: str, answer: str) -> bool:
    """Whether an answer is the reference answer: equal as numbers, or the same words in the same order.

    Case, blanks, wrappers, punctuation, articles and the hyphen of a compound do not matter. An article counts as one
    at the start or in lower case, and not as the last word, so that "vitamin A" keeps its letter.
    """
    number = same_number(gold, answer)
    return number if number is not None else _bare(gold) == _bare(answer)


def _bare(text: str) -> str:
    plain = unwrapped(text)
    words = _FIRST_ARTICLE.sub("", plain)
    words = _MARK.sub(" ", _APOSTROPHE.sub("", _BETWEEN_DIGITS.sub("", _ARTICLE.sub("", words))))
    return " ".join((words if words.strip() else plain).casefold().split())
