"""Whether an answer is the right one: by slot (mcq), by word (bool), by a comparison that the caller brings (open).

Rewrites of multiple-choice items as open questions have rules of their own: exact rational equality, or the same text.
It knows neither how an answer was found nor how other open answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable

from thinkgap.errors import DataError
from thinkgap.nothinking.text_form import same_text
from thinkgap.presentation_names import OPEN_NUMERIC, OPEN_TEXT
from thinkgap.responses.rational import rational
from thinkgap.types import Question

Equal = Callable[[str, str], bool | None]
"""Whether a reference answer (first) and an open answer are equal; None if that could not be decided."""

_WORDS = ("yes", "no")


def is_correct(question: Question, answer: str | None, equal: Equal | None = None) -> bool | None:
    """Whether `answer` is the right one; no answer is a wrong one.

    Args:
        question: what was asked; without a right answer nothing can be said.
        answer: the label, `yes` or `no`, or the open answer.
        equal: compares open answers.

    Returns:
        None if the right answer is not known, or, for an open answer that `takes_algebra`, without `equal` or where it
        did not decide.

    Raises:
        DataError: a right answer that the question cannot have.
    """
    gold = question.answer.strip()
    if not gold:
        return None
    if question.space == "mcq":
        if gold not in question.labels:
            raise DataError(
                f"item {question.item_id} of {question.dataset}: the right answer {gold!r} is none of its labels "
                f"{', '.join(question.labels)}; give the label, not the option's text"
            )
        return answer is not None and question.labels.index(answer) == question.labels.index(gold)
    if question.space == "bool":
        if gold.lower() not in _WORDS:
            raise DataError(
                f"item {question.item_id} of {question.dataset}: the right answer {gold!r} is neither yes nor no"
            )
        return answer == gold.lower()
    if answer is None:
        return False
    if question.presentation == OPEN_TEXT:
        return same_text(gold, answer)
    if not takes_algebra(question):
        return rational(gold) == rational(answer)
    return None if equal is None else equal(gold, answer)


def takes_algebra(question: Question) -> bool:
    """Whether an open answer is compared by what the caller brings; `open_text` and `open_numeric` never are.

    `open_numeric` is, if the reference answer of somebody's own file is no number.
    """
    if question.presentation == OPEN_NUMERIC:
        return rational(question.answer) is None
    return question.presentation != OPEN_TEXT
