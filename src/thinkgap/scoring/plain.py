"""The plain reference path: every prompt is computed whole, in padded batches of similar length.

Later, faster paths must agree with this one to 1e-4 in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.readings import read_labels
from thinkgap.types import Reading


class NextTokenModel(Protocol):
    """Anything that gives float32 next-token logits `[B, V]` of prompts."""

    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> Tensor:
        """Logits of the token after each prompt."""
        ...


def score_plain(model: NextTokenModel, prompts: Sequence[PreparedPrompt], batch_size: int) -> list[Reading]:
    """Readings in the order of `prompts`.

    Raises:
        ModelError: out of memory (with the setting to lower), or logits that are not finite.
    """
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].prompt.input_ids))
    readings: dict[int, Reading] = {}
    for start in range(0, len(by_length), batch_size):
        chosen = by_length[start : start + batch_size]
        batch = [prompts[index] for index in chosen]
        try:
            logits = model.next_token_logits(batch)
        except torch.OutOfMemoryError as error:
            longest = max(len(prepared.prompt.input_ids) for prepared in batch)
            raise ModelError(
                f"out of memory on {len(batch)} prompts of up to {longest} tokens: "
                f"set evaluation.batch_size below {batch_size}"
            ) from error
        readings.update(zip(chosen, read_labels(logits, [prepared.prompt for prepared in batch]), strict=True))
    return [readings[index] for index in range(len(prompts))]
