"""Items under many conditions and orders, as the engine meets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Any

from tests.items import mcq, shown
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.types import Condition, Placement, Request

DIRECT = Condition("direct", "trigger", Request.label)
TRIGGERS = [
    DIRECT,
    replace(DIRECT, name="let", text="Let me think step by step.", requests=Request.rationale),
    replace(DIRECT, name="reasoning", text="Reasoning:", requests=Request.rationale),
    # Its prompt is a prefix of the next one's, and Direct's of both.
    replace(DIRECT, name="opened", text="Let", placement=Placement.assistant),
    replace(DIRECT, name="opened_longer", text="Let me think.", placement=Placement.assistant),
    replace(DIRECT, name="same_as_let", text="Let me think step by step.", requests=Request.rationale),
]


def groups(
    backend: Any, picture: Callable[..., Any], conditions: Sequence[Condition] = TRIGGERS, orders: int = 3
) -> list[list[PreparedPrompt]]:
    """Per item its prompts: texts of unequal length, and no, one and two pictures of different sizes."""
    items = [mcq("short", question="Why?"), mcq("long", question="Which of these numbers is the largest? " * 6)]
    if backend.fmt.is_vision:
        one, two, three = picture(100, 60, 1), picture(60, 200, 2), picture(90, 90, 3)
        items += [
            mcq("one", images=(one,)),
            mcq("two", question="<image 2> or <image 1>?", images=(two, three)),
            # Options that are pictures: their order changes with the permutation.
            mcq(
                "options", question="Which?", choices=("<image 1>", "<image 2>", "<image 3>"), images=(one, two, three)
            ),
            mcq("twice", question="Same?", choices=("<image 1>", "<image 2>", "neither"), images=(two, two)),
        ]
    builder = PromptBuilder(backend.fmt, list(conditions))
    return [
        [
            prepared
            for order in islice(permutations(range(len(item.choices))), orders)
            for prepared in builder.build(shown(item, order))
        ]
        for item in items
    ]
