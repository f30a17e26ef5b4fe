"""What FlashAttention 2 computes, written out: every row without its padding, causal from the bottom right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def unpadded_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention `[B, T, heads, d]` with a mask `[B, S]` of real tokens, or none where all are real.

    Raises:
        ValueError: the mask has other dimensions.
    """
    if attention_mask is not None and attention_mask.ndim != 2:
        raise ValueError(f"a mask of {attention_mask.ndim} dimensions")
    repeats = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    result = torch.zeros_like(query)
    for row in range(len(query)):
        real = torch.ones(key.shape[2], dtype=torch.bool) if attention_mask is None else attention_mask[row].bool()
        asked = real[-query.shape[2] :]
        keys, values = key[row][:, real], value[row][:, real]
        places = torch.arange(keys.shape[1])
        distance = places[keys.shape[1] - int(asked.sum()) :, None] - places
        hidden = distance < 0
        if sliding_window is not None:
            hidden |= distance >= sliding_window
        scores = (query[row][:, asked] @ keys.transpose(-1, -2) * scale).masked_fill(hidden, float("-inf"))
        result[row][:, asked] = scores.softmax(-1) @ values
    return result.transpose(1, 2).contiguous(), None
