"""How the rules judge sees a text: its clauses and their content words.

Content words are runs of Latin letters and digits, cut to a stem of six letters, without words that any answer to any
question may hold. It knows no rule and no label.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from thinkgap.responses.noise import lexical_tokens

_STEM = 6
_STOP = frozenset(
    """a about above according after again all allowed also am an and another answer answered answering any are as at be
    because been before below best both break but by calculate can cannot choice choose compare conclude consider
    context correct could denote describe determine did do does down each else evaluate examine explain explanation
    false final finally find first following for from further get give given gives go had has have he hence her here him
    his how i identify if in indeed information into is it its just know let like list look lot make makes mark may
    me means might more most must my need needs next no none nor not now of off okay on one only option or other our out
    over part please previous problem process provide question reason reasoning require same say see select she
    short should show simply since so solution solve some start state step still such sure than that the their them then
    there therefore these they think this those thus to together too true under up us use using very want was way we
    well were what when where whether which while who whole whose why will with within without would wrong yes yet you
    your""".split()  # noqa: SIM905
)
_CLAUSE = re.compile(r"[^.!?;:\n。！？；：]+|[.!?;:。！？；：](?=[^\s])")
"""A run up to the next mark; a mark inside a number or word (3.5, 8:40) ends no clause and is joined again."""
_MARKER = re.compile(r"\s*\(?(?:[A-Z]|\d{1,2})\)?\s*")
_TRAILING = re.compile(r"\s([A-Z]|\d{1,2})\s*\Z")
_LEAD_IN = re.compile(
    r"(?:\b(?:so|thus|therefore|hence),?\s+)?(?:\b(?:the|my|our)\s+)?(?:\b(?:final|correct|right|short|best)\s+)?"
    r"\banswer(?:\s+to\s+this\s+question)?(?:\s+is)?\s*\Z",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\s*(?:first,?\s+|now,?\s+|next,?\s+|then,?\s+|finally,?\s+)?(?:to\s+(?:answer|calculate|convert|determine|do|find|get|"
    r"solve|see)\b|let(?:'|’)?s\b|let\s+us\b|we\s+(?:need|have|must|can)\b)|step\s+\d",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Clause:
    """A part of a text up to a full stop, colon, semicolon or line end, without the label of a list."""

    start: int
    end: int
    text: str
    stems: tuple[str, ...]
    """Content words."""
    is_plan: bool
    """Says what is to be done ("To find the area, we need to ...")."""


@dataclass(frozen=True)
class Trace:
    """What the rules know of a trace; positions are of the text as it came."""

    text: str
    clauses: tuple[Clause, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        """All content words."""
        return frozenset(stem for clause in self.clauses for stem in clause.stems)

    @cached_property
    def is_foreign(self) -> bool:
        """Whether most letters are of another script than Latin."""
        if self.text.isascii():
            return False
        letters = [one for one in self.text if one.isalpha()]
        return sum(ord(one) > 0x24F for one in letters) * 2 > len(letters)


def stems_of(text: str) -> tuple[str, ...]:
    """The content words of a text, in order."""
    return tuple(_stem(word) for word in _words(text) if word not in _STOP and _is_content(word))


def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a text that hold more than a list's label, in order."""
    found, count = [], 0
    for start, end in _spans(text):
        piece = text[start:end]
        mark = piece.strip(" ()")
        if _MARKER.fullmatch(piece) and end < len(text.rstrip(" .")) and (not mark.isdigit() or int(mark) == count + 1):
            count += mark.isdigit()
            continue
        trailing = _TRAILING.search(piece) if end < len(text) else None
        if trailing and (not trailing[1].isdigit() or int(trailing[1]) == count + 1):
            count += trailing[1].isdigit()
            end = start + trailing.start()
            piece = text[start:end]
        body = _LEAD_IN.sub("", piece) if "answer" in piece.lower() else piece
        found.append(Clause(start, end, piece, stems_of(body), bool(_PLAN.match(piece))))
    return tuple(found)


def trace_of(text: str) -> Trace:
    """A trace."""
    return Trace(text, clauses_of(text))


def first_content(text: str) -> int:
    """Where the first content word of a text ends; 0 if there is none."""
    for word in _words(text):
        if word not in _STOP and _is_content(word):
            return text.lower().find(word) + len(word)
    return 0


def share(stems: Iterable[str], known: Collection[str]) -> float:
    """Share of content words that are known; 0 without any."""
    listed = list(stems)
    return sum(stem in known for stem in listed) / len(listed) if listed else 0.0


def _words(text: str) -> Iterable[str]:
    """Words in lower case without what an apostrophe adds; "don't" and its like are none."""
    for word in lexical_tokens(text.lower()):
        if "'" not in word and "’" not in word:
            yield word
        elif not word.endswith(("n't", "n’t")):
            yield re.split("['’]", word, maxsplit=1)[0]


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word)[:_STEM]


def _is_content(word: str) -> bool:
    return len(word) > 2 or word[0].isdigit()


def _spans(text: str) -> Iterable[tuple[int, int]]:
    """Clauses by place. A mark that the next character touches is part of its clause."""
    start = end = -1
    for match in _CLAUSE.finditer(text):
        if start >= 0 and match.start() == end:
            end = match.end()
            continue
        if start >= 0 and text[start:end].strip():
            yield start, end
        start, end = match.span()
    if start >= 0 and text[start:end].strip():
        yield start, end
