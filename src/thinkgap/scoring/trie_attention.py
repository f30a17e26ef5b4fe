"""Attention of a row of packed tries, block by block, through the model's own attention kernel.

The model calls it as it would call any attention function of transformers, so nothing of the model is changed. What
each layer sees comes as its mask: the masks of all blocks, flat, in the order of the layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from thinkgap.backends.attention import Attention
from thinkgap.scoring.blocks import Block, blocks_of
from thinkgap.scoring.plan import Trie

_NAME = "thinkgap_trie"
# Some kernels want the rows of a mask aligned to so many numbers.
_ALIGNED = 8


@dataclass(frozen=True)
class Placed:
    """A block at its place in the row."""

    queries: tuple[int, int]
    keys: tuple[tuple[int, int], ...]
    mask: tuple[int, int] | None
    """Where its mask begins in the flat mask, and its row length there; None is plain causal attention."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.queries[1] - self.queries[0]

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return sum(end - start for start, end in self.keys)


@dataclass(frozen=True)
class Layout:
    """Blocks of a row of tries, and the flat masks of each kind of layer."""

    blocks: tuple[Placed, ...]
    masks: dict[str, Tensor]
    """`[1, 1, 1, M]` additive masks by kind of layer."""
    inner: str
    """The attention implementation that computes a block."""

    @property
    def attention_mask(self) -> Any:
        """What the model takes: one mask, or a mapping where a model has several kinds of layers."""
        return self.masks if len(self.masks) > 1 else next(iter(self.masks.values()))


def layout_of(
    tries: Sequence[Trie], attention: Attention, dtype: torch.dtype, device: torch.device, inner: str
) -> Layout:
    """Blocks and masks of `tries` one after the other in one row.

    Args:
        tries: what is computed.
        attention: how the model's layers see.
        dtype: of the additive masks, the model's.
        device: where the masks go.
        inner: `sdpa` or `eager`.
    """
    placed: list[Placed] = []
    pieces: dict[str, list[Tensor]] = {kind: [] for kind in attention.kinds}
    offset = filled = 0
    for trie in tries:
        nodes = torch.from_numpy(trie.ends), torch.from_numpy(trie.depths), torch.from_numpy(trie.blocks)
        for block in blocks_of(trie):
            mask = None
            if inner != "sdpa" or not _is_causal(block, trie, attention):
                for kind, piece in _masks(block, nodes, attention, dtype).items():
                    pieces[kind].append(piece.flatten())
                n_queries, n_keys = block.shape
                width = _aligned(n_keys)
                mask = (filled, width)
                filled += n_queries * width
            queries = (block.queries[0] + offset, block.queries[1] + offset)
            keys = tuple((start + offset, end + offset) for start, end in block.keys)
            placed.append(Placed(queries, keys, mask))
        offset += trie.size
    flat = {
        kind: (torch.cat(parts) if parts else torch.zeros(1, dtype=dtype)).to(device)[None, None, None]
        for kind, parts in pieces.items()
    }
    return Layout(tuple(placed), flat, inner)


@contextmanager
def trie_attention(model: Any, layout: Layout) -> Iterator[None]:
    """Let the text layers of `model` attend by `layout` inside the block."""
    config = model.config.get_text_config()
    before = config._attn_implementation
    token = _layout.set(layout)
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before
        _layout.reset(token)


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, **arguments: Any
) -> tuple[Tensor, None]:
    """Attention of one layer.

    Args:
        module: the layer's attention.
        query: `[1, H, T, D]`.
        key: `[1, G, T, D]`.
        value: `[1, G, T, D]`.
        attention_mask: `[1, 1, 1, M]`, those of all blocks.
        arguments: what the model hands to every attention function (scaling, softcap, ...).

    Returns:
        `[1, T, H, D]`, and no weights.
    """
    layout = _layout.get()
    assert layout is not None
    attend = _inner(module, layout.inner)
    out: list[Tensor] = []
    for block in layout.blocks:
        start, end = block.queries
        mask = None
        if block.mask is not None:
            begin, width = block.mask
            flat = attention_mask[0, 0, 0, begin : begin + block.n_queries * width]
            mask = flat.view(1, 1, block.n_queries, width)[..., : block.n_keys]
        found, _ = attend(
            module, query[:, :, start:end], _rows(key, block.keys), _rows(value, block.keys), mask, **arguments
        )
        out.append(found)
    return torch.cat(out, dim=1), None


# Blocks differ from pass to pass; a compiled layer calls this as it is.
AttentionInterface.register(_NAME, torch.compiler.disable(_attend))
_layout: ContextVar[Layout | None] = ContextVar("layout", default=None)


def _inner(module: Any, name: str) -> Callable[..., tuple[Tensor, Any]]:
    if name == "sdpa":
        return sdpa_attention_forward
    # Each family writes its own, with what it does beside the plain product (softcap, sinks).
    return sys.modules[type(module).__module__].eager_attention_forward


def _rows(states: Tensor, ranges: Sequence[tuple[int, int]]) -> Tensor:
    """`[1, G, K, D]`: the rows of `states` that `ranges` name."""
    if len(ranges) == 1:
        return states[:, :, ranges[0][0] : ranges[0][1]]
    return torch.cat([states[:, :, start:end] for start, end in ranges], dim=2)


def _is_causal(block: Block, trie: Trie, attention: Attention) -> bool:
    """Whether every layer sees in this block exactly what plain causal attention sees."""
    start, end = block.queries
    if not block.is_chain or not bool((trie.ends[: end - 1] >= end).all()):
        return False
    if attention.image_blocks and bool((trie.blocks[start:end] >= 0).any()):
        return False
    return "sliding_attention" not in attention.kinds or attention.window is None or end <= attention.window


def _masks(
    block: Block, nodes: tuple[Tensor, Tensor, Tensor], attention: Attention, dtype: torch.dtype
) -> dict[str, Tensor]:
    """`[queries, aligned keys]` additive masks by kind of layer.

    Padding of the key axis, which some kernels want aligned, is never read.
    """
    ends, depths, images = nodes
    query = torch.arange(*block.queries)
    key = torch.cat([torch.arange(start, end) for start, end in block.keys])
    seen = (key <= query[:, None]) & (query[:, None] < ends[key])
    if attention.image_blocks:
        seen |= (images[query][:, None] == images[key]) & (images[key] >= 0)
    found = {}
    for kind in attention.kinds:
        visible = seen
        if kind == "sliding_attention" and attention.window is not None:
            # Windows count tokens of the linear prompt, which rotary positions of images do not.
            visible = seen & (depths[query][:, None] - depths[key] < attention.window)
        mask = torch.full((len(query), _aligned(len(key))), torch.finfo(dtype).min, dtype=dtype)
        # Added as numbers: a boolean mask is converted again in every layer.
        mask[:, : len(key)].masked_fill_(visible, 0.0)
        found[kind] = mask
    return found


def _aligned(n: int) -> int:
    return -(-n // _ALIGNED) * _ALIGNED
