"""Modes of a run -> questions to the model about what their instructions permit.

Each quotes what a mode writes below an item, without the item. Knows no model and no reply.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgap.prompts.assemble import mode_lines
from thinkgap.prompts.wordings import WORDINGS, ComprehensionQuestion, Polarity, check_wordings
from thinkgap.types import AnswerSpace, Condition, Presentation, Request


def comprehension_questions(
    conditions: Sequence[Condition], presentations: Sequence[Presentation], wordings: Sequence[str] = ()
) -> list[ComprehensionQuestion]:
    """Every wording about every answer-only mode, for every answer space that occurs.

    Args:
        conditions: modes of a run; those that ask for more than an answer are passed over.
        presentations: what the run asks; of each answer space the first one lends its answer-format line.
        wordings: names in `WORDINGS`; empty is all.

    Raises:
        ConfigError: as `check_wordings`.
    """
    check_wordings(wordings)
    first: dict[AnswerSpace, Presentation] = {}
    for one in presentations:
        first.setdefault(one.item.answer_space, one)
    return [
        _question(mode, first[space], name)
        for mode in conditions
        if mode.requests is Request.answer_only
        for space in sorted(first)
        for name in wordings or WORDINGS
    ]


def _question(mode: Condition, shown: Presentation, name: str) -> ComprehensionQuestion:
    wording, space = WORDINGS[name], shown.item.answer_space
    asked = wording.about("\n".join(mode_lines(shown, mode)))
    text = f"{mode.soft_switch}\n{asked}" if mode.soft_switch else asked
    # The study's line for open answers has no "only": alone it does not say what may stand before the answer.
    said = bool(mode.text) or space != "open"
    expected: Polarity = wording.answer if said else ""
    return ComprehensionQuestion(mode.name, space, name, text, bool(wording.answer), expected, mode.thinking)
