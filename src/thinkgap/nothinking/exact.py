r"""Compares two open answers where that takes no algebra: the same text, two numbers, numerals of a base, two words.

What it decides is final, and it decides first: these are the cases in which a comparison by computer algebra is known
to say "equal" of what is not. None leaves a pair to algebra.
"""

from __future__ import annotations

import re

from thinkgap.responses.rational import rational, unwrapped, variable
from thinkgap.responses.reading import folded

_SPACE = re.compile(r"(?<![\w.\\}]) | (?![\w.\\])|(?<=[^\W\d_]) (?=\d)|(?<=\}) ")
_FRAC = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_NUMERAL = re.compile(
    r"(?:\\text ?\{ ?)?([0-9A-Za-z]+) ?\}? ?_ ?(?:(\d)|\{ ?(\d{1,2}) ?\}|\{ ?\\text ?\{ ?([a-z]+) ?\} ?\})"
)
_BASES = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_IN_TEXT = re.compile(r"\s*\$?\s*\\(?:text|textbf|textit|textrm|mathrm|mbox)\s*\{")
_WORDS = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")
_LONG = re.compile(r"[^\W\d_]{4}")


def exactly_equal(gold: str, answer: str) -> bool | None:
    r"""Whether two open answers are equal, so far as their forms tell.

    - the same text, but for spacing, wrappers and a final stop: equal;
    - two numbers (`rational`): equal if they are the same number, so that 50% is 1/2 and 28% is not 28;
    - a numeral with its base (`10_8`): equal to the same numeral of the same base only;
    - two words or names, which algebra would take for products of letters: equal if they are the same but for case; a
      word and a number are not equal.

    Returns:
        None where the forms do not tell.
    """
    first, second = unwrapped(gold), unwrapped(answer)
    if not first or not second:
        return None if not first else False
    if _plain(first) == _plain(second):
        return True
    numerals = _numeral(first), _numeral(second)
    numbers = rational(gold), rational(answer)
    if any(numerals):
        # A numeral of base ten is the number; any other beside a number without a base is another numeral.
        values = [_in_ten(numeral, number) for numeral, number in zip(numerals, numbers, strict=True)]
        return None if None in values else values[0] == values[1]
    if numbers[0] is not None and numbers[1] is not None:
        named = {variable(gold), variable(answer)} - {""}
        return numbers[0] == numbers[1] if len(named) < 2 else None
    words = _is_words(gold, first), _is_words(answer, second)
    if all(words):
        return folded(first) == folded(second)
    if (words[0] and numbers[1] is not None) or (words[1] and numbers[0] is not None):
        return False
    return None


def _plain(text: str) -> str:
    """`text` without blanks that say nothing; those between letters, and between digits, stay."""
    return _SPACE.sub("", _FRAC.sub(r"\\frac", text))


def _numeral(text: str) -> tuple[int, int] | None:
    """Value and base of a numeral that names its base."""
    found = _NUMERAL.fullmatch(text)
    if found is None or not any(map(str.isdigit, found[1])):
        return None
    base = int(found[2] or found[3] or _BASES.get(found[4] or "", 0))
    try:
        return (int(found[1], base), base) if 2 <= base <= 36 else None
    except ValueError:  # a digit that the base does not have: an indexed variable
        return None


def _in_ten(numeral: tuple[int, int] | None, number: object) -> object:
    if numeral is None:
        return (number, 10) if number is not None else None
    return numeral


def _is_words(text: str, bare: str) -> bool:
    r"""Whether a text is words: letters that stand in `\text{}`, or among which four follow each other."""
    return _WORDS.fullmatch(bare) is not None and bool(_IN_TEXT.match(text) or _LONG.search(bare))
