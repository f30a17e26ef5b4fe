"""Windows of token ids -> vectors: sorted, padded, and run through a SentenceTransformer in batches of similar length.

Does what `SentenceTransformer.encode` does after tokenising; `open_encoder` checks that the two agree. Knows no prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

# Padded tokens of one pass. On a CPU, passes that stay in the cache are faster by a sixth than those of 64 long texts.
_PASS_TOKENS = {"cpu": 2048}
_PASS_TOKENS_ELSEWHERE = 32_768


def embed(model: Any, windows: Sequence[Sequence[int]], batch_size: int) -> np.ndarray:
    """The vectors of windows, as the checkpoint gives them.

    Args:
        model: a SentenceTransformer in evaluation mode.
        windows: `n` windows of one token id or more, special tokens included, in any order.
        batch_size: windows in one pass, at most; long ones are fewer.

    Returns:
        `[n, d]`, float32, of any length.
    """
    vectors: list[Any] = [None] * len(windows)
    order = sorted(range(len(windows)), key=lambda one: -len(windows[one]))
    most = _PASS_TOKENS.get(model.device.type, _PASS_TOKENS_ELSEWHERE)
    start = 0
    while start < len(order):
        size = max(1, min(batch_size, most // len(windows[order[start]])))
        batch = order[start : start + size]
        for place, vector in zip(batch, _forward(model, [windows[one] for one in batch]), strict=True):
            vectors[place] = vector
        start += size
    return np.stack(vectors)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors `[n, d]` divided by their length; one without a direction becomes NaN."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[~np.isfinite(lengths) | (lengths == 0)] = np.nan
    return vectors / lengths


def _forward(model: Any, windows: Sequence[Sequence[int]]) -> np.ndarray:
    longest = max(map(len, windows))
    input_ids = torch.full((len(windows), longest), model.tokenizer.pad_token_id)
    mask = torch.zeros_like(input_ids)
    left = model.tokenizer.padding_side == "left"
    for row, window in enumerate(windows):
        where = slice(longest - len(window), None) if left else slice(len(window))
        input_ids[row, where] = torch.tensor(window)
        mask[row, where] = 1
    with torch.inference_mode():
        found = model({"input_ids": input_ids.to(model.device), "attention_mask": mask.to(model.device)})
    return found["sentence_embedding"][:, : model.truncate_dim].float().cpu().numpy()
