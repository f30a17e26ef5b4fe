"""Whether an answer is the right one: by slot (mcq), by word (bool), by a comparison that the caller brings (open).

It knows neither how an answer was found nor how two open answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable

from thinkgap.errors import DataError
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
        None if the right answer is not known, or, for an open answer, without `equal` or where it did not decide.

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
    return None if equal is None else equal(gold, answer)
