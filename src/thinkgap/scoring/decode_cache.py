"""Prompts of several items as rows of one cache, each prefix computed once; then one token a row and step.

Rows end together: padding stands before a prompt, so what is generated follows it without a gap and a sliding window
holds what it should. Knows no rule by which a token is chosen, and no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.families import position_axes
from thinkgap.backends.hf import HFBackend
from thinkgap.scoring.branched import leaf_passes, new_cache
from thinkgap.scoring.packed import Planned


@dataclass
class Continued:
    """Rows that go on from one cache."""

    backend: HFBackend
    cache: Any
    mask: Tensor
    """`[B, T]` 1 at real tokens; padding comes first."""
    positions: Tensor
    """`[B]` position of each row's next token, the same on every axis."""
    logits: Tensor
    """Float32 `[B, V]` of each row's next token; those of one step only."""

    @torch.inference_mode()
    def step(self, tokens: Sequence[int]) -> None:
        """Put one token behind each row and compute the logits of the next."""
        device, axes = self.backend.device, position_axes(self.backend.model)
        self.mask = torch.nn.functional.pad(self.mask, (0, 1), value=1)
        positions = self.positions[:, None]
        output = self.backend.model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=positions.expand(axes, -1, -1) if axes > 1 else positions,
            attention_mask=self.mask,
            cache=self.cache,
            use_cache=True,
        )
        self.positions = self.positions + 1
        self.logits = output.logits[:, -1].float()

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only; what the others hold is freed."""
        index = torch.tensor(rows)
        self.cache.batch_select_indices(index)
        self.mask, self.positions = self.mask[index], self.positions[index]
        self.logits = self.logits[index]


@dataclass(frozen=True)
class _Row:
    """Where a prompt is in the cache of its last pass."""

    cache: Any
    number: int
    length: int
    """Tokens of the prompt."""


@torch.inference_mode()
def prefill(backend: HFBackend, batch: Sequence[Planned]) -> tuple[Continued, list[int]]:
    """Compute prompts up to their last token.

    Args:
        backend: the model; `cache_refusal` has nothing against it.
        batch: groups of prompts with their tries.

    Returns:
        Its rows, and for each prompt, trie after trie, the number of its row: equal prompts of a group share one.
    """
    rows: list[_Row] = []
    row_of: list[int] = []
    positions: list[int] = []
    logits: list[Tensor] = []
    for planned in batch:
        trie, by_read = planned.trie, dict[int, int]()
        for one in leaf_passes(backend, planned, keep=True):
            for number, prompt in enumerate(one.prompts):
                path = trie.path(prompt)
                by_read[int(trie.reads[prompt])] = len(rows)
                rows.append(_Row(one.cache, number, len(path)))
                # As a model counts by itself: on from the largest, which an image in the prompt may have reached.
                positions.append(int(trie.positions[:, path].max()) + 1)
            logits.append(one.rows.logits)
        row_of += [by_read[read] for read in trie.reads.tolist()]
    width = max(row.length for row in rows)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for number, row in enumerate(rows):
        mask[number, width - row.length :] = 1
    continued = Continued(
        backend,
        _merged(backend, rows, width),
        mask.to(backend.device),
        torch.tensor(positions, device=backend.device),
        torch.cat(logits),
    )
    return continued, row_of


def _merged(backend: HFBackend, rows: Sequence[_Row], width: int) -> Any:
    """One cache of all rows; those that they come from are emptied, layer by layer."""
    merged = new_cache(backend)
    for number, layer in enumerate(merged.layers):
        sources = [row.cache.layers[number] for row in rows]
        # A sliding layer keeps the last tokens only, and of rows of one length, so that none of them is padding.
        pairs = list(zip(sources, rows, strict=True))
        keys = _left_padded([source.keys[row.number, :, : row.length] for source, row in pairs])
        values = _left_padded([source.values[row.number, :, : row.length] for source, row in pairs])
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        if layer.is_sliding:
            layer.cumulative_length = width
        for source in sources:
            source.reset()
    return merged


def _left_padded(rows: Sequence[Tensor]) -> Tensor:
    """`[B, heads, T, d]` of rows `[heads, t, d]` of unequal length."""
    heads, _, size = rows[0].shape
    width = max(row.shape[1] for row in rows)
    padded = rows[0].new_zeros((len(rows), heads, width, size))
    for number, row in enumerate(rows):
        padded[number, :, width - row.shape[1] :] = row
    return padded
