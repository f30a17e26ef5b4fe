r"""What all readers of answers share: the result, taking wrappers off a text, and what may follow an answer.

It does not know labels, options or numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from thinkgap.latex import closing_brace

TWO_LABELS = "two_labels"
"""Flag of an answer that names two labels, or both yes and no."""

WRAPPERS = r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathit|mathsf|boldsymbol|mbox|emph)\s*\{"
CONTINUATION = (
    r"(?:because|since|as|for|so|which|due|given|based|by|when|where|while|if|but|not|instead|rather|here|in|according|"
    r"although|though|from|with|on|and|thus|therefore|hence|then)\b"
)
"""Words that can follow a label and cannot follow the article "A"."""

CLOSERS = r"(?:[)\]}*_`\"'”’»$]|\\[)\]])*"
ENCLOSED = re.compile(CLOSERS)
SENTENCE_END = re.compile(r"。|[.!?;](?=[\s*_`\"'”’)\]}$]|\Z)|\n")

_WRAPPED = re.compile(WRAPPERS)
_MARKS = "*_`\"'“”‘’«»$"
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_HALVES = {")": "(", "]": "["}
_LONGEST = 2000
"""Longer texts are no label, option or number."""
_MOST_LAYERS = 50
"""Nobody wraps an answer in more; a text of brackets alone would cost as many passes as it has brackets."""
_END = re.compile(
    r"[ \t]*(?:\Z|\n|[.!;,](?=\s|\Z|[^\w\s])|[)\]}](?=\W|\Z)|:[ \t]*(?:\n|\Z)|</|<br|<\||\\\\|"
    r"[。、\u2600-\u27bf\U0001f000-\U0001faff]|"
    rf"{CONTINUATION})",
    re.IGNORECASE,
)
_GLOSS = re.compile(r"[ \t]*(?::|—|--?(?=\s))|[ \t]+[(\[]")


@dataclass(frozen=True)
class Read:
    """What a reader made of a text that claims to be an answer."""

    answer: str | None
    """None where the text is an answer that cannot be used, such as two labels; `flags` say why."""
    slot: int | None = None
    start: int = 0
    end: int = 0
    """Where the answer stands in the text, for an answer within a statement."""
    flags: tuple[str, ...] = ()
    weak: bool = False
    """Whether it counts only where no other statement is found ("the answer is reasonable")."""


class Reader(Protocol):
    """Reads answers of one answer space."""

    def boxed(self, content: str) -> Read | None:
        """The answer that a box's content is; None if it is none."""
        ...

    def whole(self, text: str) -> Read | None:
        """The answer that `text` is as a whole and without prose; None if it is none."""
        ...

    def stated(self, text: str, start: int) -> Read | None:
        """The answer that follows an anchor ("the answer is"), which ends at `start`; None if none does."""
        ...


def peeled(text: str) -> tuple[str, ...]:
    """`text`, then the same with one wrapper less each time: full stop, emphasis, brackets, math, LaTeX text."""
    text = text.strip()
    if not text:
        return ()
    return _peeled(text) if len(text) <= _LONGEST else (text,)


@lru_cache(maxsize=1024)
def _peeled(text: str) -> tuple[str, ...]:
    forms = [text]
    while len(forms) <= _MOST_LAYERS and (inner := _without_one_layer(forms[-1]).strip()) and inner != forms[-1]:
        forms.append(inner)
    return tuple(forms)


def collapsed(text: str) -> str:
    """`text` with single blanks only."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """`text` in lower case, with as many characters as before."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def ends_here(text: str, end: int, numeric: bool = False) -> bool:
    """Whether the answer that ends at `end` is followed by what can follow an answer: an end, a gloss, a clause.

    Not by prose ("The answer is A mammal"), not by arithmetic after a number, not by a question mark.

    Args:
        text: where the answer stands.
        end: position after the answer.
        numeric: whether the answer is a number, after which a dash, a colon or a bracket may go on counting.
    """
    return _END.match(text, end) is not None or (not numeric and _GLOSS.match(text, end) is not None)


def _without_one_layer(text: str) -> str:
    """`text` without its outermost wrapper, or `text` itself."""
    for inner in (text.rstrip(".,;:!").lstrip(":"), text.strip(_MARKS), text.removeprefix("\\(").removeprefix("\\[")):
        if inner != text:
            return inner
    if text.endswith(("\\)", "\\]")):
        return text[:-2]
    wrapper = _WRAPPED.match(text)
    if wrapper is not None and closing_brace(text, wrapper.end() - 1) == len(text) - 1:
        return text[wrapper.end() : -1]
    first, last = text[0], text[-1]
    if first in _PAIRS and last == _PAIRS[first] and _encloses(text):
        return text[1:-1]
    # "B)" and "(B" are labels with half a bracket. A lone brace is left: it is the end of a box that is not there.
    if first in "([" and _PAIRS[first] not in text:
        return text[1:]
    if last in _HALVES and _HALVES[last] not in text:
        return text[:-1]
    return text


def _encloses(text: str) -> bool:
    """Whether the first bracket of `text` is closed by its last character, and not before."""
    opening, closing = text[0], _PAIRS[text[0]]
    depth = 0
    for position, character in enumerate(text):
        depth += (character == opening) - (character == closing)
        if depth == 0:
            return position == len(text) - 1
    return False
