"""Brings a reply into one spelling, and cuts off the reasoning that stands inside it.

Compatibility forms are folded as NFKC does, except where NFKC changes what is said: a superscript would become a digit
(5² -> 52), a fraction would melt into the number before it (3½ -> 31⁄2), and № would become the word No. Letter case
is kept. It does not know boxes, answers, or what a reply should hold.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_DASHES = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
_LINE_ENDS = "\r\x85\u2028\u2029"
_INVISIBLE = ({0x00AD, 0xFEFF} | {*range(0x200B, 0x2010)} | {*range(0x202A, 0x202F)} | {*range(0x2060, 0x2065)}) | {
    *range(0x2066, 0x206A)
}
_MEANINGFUL = ("<super>", "<sub>", "<fraction>", "<circle>")
_KEPT = "№ℂℍℕℙℚℝℤ"
"""The numero sign, and sets of numbers, which are not the plain letters."""

_TAGS = {"<think>": "</think>", "◁think▷": "◁/think▷"}
THINK_TAGS = tuple(tag for pair in _TAGS.items() for tag in pair)
"""Tags that enclose reasoning inside a reply, of all families that are known here."""
_TAG = re.compile("|".join(map(re.escape, THINK_TAGS)))


class _Spellings(dict[int, str]):
    """Code point -> its spelling, found on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        spelling = canonical = unicodedata.normalize("NFC", character)
        if canonical != character:  # U+2001 is another name of U+2003, which is a blank
            spelling = "".join(self[ord(part)] for part in canonical)
        elif code in _INVISIBLE:
            spelling = ""
        elif character in _DASHES:
            spelling = "-"
        elif character in _LINE_ENDS:
            spelling = "\n"
        elif self._folds(character):
            folded = unicodedata.normalize("NFKC", character)
            spelling = folded if folded == character else "".join(self[ord(part)] for part in folded)
        self[code] = spelling
        return spelling

    @staticmethod
    def _folds(character: str) -> bool:
        decomposition = unicodedata.decomposition(character)
        if not decomposition.startswith("<") or decomposition.startswith(_MEANINGFUL) or character in _KEPT:
            return False
        # A free-standing accent (´, ¨) would become a blank and a combining mark: "don´t" would break in two.
        return character.isspace() or not unicodedata.normalize("NFKC", character).startswith(" ")


_SPELLINGS = _Spellings()


@dataclass(frozen=True)
class Parts:
    """A normalised reply and its two kinds of text."""

    text: str
    visible: str
    """`text` with blanks in place of the reasoning and its tags, so that positions hold in both."""
    reasoning: str
    """What the tags enclosed, without the tags; several stretches are set apart by an empty line."""
    unclosed: bool
    """Whether reasoning began and never ended, so that no answer can follow it."""


def normalise(text: str) -> str:
    """`text` in one spelling: compatibility forms, minus signs and line ends unified, invisible characters removed.

    Normalising twice changes nothing more.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return text.replace("\r", "\n")
    return unicodedata.normalize("NFC", text.translate(_SPELLINGS))


def split_reasoning(text: str) -> Parts:
    """Parts visible text from inline reasoning.

    `<think>..</think>` and `◁think▷..◁/think▷` enclose reasoning. A closing tag without an opening one ends reasoning
    that the prompt had opened: all before it is reasoning. An opening tag that never closes makes all after it
    reasoning.

    Args:
        text: a reply as `normalise` returns it.
    """
    stretches: list[tuple[int, int]] = []
    """From the start of an opening tag to the end of its closing one; they do not overlap."""
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if opened is not None:
            if tag.group() == _TAGS[opened.group()]:
                stretches.append((opened.start(), tag.end()))
                opened = None
        elif tag.group() in _TAGS:
            opened = tag
        else:
            stretches = [(0, tag.end())]
    if opened is not None:
        stretches.append((opened.start(), len(text)))
    if not stretches:
        return Parts(text, text, "", unclosed=False)
    said = (_TAG.sub("\n", text[start:end]).strip() for start, end in stretches)
    return Parts(
        text, _blanked(text, stretches), "\n\n".join(part for part in said if part), unclosed=opened is not None
    )


def _blanked(text: str, stretches: list[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, end in stretches:
        pieces += [text[position:start], " " * (end - start - 1), "\n"]
        position = end
    return "".join([*pieces, text[position:]])
