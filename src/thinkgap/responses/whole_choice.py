r"""Reads which option a box or a whole reply chooses: by label, by label and text, or by text.

It does not know where in a reply that text stands, or which option is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from thinkgap.errors import ConfigError
from thinkgap.responses.bullets import after_bullet, bullet_names
from thinkgap.responses.labels import LabelMatch, label_form, labels_of
from thinkgap.responses.options import Options
from thinkgap.responses.reading import ENCLOSED, TWO_LABELS, Read, peeled

CONFLICT = "label_text_conflict"
LABEL_IS_OPTION = "label_is_option"
_SEPARATOR = re.compile(r"\s*(?:[.:)]+(?=\s|\Z|[^\W\d])|--?(?=\s)|—|,)?\s*")
_GLOSS_SEPARATOR = re.compile(r"[.:)]|-|—")
_NUMERIC_SEPARATOR = re.compile(r"[.:)]\s|\)")
_LIST = re.compile(r"(?:or|and|nor)\b|[/&,]", re.IGNORECASE)
_NAMED = re.compile(r"(?:the\s+)?(?:correct\s+)?(?:option|choice|letter|label)\s+", re.IGNORECASE)
_OTHER_CASE = re.compile(r"([^\W\d_]{1,5})[.:)]\s*")


class WholeChoiceReader:
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
            agreed(self._alone(text), self._label_and_option(text))
            or self._other_case_and_option(text)
            or self._bullet(text)
        )

    def _named(self, text: str) -> Read | None:
        """`Option C`, or `Option C: text` with C's own text."""
        for form in peeled(text):
            if name := _NAMED.match(form):
                rest = form[name.end() :]
                return agreed(
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


def agreed(first: Read | None, second: Read | None) -> Read | None:
    """The one that is there; a failure where both are and differ."""
    if first is None or second is None:
        return first or second
    return first if second.answer in (None, first.answer) else Read(None, flags=(CONFLICT,))
