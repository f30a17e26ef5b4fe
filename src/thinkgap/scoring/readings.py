"""Next-token logits -> `Reading`s. Knows no model and no file."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from thinkgap.errors import ModelError
from thinkgap.types import Prompt, Reading


def read_labels(logits: Tensor, prompts: Sequence[Prompt]) -> list[Reading]:
    """Label log-probabilities and mass over the full vocabulary.

    Args:
        logits: float32 `[B, V]`, one row per prompt, at its read position.
        prompts: `B` prompts; a label's probability is the sum over its token ids (study A, table 3: the answer
            mass sums these over labels and is not renormalised).

    Raises:
        ModelError: a row holds NaN or +inf, naming its item and condition.
    """
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    top_logprobs, top_ids = logprobs.max(dim=-1)
    readings = []
    for row, prompt in enumerate(prompts):
        if not bool(torch.isfinite(top_logprobs[row])):
            raise ModelError(
                f"item {prompt.presentation.item.id}, condition {prompt.condition.name}: the model's logits are not "
                "finite; try model.dtype=float32 or model.attn_implementation=eager"
            )
        labels = torch.stack([torch.logsumexp(logprobs[row, list(ids)], dim=0) for ids in prompt.label_ids])
        readings.append(
            Reading(
                label_logprobs=tuple(labels.tolist()),
                label_mass=float(labels.exp().sum()),
                top_token_id=int(top_ids[row]),
                top_logprob=float(top_logprobs[row]),
            )
        )
    return readings
