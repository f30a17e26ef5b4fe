"""The native readout: the most probable label at the read position (study A: argmax over valid label tokens)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from thinkgap.readouts.frames import NATIVE
from thinkgap.readouts.rows import answer_record, best_slot
from thinkgap.scoring.engine import Scored
from thinkgap.types import Record


def native_record(scored: Scored, decode: Callable[[int], str]) -> Record:
    """The row that one reading becomes; absent options cannot be predicted because they have no label.

    Args:
        scored: a prompt with what was read, label log-probabilities by slot.
        decode: token id -> text.
    """
    prompt, reading = scored.prompt, scored.reading
    slot, tied = best_slot(prompt.presentation, reading.label_logprobs)
    return replace(
        answer_record(prompt, NATIVE, slot, tied=tied, scores=reading.label_logprobs),
        label_mass=reading.label_mass,
        label_token_ids=prompt.label_ids,
        top_token_id=reading.top_token_id,
        top_token=decode(reading.top_token_id),
        top_logprob=reading.top_logprob,
        entropy=reading.entropy,
        # As in rows of other readouts: some models tell log-probabilities of chosen ids only.
        gold_rank=-1 if reading.gold_rank is None else reading.gold_rank,
        reasoning_mass=math.nan if reading.reasoning_mass is None else reading.reasoning_mass,
        reasoning_mass_strict=math.nan if reading.reasoning_mass_strict is None else reading.reasoning_mass_strict,
        top_ids=tuple(token for token, _ in reading.top_tokens),
        top_tokens=tuple(decode(token) for token, _ in reading.top_tokens),
        top_logprobs=tuple(logprob for _, logprob in reading.top_tokens),
        lens_label_logprobs=tuple(layer.label_logprobs for layer in scored.lens),
        lens_label_mass=tuple(layer.label_mass for layer in scored.lens),
    )
