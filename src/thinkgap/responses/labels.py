"""Finds option labels in text: letters, digits, Greek letters, symbols, whatever the item was shown with.

A label is matched by its own spelling, never as "some capital letter". It does not know the options' texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from thinkgap.errors import ConfigError
from thinkgap.responses.normalise import normalise
from thinkgap.responses.reading import CLOSERS, CONTINUATION, ENCLOSED, WRAPPERS, ends_here, peeled

_LEAD = "*_`\"'“”‘’«$~:([{}"
_OPENING = "([{*_`$\"'“‘"
_WORDS = ("A", "I", "a", "i")
"""Labels that are words of English as well."""
_NOTHING = "(?!)"
"""Pattern of what stands nowhere."""
_HARD = r"(?:,|;)?\s{0,3}(?:and/or|or|nor)\b|[/&+]"
_SOFT = r",?\s{0,3}and\b|,"
_VERB = re.compile(
    r"\s+(?:is|was|are|were|has|have|had|does|do|did|would|will|should|could|can|cannot|seems?|looks?|isn['’]t)\b"
)
_WORD = re.compile(rf"\s+(?!{CONTINUATION})[a-z]+")


@dataclass(frozen=True)
class LabelMatch:
    """One label at `text[start:end]`."""

    slot: int
    start: int
    end: int


class Labels:
    """The labels of one presentation.

    Args:
        labels: one per slot; none of options that are shown without labels, which no text holds then.
        any_case: whether `B` may be written `b` anywhere (yes and no); else only where nothing else stands.

    Raises:
        ConfigError: labels are blank, or equal once they are normalised.
    """

    def __init__(self, labels: tuple[str, ...], any_case: bool = False) -> None:
        self.names = labels
        self.any_case = any_case
        spellings = [normalise(label).strip() for label in labels]
        if not all(spellings) or len(set(spellings)) < len(labels):
            raise ConfigError(f"labels {labels} cannot be read from replies: give one label per option, all different")
        self._exact = {spelling: slot for slot, spelling in enumerate(spellings)}
        lower = [spelling.casefold() for spelling in spellings]
        self._lower = {spelling: slot for slot, spelling in enumerate(lower) if lower.count(spelling) == 1}
        longest = sorted(spellings, key=len, reverse=True)
        one = "|".join(re.escape(spelling) + _boundary(spelling) for spelling in longest) or _NOTHING
        case = re.IGNORECASE if any_case else 0
        lead = re.escape("".join(sorted(set(_LEAD) - set("".join(spellings)))))
        self._lead = re.compile(rf"(?:[\s{lead}]|{WRAPPERS}|\\[(\[])*")
        self._one = re.compile(one, case)
        self._isolated = re.compile(rf"(?<!\w)(?<!\w[-'’])(?:{one})", case)
        self._second = re.compile(
            rf"{CLOSERS}\s{{0,3}}(?:(?P<hard>{_HARD})|{_SOFT})\s{{0,3}}(?:[{lead}]{{0,3}})(?P<label>{one})", case
        )

    def exact(self, text: str) -> int | None:
        """Slot of the label that `text` is, case and all."""
        return self._exact.get(text)

    def in_any_case(self, text: str) -> int | None:
        """Slot of the only label that `text` is apart from its case."""
        return self._exact.get(text, self._lower.get(text.casefold()))

    def after_lead(self, text: str, start: int) -> int:
        """Position after blanks, emphasis, opening brackets and quotes, none of which is part of a label."""
        lead = self._lead.match(text, start)
        return lead.end() if lead else start

    def at(self, text: str, start: int) -> LabelMatch | None:
        """The label at `start`, the longest one that fits."""
        found = self._one.match(text, start)
        return LabelMatch(self._slot(found.group()), found.start(), found.end()) if found else None

    def isolated(self, text: str) -> list[LabelMatch]:
        """All labels that stand alone in `text`, whatever they mean there."""
        return [LabelMatch(self._slot(m.group()), m.start(), m.end()) for m in self._isolated.finditer(text)]

    def second(self, text: str, first: LabelMatch) -> int | None:
        """Slot of another label that is offered together with `first`: `A or B`, `A, B`, `A and C`.

        `A, and B is wrong` offers one label.
        """
        found = self._second.match(text, first.end)
        if found is None:
            return None
        end = found.end("label")
        slot = self._slot(found.group("label"))
        if not found.group("hard"):
            is_word = self.any_case or found.group("label") in _WORDS
            if _VERB.match(text, end) or (is_word and _WORD.match(text, end)):
                return None
        return slot if slot != first.slot else None

    def stands(self, text: str, match: LabelMatch) -> bool:
        """Whether the label is meant as one and is not the first word of a phrase ("A mammal", "I think").

        Emphasis or a bracket that opens right before the label and closes right after it sets it apart, whatever
        follows.
        """
        opened = match.start > 0 and text[match.start - 1] in _OPENING
        closed = ENCLOSED.match(text, match.end)
        end = closed.end() if closed else match.end
        numeric = self.names[match.slot][-1:].isdigit()
        if text[end : end + 2].lstrip().startswith("?"):
            return False
        set_apart = end > match.end and (opened if not numeric else text[match.end] in ")]")
        return set_apart or text.startswith(")", match.end) or ends_here(text, end, numeric)

    def _slot(self, spelling: str) -> int:
        slot = self._exact.get(spelling)
        return self._lower[spelling.casefold()] if slot is None else slot


@lru_cache(maxsize=256)
def labels_of(labels: tuple[str, ...], any_case: bool = False) -> Labels:
    """`Labels`, made once for each set."""
    return Labels(labels, any_case)


def label_form(labels: Labels, text: str) -> tuple[int | None, bool]:
    """Slot of the label that `text` is once wrappers are off, and whether its case is the label's own."""
    forms = peeled(text)
    for form in forms:
        if (slot := labels.exact(form)) is not None:
            return slot, True
    for form in forms:
        if (slot := labels.in_any_case(form)) is not None:
            return slot, False
    return None, False


def _boundary(label: str) -> str:
    last = label[-1]
    if last.isdigit():
        return r"(?!\w)(?![.,:/]\d)(?!\s?[%°])"
    if last.isalnum() or last == "_":
        return r"(?!\w)(?!['’][A-Za-z])(?![-.]\w)"
    return rf"(?!\w)(?!{re.escape(last)})"
