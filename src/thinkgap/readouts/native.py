"""The native readout: the most probable label at the read position (study A: argmax over valid label tokens)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

from thinkgap.scoring.engine import Scored
from thinkgap.types import Record

READOUT = "native"


def native_record(scored: Scored, decode: Callable[[int], str]) -> Record:
    """The row that one reading becomes; absent options cannot be predicted because they have no label.

    Args:
        scored: a prompt with what was read, label log-probabilities by slot.
        decode: token id -> text.
    """
    prompt, reading = scored.prompt, scored.reading
    presentation, item = prompt.presentation, prompt.presentation.item
    assert reading.gold_rank is not None, "a question with labels has a right one"
    best = max(reading.label_logprobs)
    tied = [slot for slot, logprob in enumerate(reading.label_logprobs) if logprob == best]
    slot = tied[0] if len(tied) == 1 else tied[_draw(f"{item.id}\0{presentation.name}", len(tied))]
    gold_slot = presentation.gold_slot
    content = presentation.order[slot]
    return Record(
        item_id=item.id,
        presentation=presentation.name,
        condition=prompt.condition.name,
        readout=READOUT,
        group_id=item.group_id,
        split=item.split,
        subject=item.subject,
        k=presentation.k,
        order=presentation.order,
        labels=presentation.labels,
        gold_slot=gold_slot,
        gold_content=presentation.order[gold_slot],
        pred_slot=slot,
        pred_content=content,
        correct=slot == gold_slot,
        tied=len(tied) > 1,
        label_logprobs=reading.label_logprobs,
        label_mass=reading.label_mass,
        label_token_ids=prompt.label_ids,
        top_token_id=reading.top_token_id,
        top_token=decode(reading.top_token_id),
        top_logprob=reading.top_logprob,
        entropy=reading.entropy,
        gold_rank=reading.gold_rank,
        reasoning_mass=math.nan if reading.reasoning_mass is None else reading.reasoning_mass,
        reasoning_mass_strict=math.nan if reading.reasoning_mass_strict is None else reading.reasoning_mass_strict,
        top_ids=tuple(token for token, _ in reading.top_tokens),
        top_tokens=tuple(decode(token) for token, _ in reading.top_tokens),
        top_logprobs=tuple(logprob for _, logprob in reading.top_tokens),
        lens_label_logprobs=tuple(layer.label_logprobs for layer in scored.lens),
        lens_label_mass=tuple(layer.label_mass for layer in scored.lens),
        n_tokens=len(prompt.input_ids),
        n_image_tokens=prompt.n_image_tokens,
        prompt_sha256=prompt.sha256,
    )


def _draw(key: str, n: int) -> int:
    """A stable draw from 0..n-1.

    Half-precision logits tie often; taking the first of the tied would count as a preference for the first slot.
    """
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % n
