"""Boolean verification: a multiple-choice item as two yes/no questions, one proposing its right option.

The options are taken away and one of them is proposed (inertia study, section on candidate visibility). The study
always proposes the first wrong option, which ties the negative to a slot; here it is drawn for each item unless asked
otherwise. Knows no prompt and no model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.data.referring import referring
from thinkgap.presentation_names import NEGATIVE, POSITIVE
from thinkgap.responses.rational import unwrapped
from thinkgap.responses.same_value import same_number
from thinkgap.schema import Negative
from thinkgap.types import Item, Presentation

YES_NO = ("Yes", "No")
PROPOSED = "proposed"
"""Field of `Item.meta`: content index of the proposed option in the source item."""


def verification(item: Item, negative: Negative, seed: int, ranking: Sequence[int] = ()) -> list[Presentation] | str:
    """The positive and the negative proposal of a multiple-choice item, or why it has none.

    The question gains the two lines `Proposed answer: ...` and `Is the proposed answer correct? Answer yes or no.`
    (method of the inertia study, byte-exact); the answer space becomes yes/no. Both keep id and group of the item.

    Args:
        item: the item.
        negative: which wrong option the negative proposes.
        seed: of `Negative.random`; the draw depends on it and the item's texts alone, so not on the order of rows.
        ranking: contents from the likeliest to the least likely one, for `Negative.hardest`; empty if not known.

    Returns:
        Two presentations; or a reason: no options, options that are images, a right option that refers to others, or no
        wrong one that stands for itself and differs from the right one in value (1/2 and 0.5 do not differ).
    """
    if item.answer_space != "mcq" or item.gold is None:
        return "it has no options"
    if any(PLACEHOLDER.search(choice) for choice in item.choices):
        return "its options are images"
    refer = referring(item.choices)
    if item.gold in refer:
        return "its right option refers to other options"
    candidates = [
        content
        for content in range(len(item.choices))
        if content != item.gold
        and content not in refer
        and not same_value(item.choices[content], item.choices[item.gold])
    ]
    if not candidates:
        return "no wrong option stands for itself and differs from the right one"
    if negative is Negative.hardest and not ranking:
        return "the earlier run has no reading of it"
    if negative is Negative.hardest and sorted(ranking) != list(range(len(item.choices))):
        return "the earlier run shows it with another number of options"
    chosen = _chosen(item, candidates, negative, seed, ranking)
    return [_proposal(item, item.gold, POSITIVE), _proposal(item, chosen, NEGATIVE)]


def same_value(one: str, other: str) -> bool:
    """Whether two options say the same: the same number (1/2, 0.5, 50%), or the same text but for case and blanks.

    Numbers in words are texts, so that `twelve` is not 12; so are `Aa` and `AA`, which differ in case alone and are
    taken for the same.
    """
    return (
        unwrapped(one).casefold() == unwrapped(other).casefold()
        or "".join(one.split()).casefold() == "".join(other.split()).casefold()
        or same_number(one, other) is True
    )


def _chosen(item: Item, candidates: Sequence[int], negative: Negative, seed: int, ranking: Sequence[int]) -> int:
    if negative is Negative.first:
        return candidates[0]
    if negative is Negative.hardest:
        return next(content for content in ranking if content in candidates)
    # By texts, not by id or index: the id of some sets is the row's number, and rows and options can be reordered.
    asked = f"{seed}\0{item.context}\0{item.question}\0negative\0"
    return min(candidates, key=lambda content: hashlib.sha256(f"{asked}{item.choices[content]}".encode()).digest())


def _proposal(item: Item, content: int, name: str) -> Presentation:
    gold = 0 if content == item.gold else 1
    asked = (
        f"{item.question}\nProposed answer: {item.choices[content]}\nIs the proposed answer correct? Answer yes or no."
    )
    proposed = replace(
        item,
        question=asked,
        choices=YES_NO,
        gold=gold,
        answer_space="bool",
        answer=YES_NO[gold],
        meta={**item.meta, PROPOSED: str(content)},
    )
    return Presentation(proposed, (0, 1), YES_NO, name)
