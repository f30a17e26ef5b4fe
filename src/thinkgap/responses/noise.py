r"""What around an answer is formatting and says nothing: the text before it (trace) and after it (post).

`$\boxed{B}$.` has no trace although characters stand before the box. A lead-in ("The answer is") is no noise: it is
part of the trace, and marked, so that a table can count it or not. It does not know where the answer stands.
"""

from __future__ import annotations

import re

from thinkgap.latex import find_box_commands

_LINE_NOISE = re.compile(
    r"(?:`{3,}|~{3,})[^`]*\Z|(?:(?:-\s*+){3,}|(?:\*\s*+){3,}|(?:_\s*+){3,}|={3,})\Z"
    r"|(?:#{1,6}|[-*+•]|>+)(?=\s|\Z)|#{1,6}(?=[A-Za-z*])"
)
"""A fence, a rule, or the mark of a heading, bullet or quote at the start of a line."""
_MARKS = tuple("`~-*_=#+•>")
_DELIMITER = re.compile(r"(?<!\\)\\[()\[\]]|\$\$|\\displaystyle(?![A-Za-z])")
# A run is tried once and as a whole, or a long one would take time quadratic in its length.
_EMPHASIS = re.compile(r"(?<![\w*])\*\*++|(?<!\*)\*\*++(?!\w)|(?<!\w)__++|(?<!_)__++(?!\w)|`+")

_WRAPPER = r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|boldsymbol|emph|left)\s*"
_OPENING = re.compile(rf"(?:{_WRAPPER}|(?<!\w))[{{(\[]\Z|(?<![\w)])[*_`~$\"'“‘]\Z")
_LONGEST_OPENING = 20
_CLOSING = " \t\n.,;:!?)]}\"'”’*_`$~"

_LEAD_IN = re.compile(
    r"(?:the |my |our )?(?:final |correct |right |best )?"
    r"(?:answer|option|choice)(?: option| choice)?(?:(?: is|:)(?: option| choice| the letter)?)?"
)
_LEXICAL = re.compile(r"[A-Za-z0-9]+(?:['’][A-Za-z]+)?")
_COMMAND = re.compile(r"\\[A-Za-z]+")


def clean(text: str) -> str:
    """`text` without marks of markdown and LaTeX, on one line; empty if nothing but punctuation is left.

    Fences, rules, marks that open a line, emphasis and delimiters of formulas go; words, numbers and formulas stay as
    they are.
    """
    if not text or text.isspace():
        return ""
    lines = []
    for line in text.split("\n"):
        line = line.strip()
        lines.append(
            _LINE_NOISE.sub("", line, count=1) if line.startswith(_MARKS) and _LINE_NOISE.match(line) else line
        )
    text = " ".join(lines)
    # The searches are skipped where nothing can be found: most replies are plain.
    if "\\" in text or "$$" in text:
        text = _DELIMITER.sub(" ", text)
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub("", text)
    text = " ".join(text.split())
    return text if any(character.isalnum() for character in text) else ""


def trace_before(text: str) -> str:
    r"""The pre-answer trace: `text` cleaned, without what only opens the answer (`**`, `$`, `\text{`, `(`)."""
    text = clean(text)
    end = len(text)
    while opening := _OPENING.search(text, max(0, end - _LONGEST_OPENING), end):
        end = opening.start()
        while end and text[end - 1] == " ":
            end -= 1
    return clean(text[:end])


def post_after(text: str) -> str:
    """The text after the answer: `text` cleaned, without what only closes the answer or its sentence."""
    return clean(clean(text.lstrip(_CLOSING)).lstrip(_CLOSING))


def is_lead_in(trace: str) -> bool:
    """Whether a trace is no more than one of a closed list of lead-ins: "Answer:", "The final answer is", ..."""
    return _LEAD_IN.fullmatch(" ".join(trace.rstrip(" .:=").lower().split())) is not None


def is_answer_first(before: str, after: str) -> bool:
    """Whether an answer comes first and is explained later: at most 3 words before it, at least 3 after it.

    Thresholds: arXiv 2610.11765, answer-first audit. Words are runs of letters and digits outside LaTeX
    commands and boxes.
    """
    return len(lexical_tokens(before)) <= 3 and len(lexical_tokens(after)) >= 3


def lexical_tokens(text: str) -> list[str]:
    """The words of `text`, in order and as they are written: runs of letters and digits with an apostrophe's ending.

    What LaTeX commands are called, and boxes with what they hold, are no words.
    """
    if "\\" not in text:
        return _LEXICAL.findall(text)
    end = 0
    pieces = []
    for command in find_box_commands(text):
        pieces.append(text[end : max(end, command.start)])
        end = max(end, command.end)
    return _LEXICAL.findall(_COMMAND.sub(" ", "".join([*pieces, text[end:]])))
