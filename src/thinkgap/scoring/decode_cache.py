"""Prompts of several items as rows of one cache, each prefix computed once; then one token a row and step.

Rows end together: padding stands before a prompt, so what is generated follows it without a gap and a sliding window
holds what it should. So rows of any lengths can be joined: the shorter get more padding in front, and a column in which
all are padded is cut. Knows no rule by which a token is chosen, and no end.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
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

    @property
    def lengths(self) -> list[int]:
        """Tokens of each row."""
        return self.mask.sum(-1).tolist()

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only; what the others hold is freed, and columns that only they needed."""
        index = torch.tensor(rows, device=self.mask.device)
        mask = self.mask[index]
        width = int(mask.sum(-1).max())
        for layer in self.cache.layers:
            columns, own = _columns(layer, width), index.to(layer.keys.device)
            # Cut first: a slice of what was copied would hold on to the whole.
            keys = layer.keys[:, :, layer.keys.shape[-2] - columns :][own]
            values = layer.values[:, :, layer.values.shape[-2] - columns :][own]
            _put(layer, keys, values, width)
        self.mask, self.positions = mask[:, mask.shape[1] - width :], self.positions[index]
        self.logits = self.logits[index.to(self.logits.device)]

    def split(self, rows: Collection[int]) -> Continued:
        """These rows by themselves; the others, of which there is one at least, stay here."""
        # Layers put new tensors in the place of old ones when rows are kept, so copies may share these until then.
        cache = copy.copy(self.cache)
        cache.layers = [copy.copy(layer) for layer in self.cache.layers]
        apart = Continued(self.backend, cache, self.mask, self.positions, self.logits)
        apart.keep(sorted(rows))
        self.keep([row for row in range(len(self.mask)) if row not in rows])
        return apart

    @torch.inference_mode()
    def join(self, other: Continued) -> None:
        """Go on with the rows of another as well, behind these; `other` is used up."""
        width = max(self.mask.shape[1], other.mask.shape[1])
        for layer, more in zip(self.cache.layers, other.cache.layers, strict=True):
            columns = _columns(layer, width)
            keys = _left_padded([layer.keys, more.keys], columns)
            values = _left_padded([layer.values, more.values], columns)
            _put(layer, keys, values, width)
            more.reset()
        masks = [torch.nn.functional.pad(one.mask, (width - one.mask.shape[1], 0)) for one in (self, other)]
        self.mask = torch.cat(masks)
        self.positions = torch.cat([self.positions, other.positions])
        self.logits = torch.cat([self.logits, other.logits])


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
    # Imported late, as everything is that needs transformers.
    from thinkgap.scoring.cache_room import RoomyLayer

    merged = new_cache(backend)
    merged.layers = [layer if layer.is_sliding else RoomyLayer() for layer in merged.layers]
    for number, layer in enumerate(merged.layers):
        sources = [row.cache.layers[number] for row in rows]
        columns = _columns(layer, width)
        # A sliding layer keeps the last tokens only, and of rows of one length, so that none of them is padding.
        pairs = list(zip(sources, rows, strict=True))
        keys = _left_padded([source.keys[row.number, None, :, : row.length] for source, row in pairs], columns)
        values = _left_padded([source.values[row.number, None, :, : row.length] for source, row in pairs], columns)
        layer.lazy_initialization(keys, values)
        _put(layer, keys, values, width)
        for source in sources:
            source.reset()
    return merged


def _columns(layer: Any, width: int) -> int:
    """Columns that a layer holds of `width` tokens."""
    return min(width, layer.sliding_window - 1) if layer.is_sliding else width


def _put(layer: Any, keys: Tensor, values: Tensor, width: int) -> None:
    """The last columns of `width` tokens in the place of what a layer holds."""
    layer.keys, layer.values = keys, values
    if layer.is_sliding:
        # It counts tokens that it does not hold any more.
        layer.cumulative_length = width
    else:
        layer.drop_room()


def _left_padded(parts: Sequence[Tensor], width: int) -> Tensor:
    """`[sum of b, heads, width, d]` of parts `[b, heads, t, d]` with zeros in front; a masked NaN would spread."""
    _, heads, _, size = parts[0].shape
    padded = parts[0].new_zeros((sum(map(len, parts)), heads, width, size))
    start = 0
    for part in parts:
        padded[start : start + len(part), :, width - part.shape[2] :] = part
        start += len(part)
    return padded
