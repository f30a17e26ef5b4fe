"""How the rules judge sees a problem: its content words and parts, its options, and what kind of answer it asks for.

It reads the problem as `Pair.problem` has it: a context, a question, options below "Options:". It knows no trace.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thinkgap.judging.rule_texts import clauses_of, share, stems_of
from thinkgap.responses.noise import lexical_tokens
from thinkgap.responses.normalise import normalise

COPIED = 0.8
"""Share of a clause's content words in the problem from which on it restates."""
_STATED = 0.6
"""Share of a yes/no question's content words from which on a clause says it as a statement."""
_SHORT = 5
"""Content words up to which a clause has to be one part of the problem to restate it."""

_OPTION = re.compile(r"^[ \t]*\(?([A-Z]|\d{1,2})[.)][ \t]+(.*\S)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*(?:Context|Question):[ \t]*", re.MULTILINE)
_POLAR = re.compile(
    r"\s*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must|am)\b", re.IGNORECASE
)
_NUMERIC = re.compile(
    r"\bhow\s+(?:many|much|long|far|old|often)\b|\bnumber\b|\bdigits?\b(?!\s+in)|\bsum\b|\bvalue\b|\bwhat\s+is\s+[\d(]|"
    r"\bcost\b|\bwhat\s+time\b|\bage\b|\barea\b|\bspeed\b",
    re.IGNORECASE,
)
_DIVIDE = re.compile(r",\s|\band\b")
_COLOUR = re.compile(r"\b(?:what|which)\s+colou?r\b|\bwhere\b", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """What the rules know of a problem."""

    stems: frozenset[str]
    words: str
    """All words, lower-cased, each between blanks."""
    squeezed: str
    """The text without white space."""
    question: frozenset[str]
    """Content words of what is asked."""
    given: frozenset[str]
    """Content words of all that is neither question nor option."""
    parts: tuple[frozenset[str], ...]
    """Content words of the question, of each option, and of each part of what is given, divided at commas and "and"."""
    options: tuple[frozenset[str], ...]
    labels: frozenset[str]
    is_polar: bool
    """Asked to be answered by yes or no."""
    is_numeric: bool
    """Asks for a number, so far as can be told."""

    def is_stated_by(self, stems: Collection[str]) -> bool:
        """Whether a clause says what was asked by yes or no as a statement, and not what was given."""
        stated = self.is_polar and share(self.question, stems) >= _STATED
        return stated and share(stems, self.given) < COPIED

    def restates(self, stems: Sequence[str]) -> bool:
        """Whether a clause says nothing that the problem does not say.

        A short clause has to be one part of the problem: a few of its words prove nothing.
        """
        if share(stems, self.stems) < COPIED or any(one[0].isdigit() and one not in self.stems for one in stems):
            return False
        return len(stems) > _SHORT or any(share(stems, part) >= COPIED for part in self.parts)

    def has_words(self, text: str) -> bool:
        """Whether the words of `text` stand in the problem in a row."""
        words = lexical_tokens(text.lower())
        return bool(words) and f" {' '.join(words)} " in self.words


@lru_cache(maxsize=4096)
def problem_of(text: str) -> Problem:
    """A problem, kept for the other traces that answer it."""
    text = normalise(text)
    options = [(label, body) for label, body in _OPTION.findall(text)]
    stem, _, _ = text.partition("\nOptions:")
    body, asked = _asked(stem)
    option_stems = tuple(frozenset(stems_of(option)) for _, option in options)
    question = frozenset(stems_of(asked))
    divided = (frozenset(stems_of(part)) for clause in clauses_of(body) for part in _DIVIDE.split(clause.text))
    return Problem(
        stems=frozenset(stems_of(text)),
        words=f" {' '.join(lexical_tokens(text.lower()))} ",
        squeezed="".join(text.lower().split()),
        question=question,
        given=frozenset(stems_of(body)),
        parts=(question, *option_stems, *divided),
        options=option_stems,
        labels=frozenset(label for label, _ in options),
        is_polar=not options and bool(_POLAR.match(asked)),
        is_numeric=_asks_number(asked, [option for _, option in options]),
    )


def _asked(stem: str) -> tuple[str, str]:
    """What is given and what is asked: the last sentence with a question mark, or the last one."""
    stem = _HEADING.sub("\n", stem)
    end = stem.rfind("?")
    end = len(stem.rstrip(" .!\n")) if end < 0 else end
    start = max(stem.rfind(mark, 0, end) for mark in (". ", "! ", "? ", "\n"))
    return stem[: max(start, 0)], stem[start + 1 : end + 1]


def _asks_number(asked: str, options: list[str]) -> bool:
    if options:
        return all(any(one.isdigit() for one in option) for option in options)
    return bool(_NUMERIC.search(asked)) and not _COLOUR.search(asked)
