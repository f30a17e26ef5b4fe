"""Reads yes or no out of a text, by whole words only: "unknown" holds no "no", and "not" is none either.

It does not know the question.
"""

from __future__ import annotations

import re

from thinkgap.responses.labels import label_form, labels_of
from thinkgap.responses.reading import TWO_LABELS, Read, peeled

_NAMES = ("yes", "true", "no", "false")
_DIGITS = {"1": "yes", "0": "no"}
_NEGATED = re.compile(r"(?:\bnot|n['’]t|\bneither|\bnever)\s+(?:\w+\s+)?(?:yes|no|true|false)\b", re.IGNORECASE)
_FILLER = re.compile(
    r"(?:(?:therefore|thus|then|hence|clearly|simply|indeed|likely|probably|definitely)\b[,\s]*)?"
    r"(?P<several>(?:either|both|neither)\b\s*)?",
    re.IGNORECASE,
)
_LONGEST = 2000


class PolarityReader:
    """Reads yes/no answers.

    Args:
        labels: how the item shows Yes and No, if it does; an answer's slot is its place among them.
    """

    def __init__(self, labels: tuple[str, ...] = ()) -> None:
        self._labels = labels_of(_NAMES, any_case=True)
        self._slots = {label.casefold(): slot for slot, label in enumerate(labels)}

    def boxed(self, content: str) -> Read | None:
        """The only polarity among the words of a box; `1` and `0` only if nothing else stands there."""
        if (read := self.whole(content)) is not None:
            return read
        if len(content) > _LONGEST or _NEGATED.search(content):
            return None
        said = {_polarity(match.slot) for match in self._labels.isolated(content)}
        if len(said) > 1:
            return Read(None, flags=(TWO_LABELS,))
        return self._read(said.pop()) if said else None

    def whole(self, text: str) -> Read | None:
        """One word that says yes or no, or `1` or `0`."""
        slot, _ = label_form(self._labels, text)
        if slot is not None:
            return self._read(_polarity(slot))
        digit = _digit(text)
        return self._read(digit) if digit else None

    def stated(self, text: str, start: int) -> Read | None:
        """The polarity right after an anchor."""
        lead = self._labels.after_lead(text, start)
        filler = _FILLER.match(text, lead)
        place = self._labels.after_lead(text, filler.end()) if filler else lead
        line = text[place : place + _LONGEST].partition("\n")[0]
        if digit := _digit(line):
            return self._read(digit, place, place + 1)
        match = self._labels.at(text, place)
        if match is None:
            return None
        second = self._labels.second(text, match)
        if second is not None and _polarity(second) != _polarity(match.slot):
            return Read(None, start=match.start, end=match.end, flags=(TWO_LABELS,))
        several = filler is not None and filler.group("several")
        if several or not self._labels.stands(text, match):
            return None
        return self._read(_polarity(match.slot), match.start, match.end)

    def _read(self, answer: str, start: int = 0, end: int = 0) -> Read:
        return Read(answer, self._slots.get(answer), start, end)


def _polarity(slot: int) -> str:
    return "yes" if slot < 2 else "no"


def _digit(text: str) -> str | None:
    return next((_DIGITS[form] for form in peeled(text) if form in _DIGITS), None)
