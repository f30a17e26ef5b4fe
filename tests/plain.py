"""Plain scoring of loose prompts with anything that gives next-token logits, real or scripted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.plain import in_batches
from thinkgap.scoring.readings import read_labels
from thinkgap.types import Reading


class NextTokenModel(Protocol):
    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> Tensor: ...


def score_plain(model: NextTokenModel, prompts: Sequence[PreparedPrompt], batch_size: int) -> list[Reading]:
    """Readings in the order of `prompts`."""

    def read(batch: Sequence[PreparedPrompt]) -> list[Reading]:
        return read_labels(model.next_token_logits(batch), [prepared.prompt for prepared in batch])

    return in_batches(prompts, batch_size, read)
