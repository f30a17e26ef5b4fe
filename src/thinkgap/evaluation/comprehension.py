"""The comprehension check of a run: which questions are asked, and what became of them.

How a model is asked is the caller's, local and served alike; how replies read is `nothinking.comprehension_table`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgap.evaluation.asking import ShownItems
from thinkgap.nothinking.comprehension import Exchange
from thinkgap.prompts.comprehension import comprehension_questions
from thinkgap.prompts.wordings import ComprehensionQuestion, check_wordings
from thinkgap.schema import EvaluateConfig
from thinkgap.types import Condition, Response


def questions_of(
    cfg: EvaluateConfig, conditions: Sequence[Condition], items: ShownItems
) -> list[ComprehensionQuestion]:
    """What the run asks about its modes; nothing unless `evaluation.comprehension.enabled`.

    Args:
        cfg: the settings.
        conditions: modes that the model has.
        items: how they are shown, for the answer spaces that occur.

    Raises:
        ConfigError: an unknown wording.
    """
    asked = cfg.evaluation.comprehension
    check_wordings(asked.wordings)
    if not asked.enabled:
        return []
    shown = [one for items_of in items.values() for item in items_of for one in item]
    return comprehension_questions(conditions, shown, asked.wordings)


def exchanged(
    model: str, questions: Sequence[ComprehensionQuestion], responses: Sequence[Response | None]
) -> tuple[list[Exchange], list[str]]:
    """The exchanges, and a note if some question has no response.

    Args:
        model: what tables call it.
        questions: what was asked.
        responses: what came back, in the same order; None for a question that was not answered.
    """
    pairs = list(zip(questions, responses, strict=True))
    exchanges = [Exchange(model, question, response) for question, response in pairs if response is not None]
    failed = [question.id for question, response in pairs if response is None]
    if not failed:
        return exchanges, []
    return exchanges, [
        f"{len(failed)} of {len(pairs)} questions of the comprehension check have no reply and no row (the first is "
        f"{failed[0]}); the same command asks them again."
    ]
