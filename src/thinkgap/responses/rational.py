r"""Reads a whole text as one rational number: `1,250`, `\$18.00`, `\frac{7}{2}`, `137 \frac12`, `50\%`, `5\text{ cm}`.

Exact, by `fractions.Fraction`. A text that is anything else, or could be (`5x`, `1,2`, `5!`), is no number here. It
does not know what the number is compared with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from thinkgap.latex import brace_pairs
from thinkgap.responses.normalise import normalise
from thinkgap.responses.reading import WRAPPERS

_LONGEST = 200
"""Longer texts are no number; it also bounds the digits that are converted."""
_LARGEST_EXPONENT = 400

_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_WRAPPER = re.compile(WRAPPERS)
_INNER = re.compile(r"[(),;]")
_SPACES = re.compile(r"\\[,;:! ]|\\q?quad(?![A-Za-z])|~|\\(?:left|right|displaystyle)(?![A-Za-z])|\s+")
_LATEX_COMMA = re.compile(r"\{,\}\s*|,\s*\\!\s*")
_NAMED = re.compile(r"[A-Za-z](?:\s*_\s*(?:\w|\{\w+\}))?\s*=\s*(?=[^=\s])")

_U = r"(?:(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+)(?:\.\d*)?|\.\d+)"
_SIGN = r"(?:[+-] ?)?"
_MONEY = r"(?:\\?[$€£¥] ?)?"
_TIMES = (
    r"(?: ?(?:\\times|\\cdot|[x×*·]) ?10 ?\^ ?(?:\{ ?(?P<braced>[+-]?\d{1,4}) ?\}|(?P<bare>\d))"
    r"|[eE](?P<e>[+-]?\d{1,4}))"
)
_FRAC = (
    rf"\\[dtc]?frac ?(?:\{{ ?(?P<{{0}}n>[+-]?{_U}) ?\}}|(?P<{{0}}n1>\d))"
    rf" ?(?:\{{ ?(?P<{{0}}d>{_U}) ?\}}|(?P<{{0}}d1>\d))"
)
"""With a letter for `{0}`, so that it can stand twice in one pattern."""
_REPEATING = r"(?P<before>\d*)\.(?P<fixed>\d*) ?\\(?:overline|bar) ?\{ ?(?P<period>\d+) ?\}"
_VALUE = re.compile(
    rf"(?P<sign>{_SIGN}){_MONEY}(?P<inner>{_SIGN})(?:"
    rf"(?P<whole>\d+) ?{_FRAC.replace('{0}', 'm')}|(?P<whole_of>\d+) (?P<top>\d+) ?/ ?(?P<bottom>\d+)"
    rf"|{_FRAC.replace('{0}', 'f')}|{_REPEATING}|(?P<over>{_U}) ?/ ?(?P<under>{_U})|(?P<plain>{_U}){_TIMES}?)"
)
_TEXT_MARK = "\0"
"""Stands before what `\\text{}` held; there, and only there, one letter is a unit."""
_PERCENT = re.compile(r"[ \0]*(?:\\?%|per ?cent\b)", re.IGNORECASE)
_DEGREES = re.compile(r" ?(?:\^ ?\{? ?\\circ ?\}?|\\degree(?![A-Za-z])|°)(?: ?[CF]\b)?")
_POWER = r"(?: ?\^ ?(?:\d|\{\d\})|[²³])?"
_WORDS = re.compile(
    r"(?P<space>[ -]?)(?P<words>(?:\0[A-Za-zµμΩ]+|[A-Za-zµμΩ]{2,})\.?(?:/[A-Za-z]+)?(?: [A-Za-z]{2,}\.?){0,2})" + _POWER
)
_MONEY_AFTER = re.compile(r" ?(?:\\?\$|[€£¥])")
_ATTACHED = frozenset(("mm", "cm", "km", "kg", "mg", "ml", "lb", "lbs", "oz", "ft", "hrs", "mph", "kph"))
"""Units that may follow a number without a blank; any other letters there are variables."""
_NO_UNIT = re.compile(
    r"or|and|nor|to|plus|minus|times|over|by|divided|multiplied|squared|cubed|than|less|more|out|of|is|are|was|not|half|"
    r"halves|thirds?|quarters?|base|mod|choose|factorial|each|points?"
)
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}


@lru_cache(maxsize=4096)
def rational(text: str) -> Fraction | None:
    r"""The number that `text` is; None if it is none, or not surely one.

    `x = 5` is 5. A percent sign divides by 100, `million` and the like multiply. Units, currencies and degrees are left
    out: `5\text{ cm}` is 5. Thousands stand in groups of three; a mixed number has a proper fraction.
    """
    plain = unwrapped(text)
    if not plain or len(plain) > _LONGEST:
        return None
    plain = "".join(_vulgar(character) for character in plain)
    plain = " ".join(plain[len(_name(plain)) :].split())
    found = _VALUE.match(plain)
    value = _value(found) if found else None
    if found is None or value is None:
        return None
    return _scaled(value, plain[found.end() :])


@lru_cache(maxsize=4096)
def unwrapped(text: str) -> str:
    r"""`text` normalised, on one line, without what only encloses it: `$`, `\(..\)`, `\text{..}`, `(..)`, `**`, a stop.

    Brackets that may say something stay: those of pairs and intervals, and those of sets.
    """
    text = _LATEX_COMMA.sub(",", normalise(text))
    text = _SPACES.sub(lambda space: "" if space.group() == "\\!" else " ", text).strip()
    return " ".join(text[slice(*_core(text))].split())


def variable(text: str) -> str:
    """`x` of `x = 5`; empty for a text that names no variable."""
    return _name(unwrapped(text)).rstrip("= ")


def _name(plain: str) -> str:
    named = _NAMED.match(plain)
    return named.group() if named else ""


def _core(text: str) -> tuple[int, int]:
    """Where `text` stands once all its layers are off, in time linear in its length: a layer moves two positions."""
    start, end = _stripped(text, 0, len(text))
    pairs = brace_pairs(text) if "{" in text else {}
    while (inner := _stripped(text, *_without_one_layer(text, start, end, pairs))) != (start, end):
        start, end = inner
    return start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _without_one_layer(text: str, start: int, end: int, pairs: Mapping[int, int]) -> tuple[int, int]:
    """`start, end` of what the outermost layer of `text[start:end]` encloses, or as they are."""
    for mark in ("**", "__", "`", "$$", "$", '"'):
        # A dollar sign before and after can be two amounts of money, which no answer is.
        n = len(mark)
        if end - start > 2 * n and text.startswith(mark, start) and text.endswith(mark, start, end):
            return start + n, end - n
    if text.startswith(("\\(", "\\["), start, end) and text.endswith(("\\)", "\\]"), start, end):
        return start + 2, max(start + 2, end - 2)
    if text.endswith((".", ",", ";"), start, end) and not text.endswith("..", start, end):
        return start, end - 1
    wrapper = _WRAPPER.match(text, start, end)
    opening = wrapper.end() - 1 if wrapper else start
    if pairs.get(opening) == end - 1:
        return opening + 1, end - 1
    if text.startswith("(", start, end) and text.endswith(")", start, end) and end - start > 1:
        # Found in one pass that ends this: what holds no bracket has no such layer, and what holds one keeps it.
        return (start, end) if _INNER.search(text, start + 1, end - 1) else (start + 1, end - 1)
    return start, end


def _vulgar(character: str) -> str:
    """`½` as ` 1/2`, anything else as it is."""
    if unicodedata.decomposition(character).startswith("<fraction>"):
        return " " + unicodedata.normalize("NFKC", character).replace("\u2044", "/")
    return character


def _value(found: re.Match[str]) -> Fraction | None:
    signs = found["sign"].strip() + found["inner"].strip()
    if len(signs) > 1:
        return None
    group = found.groupdict()
    if group["whole"] or group["whole_of"]:
        top = _number(group["mn"] or group["mn1"] or group["top"])
        bottom = _number(group["md"] or group["md1"] or group["bottom"])
        if not 0 < top < bottom:
            return None
        value = _number(group["whole"] or group["whole_of"]) + top / bottom
    elif group["fd"] or group["fd1"] or group["under"]:
        bottom = _number(group["fd"] or group["fd1"] or group["under"])
        if not bottom:
            return None
        value = _number(group["fn"] or group["fn1"] or group["over"]) / bottom
    elif period := group["period"]:
        fixed = group["fixed"]
        repeated = Fraction(int(period), 10 ** len(period) - 1) / 10 ** len(fixed)
        value = Fraction(f"0{group['before']}.{fixed}0") + repeated
    else:
        exponent = int(group["braced"] or group["bare"] or group["e"] or 0)
        if abs(exponent) > _LARGEST_EXPONENT:
            return None
        value = _number(group["plain"]) * Fraction(10) ** exponent
    return -value if signs == "-" else value


def _number(digits: str) -> Fraction:
    digits = digits.replace(",", "").replace(" ", "").rstrip(".")
    return Fraction("0" + digits if digits.startswith(".") else digits)


def _scaled(value: Fraction, rest: str) -> Fraction | None:
    """`value` under what follows it; None if that is more than percent, degrees, a currency or a unit."""
    rest = re.sub(r"\s+", " ", _TEXT.sub(lambda unit: f" {_TEXT_MARK}{unit[1].strip()} ", rest)).rstrip()
    if percent := _PERCENT.match(rest):
        return value / 100 if not rest[percent.end() :].strip() else None
    if degrees := _DEGREES.match(rest):
        return value if not rest[degrees.end() :].strip() else None
    if money := _MONEY_AFTER.match(rest):
        return value if not rest[money.end() :].strip() else None
    if not rest:
        return value
    unit = _WORDS.fullmatch(rest)
    if unit is None:
        return None
    words = unit["words"].lower().replace(_TEXT_MARK, "").split()
    if not unit["space"] and words[0].rstrip(".") not in _ATTACHED:
        return None
    scale = _SCALES.get(words[0], 1)
    if any(_NO_UNIT.fullmatch(word) or word in _SCALES for word in words[scale > 1 :]):
        return None
    return value * scale
