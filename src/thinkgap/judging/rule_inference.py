r"""The rules by which a trace makes an inference: each finds a span that shows one, or nothing.

A span counts only if the problem does not say the same, and only where it touches what the problem is about, so that
a question that is copied, and a text about something else, are no inference. Knows English and formulas.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from thinkgap.judging.rule_problem import Problem
from thinkgap.judging.rule_texts import Trace, first_content, share, stems_of

Span = tuple[int, int]
Finder = Callable[[Problem, Trace], Span | None]

# Runs are bounded, so that a search takes time linear in the length of the trace.
_NUMBER = r"(?:(?<![\w.,])[$€£]?\d[\d,]{0,15}(?:\.\d{1,15})?%?|\\[dt]?frac\{[^{}\n]{1,20}\}\{[^{}\n]{1,20}\})"
_VARIABLE = r"(?<!\w)\d{0,3}[a-z](?![\w'])"
_UNIT = r"(?:\s?[\^²³]?[\^(]?\\?[^\W\d_]{1,15}\)?[²³]?(?:/[^\W\d_]{1,15})?){0,3}"
_SIGN = (
    r"(?:[-+*/×÷·−^]|(?<![\w])x(?![\w])|\\times|\\cdot|\\div|\b(?:plus|minus|times)\b|\b(?:divided|multiplied)\s+by\b)"
)
_EQUALS = r"(?:=|≈|\\approx|\b(?:is|equals|gives(?:\s+us)?|makes)\b)"
_GAP = r"[\s$()\\{}]{0,4}"
# A variable has no unit, or the article of "a cat - a mammal" would be one.
_TERM = rf"(?:{_NUMBER}{_UNIT}|{_VARIABLE})"
_CALCULATION = re.compile(
    rf"(?P<left>{_TERM}(?:{_GAP}{_SIGN}{_GAP}{_TERM}){{1,4}}){_GAP}{_EQUALS}{_GAP}"
    rf"(?P<right>-?{_NUMBER}(?:{_UNIT}{_GAP}{_SIGN}{_GAP}{_NUMBER}){{0,4}})"
)
_EQUATION = re.compile(
    rf"(?<![-+*/×÷·^])(?<![-+*/×÷·^]\s)(?:{_VARIABLE}|{_NUMBER}){_GAP}=(?!=){_GAP}{_TERM}(?:{_GAP}{_SIGN}{_GAP}{_TERM}){{1,4}}"
)
_COUNT = re.compile(r"\b(?:that|this|which|it)\s+(?:makes|adds\s+up\s+to)\s+\d[^.!?\n]{0,40}", re.IGNORECASE)
_OPERATION = re.compile(
    r"\b(?:add|subtract|multipl|divid|arrang|convert|factor|sort|substitut)[a-z]{0,5}\b[^.!?\n]{1,50}?"
    r"\b(?:by|from|to|with|and)\b[^.!?\n]{1,40}",
    re.IGNORECASE,
)
_CONSEQUENCE = re.compile(
    r"\b(?:therefore|thus|hence|consequently|as\s+a\s+result|it\s+follows|which\s+means|(?:this|that)\s+means|"
    r"(?:we|i|you|one)\s+can\s+(?:conclude|infer)|(?:which|this)\s+implies|based\s+on\s+(?:this|the\s+above|these))\b"
    r"|(?:(?<=[.!?;:,]\s)|(?<=\n))(?:and\s+)?so\b(?!\s+(?:that|much|many|far|long|called|on|as)\b)"
    r"|(?<=\s)(?-i:So)\b(?=,?\s)"
    r"|∴|⇒|=>|\\(?:therefore|implies|Rightarrow)(?![A-Za-z])",
    re.IGNORECASE,
)
_ASSERTION = re.compile(r"\s*(?:the\s+(?:\w+\s+)?answer|yes|no)\b", re.IGNORECASE)
_CAUSE = re.compile(
    r"\b(?:because(?:\s+of)?|since(?!\s+(?:then|when|\d+|last|the\s+beginning|yesterday|january|february|march|april|may|"
    r"june|july|august|september|october|november|december)\b)|due\s+to|owing\s+to|given\s+that)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\bif\b[^.!?\n]{3,80}?\b(?:then|must|cannot)\b[^.!?\n]{0,60}", re.IGNORECASE)
_COMPARISON = re.compile(
    r"\b(?:which|and|it|that)\s+is\s+(?:(?:more|less)(?:\s+\w{1,20})?|\w{2,15}er)\s+than\b[^.!?\n]{1,40}"
    r"|\b(?:(?:more|less|fewer)(?:\s+\w{1,20})?|\w{2,15}er)\s+than\s+[^.!?\n]{1,40}"
    r"|\b(?:\w{2,15}est|most|least|first|last)\s+of\s+(?:them|these)\b[^.!?\n]{1,40}"
    r"|(?<![\w.])\d[\d,.]{0,15}\s?(?:[<>≤≥]|\\(?:leq?|geq?|lt|gt)(?![A-Za-z]))\s?\d[\d,.]{0,15}",
    re.IGNORECASE,
)
_ELIMINATION = re.compile(
    r"\b(?:rul(?:e|es|ed|ing)\s+out|eliminat(?:e|es|ed|ing))\b[^.!?\n]{1,60}"
    r"|\b(?:be|is|are)\s+(?:ruled\s+out|eliminated)\b"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?\s+\(?[A-Z]\)?\s+(?:is|are|can|could)\s*(?:not|n't|wrong|incorrect|false)\b[^.!?\n]{0,40}"
    r"|\b(?:first|second|third|fourth|fifth|other)\s+(?:option|choice)s?\s+(?:is|are)\s+(?:not|wrong|incorrect)\b[^.!?\n]{0,40}"
    r"|\b[Tt]he\s+only\s+(?:\w{1,20}\s+){1,4}(?:that|which|who|left|remaining)\b[^.!?\n]{1,60}"
    r"|\b(?:is|are|can)\s?not\s+(?:be\s+)?(?:option\s+|choice\s+)?\(?[A-J](?![\w'])\)?"
)
_NAMES_OPTION = re.compile(r"\b(?:[Oo]ption|[Cc]hoice|[B-J])\b")


def calculation(problem: Problem, trace: Trace) -> Span | None:
    """Terms, operators and a result; not the expression of the problem with itself as its result."""
    for match in _CALCULATION.finditer(trace.text):
        left, right = _squeezed(match["left"]), _squeezed(match["right"])
        repeats = left.startswith(right) and not right.replace(",", "").replace(".", "").isdigit()
        if not repeats and _squeezed(match[0]) not in problem.squeezed:
            return match.span()
    for match in _EQUATION.finditer(trace.text):
        left, _, right = _squeezed(match[0]).partition("=")
        if left != right and f"{left}={right}" not in problem.squeezed:
            return match.span()
    found = _COUNT.search(trace.text)
    return found.span() if found else None


def operation(problem: Problem, trace: Trace) -> Span | None:
    """Something of the problem added, subtracted, multiplied or divided, be it without a result."""
    return _about(_OPERATION, problem, trace)


def consequence(problem: Problem, trace: Trace) -> Span | None:
    """A word such as "so" or "which means" after a clause about the problem that is no plan and no answer."""
    premise = _first_premise(problem, trace)
    if premise is None:
        return None
    stems, start = premise
    for match in _CONSEQUENCE.finditer(trace.text, start):
        end = _end_of_clause(trace.text, match.end())
        after = trace.text[match.end() : end]
        words = [*trace.text[max(match.start() - 20, 0) : match.end()].split()[-2:], *after.split()[:2]]
        about = share((*stems, *stems_of(after)), problem.stems) > 0
        if any(one.isalnum() for one in after) and about and not problem.has_words(" ".join(words)):
            return match.start(), end
    return None


def cause(problem: Problem, trace: Trace) -> Span | None:
    """A word such as "because" with words of the problem on one side and words on both."""
    for match in _CAUSE.finditer(trace.text):
        start, end = _start_of_clause(trace.text, match.start()), _end_of_clause(trace.text, match.end())
        before, after = trace.text[start : match.start()], trace.text[match.end() : end]
        words = [*before.split()[-1:], match[0], *after.split()[:2]]
        # "Since" may come first, and its consequence after a comma.
        sides = after.partition(",")[::2] if not stems_of(before) else (before, after)
        shared = share(stems_of(f"{before} {after}"), problem.stems)
        if all(stems_of(side) for side in sides) and shared and not problem.has_words(" ".join(words)):
            return start, end
    return None


def condition(problem: Problem, trace: Trace) -> Span | None:
    """An "if" with a consequence that "then", "must" or "cannot" opens."""
    return _about(_CONDITION, problem, trace)


def comparison(problem: Problem, trace: Trace) -> Span | None:
    """Two things compared, in words that are not the question's own, or the greatest of what was listed."""
    for match in _COMPARISON.finditer(trace.text):
        own = match[0].lower().startswith(("which is", "it is", "and is"))
        core = " ".join(match[0].split()[:3])
        if share(stems_of(match[0]), problem.stems) and (own or not problem.has_words(core)):
            return match.span()
    return None


def elimination(problem: Problem, trace: Trace) -> Span | None:
    """Options ruled out, or all but one."""
    for match in _ELIMINATION.finditer(trace.text):
        start, end = max(_start_of_clause(trace.text, match.start()), match.start() - 40), match.end()
        text = trace.text[start:end]
        about = share(stems_of(text), problem.stems) or (problem.labels and _NAMES_OPTION.search(text))
        if about and not problem.has_words(match[0]):
            return start, end
    return None


INFERENCES: tuple[Finder, ...] = (calculation, operation, elimination, comparison, condition, cause, consequence)
"""In the order in which they are tried; the first that finds something names the evidence."""


def _about(pattern: re.Pattern[str], problem: Problem, trace: Trace) -> Span | None:
    for match in pattern.finditer(trace.text):
        if share(stems_of(match[0]), problem.stems) and not problem.has_words(match[0]):
            return match.span()
    return None


def _first_premise(problem: Problem, trace: Trace) -> tuple[tuple[str, ...], int] | None:
    """Content words of the first clause that states something, and where the first of them ends.

    What says only what is to be done, or only asserts an answer, is no premise.
    """
    for clause in trace.clauses:
        link = _CONSEQUENCE.search(clause.text)
        stems = (stems_of(clause.text[: link.start()]) if link else ()) or clause.stems
        if clause.is_plan or not stems or _ASSERTION.match(clause.text) or problem.is_stated_by(stems):
            continue
        return stems, clause.start + first_content(clause.text)
    return None


def _start_of_clause(text: str, position: int) -> int:
    earliest = max(position - 200, 0)
    found = max(text.rfind(mark, earliest, position) for mark in (". ", "! ", "? ", "\n"))
    return found + 1 if found >= 0 else earliest


def _end_of_clause(text: str, position: int) -> int:
    ends = [end for mark in (". ", "! ", "? ", "\n") if (end := text.find(mark, position, position + 200)) >= 0]
    return min(ends, default=min(len(text), position + 200))


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())
