"""Reads which option a statement chooses, and makes the reader of one presentation.

It does not know where in a reply a statement begins, or which option is right.
"""

from __future__ import annotations

import re
from functools import lru_cache

from thinkgap.responses.bullets import after_bullet
from thinkgap.responses.labels import label_form
from thinkgap.responses.options import OptionMatch
from thinkgap.responses.reading import SENTENCE_END, TWO_LABELS, Read, peeled
from thinkgap.responses.whole_choice import CONFLICT, LABEL_IS_OPTION, WholeChoiceReader, agreed

_FILLER = re.compile(
    r"(?:(?:therefore|thus|then|hence|clearly|simply|indeed|most likely|likely|probably|definitely)\b[,\s]*)?"
    r"(?:(?:the\s)?(?:correct\s)?(?:option|choice|letter|label)\b[\s:]*)?(?P<several>(?:either|both)\b\s*)?",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[*_`\"'”’]{0,3} {0,2}[(\[]")
_ARTICLE = re.compile(r"(?:a|an|the)\s+", re.IGNORECASE)
_LINE = 2000
"""Longer lines are prose."""


class ChoiceReader(WholeChoiceReader):
    """Reads labels and options of one presentation, in boxes, whole replies and statements."""

    def stated(self, text: str, start: int) -> Read | None:
        """The label or the option right after an anchor."""
        places, several = self._places(text, start)
        return (
            agreed(self._option_alone(text, places), self._label_then_option(text, places[-1]))
            or self._label_at(text, places[-1], several)
            or (None if several else self._lower_case_label(text, places[-1]))
            or self._option_at(text, places)
        )

    def _places(self, text: str, start: int) -> tuple[list[int], bool]:
        """Where an answer may begin: after blanks, after marks, after words that only introduce it."""
        blank = start
        while blank < len(text) and text[blank].isspace():
            blank += 1
        lead = self._labels.after_lead(text, blank)
        if self._bullets and (marked := after_bullet(self._options, text, blank)) is not None:
            lead = self._labels.after_lead(text, marked)
        filler = _FILLER.match(text, lead)
        after = self._labels.after_lead(text, filler.end()) if filler and filler.end() > lead else lead
        return sorted({blank, lead, after}), bool(filler and filler.group("several"))

    def _option_alone(self, text: str, places: list[int]) -> Read | None:
        """A line or sentence that is one option's text; a label that is one as well is left to the label."""
        if not self._options:
            return None
        for place in places:
            line = _line(text, place)
            end = SENTENCE_END.search(line)
            sentence = line[: end.start()] if end else line
            if line[len(sentence) : len(sentence) + 1] == "?":
                continue
            for said in dict.fromkeys((line, sentence)):
                if label_form(self._labels, said)[0] is None and (slot := self._options.whole(said)) is not None:
                    end = place + len(said.rstrip())
                    # What looks like a sentence's end can be within a longer option (U.S. and U.S. Army).
                    longer = self._options.at(text, place)
                    if longer is not None and longer.end > end + 1:
                        return self._read(longer.slot, longer.start, longer.end)
                    return self._read(slot, place, end)
        return None

    def _label_at(self, text: str, place: int, several: bool) -> Read | None:
        label = self._labels.at(text, place)
        if label is None:
            return None
        if self._labels.second(text, label) is not None:
            return Read(None, start=label.start, end=label.end, flags=(TWO_LABELS,))
        if several:
            return None
        if not self._labels.stands(text, label):
            return None
        rest = _line(text, self._after_separator(text, label))
        other, own_case = label_form(self._labels, rest)
        if own_case and other != label.slot:
            return Read(None, start=label.start, end=label.end, flags=(TWO_LABELS,))
        if self._options.whole(rest) is not None:
            return Read(None, start=label.start, end=label.end, flags=(CONFLICT,))
        alone = label_form(self._labels, _line(text, place))[0] is not None
        is_option = alone and self._options.whole(text[label.start : label.end]) not in (None, label.slot)
        return self._read(label.slot, label.start, label.end, (LABEL_IS_OPTION,) if is_option else ())

    def _label_then_option(self, text: str, place: int) -> Read | None:
        """`B: photosynthesis` or `B photosynthesis`, where that is the text of the option in slot B."""
        label = self._labels.at(text, place)
        if label is None:
            return None
        rest = self._after_separator(text, label)
        end = self._options.own_at(text, rest, label.slot) if rest > label.end else None
        return None if end is None else self._read(label.slot, label.start, end)

    def _lower_case_label(self, text: str, place: int) -> Read | None:
        line = _line(text, place)
        slot, _ = label_form(self._labels, line)
        if slot is None or line.rstrip().endswith("?"):
            return None
        if self._options.whole(line) not in (None, slot):
            return Read(None, start=place, end=place + len(line), flags=(LABEL_IS_OPTION,))
        form = next(form for form in peeled(line) if self._labels.in_any_case(form) == slot)
        start = text.index(form, place)
        return self._read(slot, start, start + len(form))

    def _option_at(self, text: str, places: list[int]) -> Read | None:
        if not self._options:
            return None
        for place in places:
            article = _ARTICLE.match(text, place)
            skipped = article and self._labels.exact(article.group().strip()) is None
            for start in (place, article.end()) if article and skipped else (place,):
                if found := self._options.at(text, start):
                    return self._with_label(text, found)
        return None

    def _with_label(self, text: str, option: OptionMatch) -> Read:
        """An option and, if it follows in brackets, its label: `photosynthesis (B)`."""
        bracket = _BRACKET.match(text, option.end)
        label = self._labels.at(text, bracket.end()) if bracket else None
        if label is None or text[label.end : label.end + 1] not in (")", "]"):
            return self._read(option.slot, option.start, option.end)
        if label.slot != option.slot:
            return Read(None, start=option.start, end=option.end, flags=(CONFLICT,))
        return self._read(option.slot, option.start, label.end + 1)


@lru_cache(maxsize=1024)
def choice_reader(labels: tuple[str, ...], options: tuple[str, ...] = ()) -> ChoiceReader:
    """`ChoiceReader`, made once for each presentation."""
    return ChoiceReader(labels, options)


def _line(text: str, start: int) -> str:
    """The rest of the line; empty if it is too long to be an answer."""
    line = text[start : start + _LINE + 1].partition("\n")[0]
    return line if len(line) <= _LINE else ""
