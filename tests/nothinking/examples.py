"""Responses made by hand for the tests of level 1."""

from __future__ import annotations

from typing import Any

from thinkgap.types import Answered, AnswerSpace, Question, Response, Thinking

_GOLD = {"mcq": "B", "bool": "yes", "open": "72"}


def answered(
    content: str = "",
    space: AnswerSpace = "mcq",
    *,
    mode: str = "think_off",
    thinking: Thinking = Thinking.disabled,
    item: str = "q1",
    group: str = "",
    dataset: str = "made_up",
    gold: str | None = None,
    options: tuple[str, ...] = (),
    labels: tuple[str, ...] = ("A", "B", "C", "D"),
    parts: tuple[str, ...] = (),
    subject: str = "",
    area: str = "",
    open_box: bool | None = None,
    **response: Any,
) -> Answered:
    """A response to a made-up question; `response` holds further fields of `Response`."""
    question = Question(
        item_id=item,
        group_id=group or item,
        dataset=dataset,
        space=space,
        problem=" ".join(parts) or "Which one?",
        answer=_GOLD[space] if gold is None else gold,
        labels=labels if space == "mcq" else (),
        options=options,
        parts=parts,
        subject=subject,
        area=area,
    )
    return Answered(question, mode, thinking, Response(content, **{"finish_reason": "stop", **response}), open_box)
