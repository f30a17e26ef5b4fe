"""A judge made of rules: no model, no key, every label with the rule and the span that it rests on.

It stands in where no judge model is at hand. It is not the judge of the study and its rate is never called EIR without
its name; `docs/rules_judge.md` says how often it is right. It knows no model, mode, data set or right answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thinkgap.judging.rule_inference import INFERENCES, Span
from thinkgap.judging.rule_problem import COPIED, Problem, problem_of
from thinkgap.judging.rule_texts import Clause, Trace, share, stems_of, trace_of
from thinkgap.responses.noise import lexical_tokens
from thinkgap.types import Judgement, Pair, TraceLabel

VERSION = 1
"""Raised with every change that may change a label: cached judgements are those of a version."""
LONGEST_EVIDENCE = 300
_ANSWER = re.compile(r"\banswer(?:\s+to\s+this\s+question)?(?:\s+is|:)\s*(?:indeed\s+)?\W{0,3}\w", re.IGNORECASE)
_SOLUTION = re.compile(r"\s*\$?\s*[A-Za-z]\s*=\s*-?\s*\d[\d.,/]*\s*%?\s*\$?\s*")
_POLAR = re.compile(r"\s*(?:yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """What decided on a trace."""

    rule: str
    label: TraceLabel
    span: Span


class RulesJudge:
    """Labels traces by an ordered list of rules; the first that applies decides."""

    name = "rules"

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement for each pair, in the order given. No text raises anything."""
        return [self._judged(pair) for pair in pairs]

    def describe(self) -> dict[str, Any]:
        """For the manifest: the rules in their order, and their version."""
        return {"kind": "rules", "version": VERSION, "rules": list(RULES)}

    def explain(self, pair: Pair) -> tuple[str, str]:
        """The rule that decides, and the span of the trace that it rests on."""
        found = decide(pair)
        return found.rule, _evidence(pair.trace, found.span)

    def _judged(self, pair: Pair) -> Judgement:
        found = decide(pair)
        return Judgement(found.label, evidence=_evidence(pair.trace, found.span), asked=0)


def decide(pair: Pair) -> Found:
    """The first rule that applies to a trace."""
    problem, trace = problem_of(pair.problem), trace_of(pair.trace)
    for inference in INFERENCES:
        if span := inference(problem, trace):
            return Found(inference.__name__, "explicit_reasoning", span)
    if trace.is_foreign:
        return Found("other_script", "unclear", (0, len(trace.text)))
    return _statement(problem, trace)


def _statement(problem: Problem, trace: Trace) -> Found:
    restated: Span | None = None
    told: Span | None = None
    listed = _listed_options(problem, trace)
    for clause in trace.clauses:
        span = clause.start, clause.end
        if _is_answer(problem, trace, clause, listed):
            return Found("answer", "relevant_non_inferential", span)
        if clause.is_plan or not clause.stems:
            restated = restated or (span if share(clause.stems, problem.stems) >= COPIED else None)
        elif problem.restates(clause.stems):
            restated = restated or span
        elif not told and share(clause.stems, problem.stems):
            told = span
    if told:
        return Found("statement", "relevant_non_inferential", told)
    if restated:
        return Found("restatement", "paraphrase_only", restated)
    whole = 0, len(trace.text)
    if not trace.stems:
        words = any(len(word) > 1 for word in lexical_tokens(trace.text))
        return Found("lead_in", "generic_or_off_topic", whole) if words else Found("nothing", "unclear", whole)
    if len(trace.stems) == 1 and len(trace.text.split()) <= 2:
        return Found("fragment", "unclear", whole)
    return Found("unrelated", "generic_or_off_topic", whole)


def _is_answer(problem: Problem, trace: Trace, clause: Clause, listed: int) -> bool:
    """Whether a clause asserts an answer: names it, says yes or no, is an option, or states what was asked."""
    stems = frozenset(clause.stems)
    text = clause.text.strip(" ()*.")
    if trace.text[clause.end : clause.end + 1] == "?":
        return False
    if _POLAR.match(clause.text) or _SOLUTION.fullmatch(clause.text) or _is_named(problem, trace, clause):
        return True
    if text in problem.labels or (text.replace(",", "").isdigit() and problem.is_numeric):
        return True
    if clause.is_plan or not stems:
        return False
    if stems in problem.options:
        return listed < 2
    if problem.is_polar:
        return problem.is_stated_by(stems)
    if problem.question and share(problem.question, stems) >= COPIED and not problem.restates(clause.stems):
        return True
    # The question's words and one option: "The perimeter of the square is 18 cm".
    chosen = [option for option in problem.options if option and option <= stems and not option <= problem.question]
    return len(chosen) == 1 and share(stems - chosen[0], problem.question) >= COPIED


def _is_named(problem: Problem, trace: Trace, clause: Clause) -> bool:
    """Whether "the answer is" comes with an answer, and not with words of the question."""
    named = _ANSWER.search(trace.text, clause.start, min(clause.end + 4, len(trace.text)))
    if not named:
        return False
    stems = stems_of(trace.text[named.end() - 1 : max(clause.end, named.end())])
    return not stems or not frozenset(stems) <= problem.question


def _listed_options(problem: Problem, trace: Trace) -> int:
    return len({option for clause in trace.clauses if (option := frozenset(clause.stems)) in problem.options})


def _evidence(text: str, span: Span) -> str:
    return text[span[0] : span[1]][:LONGEST_EVIDENCE].strip()


RULES = (*(one.__name__ for one in INFERENCES), "other_script", "answer", "statement", "restatement", "lead_in")
RULES = (*RULES, "nothing", "fragment", "unrelated")
"""All rules, in their order."""
