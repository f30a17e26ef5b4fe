"""Options that refer to other options: "All of the above", "Both A and B".

They do not stand for themselves: moved to another slot, or shown under other letters, they say something else, or
nothing. Precision comes before recall, because an item is left out on this ground. Knows English phrases only.

Words are compared in any case, letters as capitals: "a or b" is prose more often than a reference. A phrase counts
where it is the whole option, save for what "above" may be followed by: "None of these" refers to the options, "None of
these countries" may mean those of the question. Letters count where they name other options of the item, and only if
what those say is not itself made of letters: where options read "A and B", "A and C", "B and C", the letters are those
of the question (points, statements, vitamins), and so are roman numerals. Not counted, because as often they mean
something else: "Both", "Neither", "None of them", a single letter, "All choices involve costs".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgap.types import LETTERS

_SOME = (
    r"(?:all|none|any|some|most|both|each|either|neither|not all|not any|"
    r"(?:only |at least |any |all |more than )?(?:one|two|three|four))"
)
_OPTIONS = r"(?:answers?|choices?|options?|responses?|alternatives?)"
_RIGHT = (
    r"(?:(?:is|are|were|was|may be|can be|could be) (?:both |all |equally )?"
    r"(?:correct|true|right|incorrect|false|wrong|possible|valid)|apply|applies)"
)
_WHOLE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_SOME}(?: of)?(?: the)?(?: {_OPTIONS})? above(?:| {_OPTIONS}| statements?)"
        rf"(?:| {_RIGHT}|[,;:.(]? ?\(?(?:but|except|is|are|was|were|will|would|can|could|may|have|has|do|does)\b.*)",
        rf"{_SOME}(?: of)?(?: the)? {_OPTIONS} (?:(?:given |listed |provided )?(?:above )?{_RIGHT}|"
        rf"(?:given|listed|provided)(?: above)?|above)",
        rf"(?:all|none|any|neither|either) of the {_OPTIONS}(?: {_RIGHT})?",
        rf"{_SOME} (?:of )?these(?:| {_OPTIONS})(?:| {_RIGHT})",
        rf"{_SOME} of the others?(?:| {_OPTIONS})(?:| {_RIGHT})",
        rf"(?:all |none |both |only |either )?(?:of )?the (?:first|last) (?:two|three|four)"
        rf"(?:| {_OPTIONS}| of these| of the above)(?: only)?(?: {_RIGHT})?",
        rf"(?:the )?(?:correct |right )?answer is not (?:given|listed|shown|among (?:these|the {_OPTIONS}))(?: above)?",
        rf"no (?:correct |right )?{_OPTIONS} (?:is|are) (?:correct|right|true|given|listed|shown)",
    )
)

_LETTER = r"\(?([A-Z])\)?"
_LIST = rf"{_LETTER}(?:(?:, ?(?:and |or |nor |& ?)?| and | or | nor | ?& ?){_LETTER})+"
_BUT_NOT = rf"(?:,? but not (?:{_LETTER}))?"
_LETTERS = re.compile(
    rf"(?P<strong>(?i:both|either|neither|only|all of|any of|none of|(?:both )?{_OPTIONS}) )?"
    rf"(?P<letters>{_LIST}{_BUT_NOT})"
    rf"(?P<tail> (?i:only|both|above|together|{_RIGHT}))?"
)
_COMMAS_ONLY = re.compile(r"[^,]*(?:, ?\(?[A-Z]\)?)+")


def referring(choices: Sequence[str]) -> tuple[int, ...]:
    """Indices of the options that refer to other options of the same item.

    Args:
        choices: option contents in the source's order, whose letters run from A.
    """
    plain = [" ".join(choice.split()).strip(" .\"'“”") for choice in choices]
    lettered = [_LETTERS.fullmatch(text) is not None or re.fullmatch(_LETTER, text) is not None for text in plain]
    return tuple(
        index
        for index, text in enumerate(plain)
        if any(pattern.fullmatch(text.strip("()")) for pattern in _WHOLE) or _names_options(text, index, lettered)
    )


def _names_options(text: str, own: int, lettered: Sequence[bool]) -> bool:
    """Whether `text` is a list of letters of other options, none of which is itself letters."""
    match = _LETTERS.fullmatch(text)
    if match is None or _COMMAS_ONLY.fullmatch(match["letters"]):
        return False
    named = [LETTERS.index(letter) for letter in re.findall(r"[A-Z]", match["letters"])]
    if any(index >= len(lettered) or index == own or lettered[index] for index in named):
        return False
    # Without a word that says so, letters refer to what stands before: "A and B" as the third option or later.
    return bool(match["strong"] or match["tail"]) or max(named) < own
