"""Finds an option by its text: as a whole, or at the start of a longer text.

Options can be the beginning of one another ("7" and "75", "red" and "red and blue"), so the longest one counts and
two equally good ones are none. It does not know labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from thinkgap.responses.normalise import normalise
from thinkgap.responses.reading import collapsed, ends_here, folded, peeled

_ARTICLE = re.compile(r"\A(?:a|an|the)\s+(?=\S)", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\s*(?:,\s*)?(?:or|and|nor|plus|minus|times|to|versus|vs|than)\b|\s*[/&+*^=<>×÷%°]|-\S|\s*\?", re.I
)
"""What makes more of a text than the option that it starts with."""
_CLOSED = re.compile(r"[*_`$\"'”’»)\]}]+(?!\w)")
_COMMA = re.compile(r",\s*")
_DIGITS_GO_ON = re.compile(r"[.,:/]\d")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMBER = re.compile(r"[-+]?\$?\d[\d,]*(?:\.\d+)?")
_UNIT = re.compile(
    r" (?!(?:thousand|million|billion|trillion|hundred|dozen|percent|point|half|halves|thirds?|quarters?|more|less|"
    r"over|by|divided|multiplied|squared|cubed|through|out|of|is|was|are|not|x)\b)[a-z]+"
)
_MOST = 1000
"""Longer options are found as a whole only."""


@dataclass(frozen=True)
class OptionMatch:
    """The text of one option at `text[start:end]`."""

    slot: int
    start: int
    end: int


class Options:
    """The options' texts of one presentation, in slot order; may be empty.

    Args:
        texts: one per slot.
        is_label: whether a text is a label; such an option is never looked for at the start of a longer text.
    """

    def __init__(self, texts: tuple[str, ...], is_label: Callable[[str], bool]) -> None:
        self._is_label = is_label
        raw = [collapsed(normalise(text)) for text in texts]
        bare = [collapsed(peeled(text)[-1]) if text else "" for text in raw]
        self._levels = [
            _slots(raw),
            _slots(bare),
            _slots([folded(text) for text in raw]),
            _slots([folded(text) for text in bare]),
        ]
        self._without_article = _slots([_ARTICLE.sub("", folded(text), count=1) for text in bare])
        self._own = [{folded(text), folded(short)} - {""} for text, short in zip(raw, bare, strict=True)]
        self._starts = sorted(
            {
                (start, slot)
                for slot, own in enumerate(self._own)
                for start in own
                if len(start) <= _MOST and not is_label(start)
            },
            key=lambda pair: -len(pair[0]),
        )
        self._window = 2 * max((len(start) for start, _ in self._starts), default=0) + 100

    def __bool__(self) -> bool:
        return any(self._own)

    def whole(self, text: str) -> int | None:
        """Slot of the only option whose text `text` is, apart from wrappers, or else case, or else an article."""
        forms = [collapsed(form) for form in peeled(text)]
        for form in forms:
            for level, slots in enumerate(self._levels):
                found = slots.get(form if level < 2 else folded(form))
                if found:
                    return found[0] if len(found) == 1 else None
        for form in forms:
            article = _ARTICLE.match(form)
            if article is None or not self._is_label(article.group().strip()):
                found = self._without_article.get(folded(form[article.end() :] if article else form))
                if found:
                    return found[0] if len(found) == 1 else None
        return None

    def at(self, text: str, start: int) -> OptionMatch | None:
        """The option that the line goes on with at `start`, if only one is the longest and ends at a word's end."""
        seen = _line(text, start, self._window)
        fitting = [(option, slot) for option, slot in self._starts if seen.startswith(option)]
        fitting = [(option, slot) for option, slot in fitting if self._ends(seen, option)]
        longest = [(option, slot) for option, slot in fitting if len(option) == len(fitting[0][0])]
        if len(longest) != 1:
            return None
        option, slot = longest[0]
        return OptionMatch(slot, start, _advanced(text, start, len(option.replace(" ", ""))))

    def own_at(self, text: str, start: int, slot: int) -> int | None:
        """Where the text of the option in `slot` ends, if `text` goes on with it at `start`; else None."""
        if not self._own:
            return None
        longest = max(map(len, self._own[slot]), default=0)
        seen = _line(text, start, 2 * longest + 100)
        for option in sorted(self._own[slot], key=len, reverse=True):
            if seen.startswith(option) and not _cut_within(seen, len(option)):
                return _advanced(text, start, len(option.replace(" ", "")))
        return None

    def _ends(self, seen: str, option: str) -> bool:
        closed = _CLOSED.match(seen, len(option))
        end = closed.end() if closed else len(option)
        if _cut_within(seen, len(option)) or _GOES_ON.match(seen, end):
            return False
        listed = _COMMA.match(seen, end)
        if listed and any(seen.startswith(other, listed.end()) for other, _ in self._starts):
            return False
        is_number = _NUMBER.fullmatch(option) is not None
        if is_number and _UNIT.match(seen, end):
            return True
        return _LONG_WORD.search(option) is not None or ends_here(seen, end, is_number)


def _slots(texts: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for slot, text in enumerate(texts):
        if text:
            found.setdefault(text, []).append(slot)
    return found


def _line(text: str, start: int, longest: int) -> str:
    """What follows `start` on its line, at most `longest` characters, folded for comparison."""
    return folded(collapsed(text[start : start + longest].partition("\n")[0]))


def _cut_within(text: str, end: int) -> bool:
    """Whether `end` falls within a word or a number."""
    before, after = text[end - 1], text[end : end + 1]
    return (before.isalnum() and (after.isalnum() or after == "_")) or _DIGITS_GO_ON.match(text, end) is not None


def _advanced(text: str, start: int, n: int) -> int:
    """Position in `text` after `n` characters that are not white space."""
    position = start
    while n and position < len(text):
        n -= not text[position].isspace()
        position += 1
    return position
