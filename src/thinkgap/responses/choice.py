r"""Reads which option a text chooses: by label, by label and text, or by text.

It does not know where in a reply that text stands, or which option is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from thinkgap.errors import ConfigError
from thinkgap.responses.bullets import after_bullet, bullet_names
from thinkgap.responses.labels import LabelMatch, label_form, labels_of
from thinkgap.responses.options import OptionMatch, Options
from thinkgap.responses.reading import ENCLOSED, SENTENCE_END, TWO_LABELS, Read, peeled

CONFLICT = "label_text_conflict"
LABEL_IS_OPTION = "label_is_option"

_FILLER = re.compile(
    r"(?:(?:therefore|thus|then|hence|clearly|simply|indeed|most likely|likely|probably|definitely)\b[,\s]*)?"
    r"(?:(?:the\s)?(?:correct\s)?(?:option|choice|letter|label)\b[\s:]*)?(?P<several>(?:either|both)\b\s*)?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*(?:[.:)]+(?=\s|\Z|[^\W\d])|--?(?=\s)|—|,)?\s*")
_GLOSS_SEPARATOR = re.compile(r"[.:)]|-|—")
_NUMERIC_SEPARATOR = re.compile(r"[.:)]\s|\)")
_BRACKET = re.compile(r"[*_`\"'”’]{0,3} {0,2}[(\[]")
_LIST = re.compile(r"(?:or|and|nor)\b|[/&,]", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:a|an|the)\s+", re.IGNORECASE)
_NAMED = re.compile(r"(?:the\s+)?(?:correct\s+)?(?:option|choice|letter|label)\s+", re.IGNORECASE)
_OTHER_CASE = re.compile(r"([^\W\d_]{1,5})[.:)]\s*")
_LINE = 2000
"""Longer lines are prose."""


class ChoiceReader:
    """Reads labels and options of one presentation.

    Options that are shown as bullets have no labels: their own texts are the answers, and no letter or number is one
    unless an option says so.

    Args:
        labels: one per slot; none for bullets.
        options: the options' texts in slot order, or none.

    Raises:
        ConfigError: labels (of bullets, options) are missing, cannot be told apart, or are not as many as the options.
    """

    def __init__(self, labels: tuple[str, ...], options: tuple[str, ...] = ()) -> None:
        self._labels = labels_of(labels)
        self._bullets = not labels
        self._names = labels or bullet_names(options)
        if labels and options and len(options) != len(labels):
            raise ConfigError(f"{len(labels)} labels {labels} for {len(options)} options: give one label per option")
        self._options = Options(options, lambda text: self._labels.in_any_case(text) is not None)

    def boxed(self, content: str) -> Read | None:
        r"""`C`, `\text{C}`, `(C)`, `Option C`, `C: text`, or the text of one option."""
        read = self.whole(content) or self._named(content) or self._label_and_gloss(content)
        if read is None and len({found.slot for found in self._labels.isolated(content)}) > 1:
            return Read(None, flags=(TWO_LABELS,))
        return read

    def whole(self, text: str) -> Read | None:
        """A label, one option's text, or a label and its own option's text."""
        return (
            _agreed(self._alone(text), self._label_and_option(text))
            or self._other_case_and_option(text)
            or self._bullet(text)
        )

    def stated(self, text: str, start: int) -> Read | None:
        """The label or the option right after an anchor."""
        places, several = self._places(text, start)
        return (
            _agreed(self._option_alone(text, places), self._label_then_option(text, places[-1]))
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

    def _named(self, text: str) -> Read | None:
        """`Option C`, or `Option C: text` with C's own text."""
        for form in peeled(text):
            if name := _NAMED.match(form):
                rest = form[name.end() :]
                return _agreed(
                    self._alone(rest) if label_form(self._labels, rest)[1] else None, self._label_and_option(rest)
                )
        return None

    def _other_case_and_option(self, text: str) -> Read | None:
        """`IV. text` under the label iv, where that is iv's own text."""
        for form in peeled(text):
            label = _OTHER_CASE.match(form)
            slot = self._labels.in_any_case(label.group(1)) if label else None
            if label is not None and slot is not None and self._options.whole(form[label.end() :]) == slot:
                return self._read(slot)
        return None

    def _bullet(self, text: str) -> Read | None:
        """An option's text after the mark under which it is shown."""
        text = text.strip()
        start = after_bullet(self._options, text, 0) if self._bullets else None
        return None if start is None else self._alone(text[start:])

    def _read(self, slot: int, start: int = 0, end: int = 0, flags: tuple[str, ...] = ()) -> Read:
        return Read(self._names[slot], slot, start, end, flags)

    def _alone(self, text: str) -> Read | None:
        """A label, or else one option's text, and nothing else."""
        slot, own_case = label_form(self._labels, text)
        option = self._options.whole(text)
        if slot is None:
            return None if option is None else self._read(option)
        if option in (None, slot):
            return self._read(slot)
        # "a" under the labels A to D, where another option's text is "a", may mean either.
        return self._read(slot, flags=(LABEL_IS_OPTION,)) if own_case else Read(None, flags=(LABEL_IS_OPTION,))

    def _label_and_option(self, text: str) -> Read | None:
        for form in peeled(text):
            for label, rest in self._split(form):
                option = self._options.whole(rest)
                if option is not None:
                    return self._read(label.slot) if option == label.slot else Read(None, flags=(CONFLICT,))
        return None

    def _label_and_gloss(self, text: str) -> Read | None:
        """A label, a separator, and any text that is no second answer."""
        for form in peeled(text):
            for label, rest in self._split(form):
                between = form[label.end : len(form) - len(rest)]
                numeric = self._labels.names[label.slot][-1:].isdigit()
                separated = _NUMERIC_SEPARATOR if numeric else _GLOSS_SEPARATOR
                set_apart = separated.search(between) or (rest.startswith("(") and between.isspace() and not numeric)
                if set_apart and self._is_gloss(label, rest):
                    return self._read(label.slot)
        return None

    def _split(self, form: str) -> Iterator[tuple[LabelMatch, str]]:
        """The label that opens `form`, and what follows it after white space or a separator."""
        label = self._labels.at(form, self._labels.after_lead(form, 0))
        if label is not None:
            rest = self._after_separator(form, label)
            if label.end < rest < len(form):
                yield label, form[rest:]

    def _after_separator(self, text: str, label: LabelMatch) -> int:
        closed = ENCLOSED.match(text, label.end)
        separator = _SEPARATOR.match(text, closed.end() if closed else label.end)
        return separator.end() if separator else label.end

    def _is_gloss(self, label: LabelMatch, rest: str) -> bool:
        """Whether `rest` can be a text beside the label and not a second answer."""
        other, _ = label_form(self._labels, rest)
        listed = any(
            found.slot != label.slot and rest[found.end : found.end + 1] in (".", ":", ")")
            for found in self._labels.isolated(rest)
            if rest[found.end :].strip()
        )
        return other is None and not listed and _LIST.match(rest) is None

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


def _agreed(first: Read | None, second: Read | None) -> Read | None:
    """The one that is there; a failure where both are and differ."""
    if first is None or second is None:
        return first or second
    return first if second.answer in (None, first.answer) else Read(None, flags=(CONFLICT,))


def _line(text: str, start: int) -> str:
    """The rest of the line; empty if it is too long to be an answer."""
    line = text[start : start + _LINE + 1].partition("\n")[0]
    return line if len(line) <= _LINE else ""
