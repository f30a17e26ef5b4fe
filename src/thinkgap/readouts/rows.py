"""The row that any readout's answer becomes, and how a tie between slots is decided.

Knows prompts and records; what the scores are, and what else was read, is each readout's own matter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from thinkgap.types import Presentation, Prompt, Record


def answer_record(
    prompt: Prompt, readout: str, slot: int | None, *, tied: bool = False, scores: Sequence[float] = ()
) -> Record:
    """The row of an answer to `prompt`; what was not read there is NaN, -1 or empty.

    Args:
        prompt: what was asked.
        readout: how the answer was read.
        slot: slot of the answer; None if there is none, which is wrong and has slot and content -1.
        tied: whether `slot` was drawn from several equal ones.
        scores: score of each slot, kept as `label_logprobs`; empty if the readout has none.

    Raises:
        ValueError: an open question, which has no right slot.
    """
    presentation, item = prompt.presentation, prompt.presentation.item
    gold_slot = presentation.gold_slot
    return Record(
        item_id=item.id,
        presentation=presentation.name,
        condition=prompt.condition.name,
        readout=readout,
        group_id=item.group_id,
        split=item.split,
        subject=item.subject,
        k=presentation.k,
        order=presentation.order,
        labels=presentation.labels,
        gold_slot=gold_slot,
        gold_content=presentation.order[gold_slot],
        pred_slot=-1 if slot is None else slot,
        pred_content=-1 if slot is None else presentation.order[slot],
        correct=slot == gold_slot,
        tied=tied,
        label_logprobs=tuple(scores),
        label_mass=math.nan,
        label_token_ids=(),
        top_token_id=-1,
        top_token="",
        top_logprob=math.nan,
        entropy=math.nan,
        gold_rank=-1,
        reasoning_mass=math.nan,
        reasoning_mass_strict=math.nan,
        top_ids=(),
        top_tokens=(),
        top_logprobs=(),
        lens_label_logprobs=(),
        lens_label_mass=(),
        n_tokens=len(prompt.input_ids),
        n_image_tokens=prompt.n_image_tokens,
        prompt_sha256=prompt.sha256,
    )


def best_slot(presentation: Presentation, scores: Sequence[float]) -> tuple[int, bool]:
    """The slot of the highest score, and whether several slots have it, of which one is then drawn.

    Args:
        presentation: the item as shown.
        scores: one per slot; none is NaN.
    """
    best = max(scores)
    tied = [slot for slot, score in enumerate(scores) if score == best]
    return drawn(presentation.item.id, presentation.name, tied), len(tied) > 1


def drawn(item_id: str, presentation: str, slots: Sequence[int]) -> int:
    """A stable draw from equal slots.

    Half-precision logits tie often; taking the first of the tied would count as a preference for the first slot.
    """
    digest = hashlib.sha256(f"{item_id}\0{presentation}".encode()).digest()
    return slots[int.from_bytes(digest[:8], "big") % len(slots)]
