"""Shared prefixes by a cache: a prefix is computed once, its keys and values are expanded, the rest goes in batches.

For models whose attention takes no mask of our own. Every pass but the last of a prompt has rows of equal length, and
padding stands at the very end only, so the model's own masks hold, sliding windows among them. Which prefixes is
planned in `levels`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from thinkgap.backends.families import position_axes
from thinkgap.backends.hf import HFBackend
from thinkgap.scoring.capture import Capture, Rows, Wanted
from thinkgap.scoring.packed import Planned, image_tensors


@dataclass(frozen=True)
class LeafPass:
    """The last pass of some prompts of a trie."""

    prompts: list[int]
    """Prompts by their number in the plan, a row each; of equal prompts one stands for all."""
    rows: Rows
    cache: Any | None
    """Their keys and values if they were asked for: a prompt's own stand before what pads it."""


@torch.inference_mode()
def forward_branched(backend: HFBackend, batch: Sequence[Planned], wanted: Wanted | None = None) -> Rows:
    """Logits, and states if `wanted`, of every prompt of `batch`, trie after trie."""
    return _joined([_branches(backend, planned, wanted) for planned in batch])


def _branches(backend: HFBackend, planned: Planned, wanted: Wanted | None) -> Rows:
    """The prompts of one trie."""
    passes = leaf_passes(backend, planned, wanted)
    rows = _joined([one.rows for one in passes])
    # Equal prompts were computed once.
    order = [prompt for one in passes for prompt in one.prompts]
    by_read = {int(planned.trie.reads[prompt]): row for row, prompt in enumerate(order)}
    chosen = torch.tensor([by_read[read] for read in planned.trie.reads.tolist()])
    states = None if rows.states is None else rows.states[chosen.to(rows.states.device)]
    return Rows(rows.logits[chosen.to(rows.logits.device)], states)


@torch.inference_mode()
def leaf_passes(
    backend: HFBackend, planned: Planned, wanted: Wanted | None = None, *, keep: bool = False
) -> list[LeafPass]:
    """Compute the prefixes that the prompts of a trie share, then the rest of each.

    Args:
        backend: the model.
        planned: the prompts and their trie.
        wanted: states to keep.
        keep: whether to keep the cache of each last pass, so that its prompts can be continued.
    """
    levels = planned.levels
    root = None
    if levels.root:
        root = new_cache(backend)
        _forward(backend, planned, [(0, levels.root)], 0, root)
    # A window that slides over padding would lose tokens that are still to be seen.
    unpadded = keep and any(layer.is_sliding for layer in new_cache(backend).layers)
    found = []
    for stems in levels.groups:
        stop = stems[0].stop
        cache = root
        if stop > levels.root:
            cache = new_cache(backend) if root is None else expanded(root, [0] * len(stems))
            _forward(backend, planned, [(stem.leaves[0], stop) for stem in stems], levels.root, cache)
        leaves = [
            (number, leaf, len(planned.prompts[leaf].prompt.input_ids))
            for number, stem in enumerate(stems)
            for leaf in stem.leaves
        ]
        for length in sorted({length for *_, length in leaves}) if unpadded else (None,):
            part = [leaf for leaf in leaves if length in (None, leaf[-1])]
            own = new_cache(backend) if keep and cache is None else None
            if cache is not None:
                own = expanded(cache, [number for number, *_ in part])
            rows = _forward(backend, planned, [(leaf, end) for _, leaf, end in part], stop, own, wanted)
            found.append(LeafPass([leaf for _, leaf, _ in part], rows, own if keep else None))
    return found


def _forward(
    backend: HFBackend,
    planned: Planned,
    rows: Sequence[tuple[int, int]],
    start: int,
    cache: Any | None,
    wanted: Wanted | None = None,
) -> Rows:
    """One pass over tokens `start .. stop - 1` of each `(prompt, stop)` of `rows`.

    Args:
        backend: the model.
        planned: the prompts and their trie.
        rows: with unequal stops only if nothing continues from this pass, because padding would stay in the cache.
        start: tokens that `cache` holds.
        cache: one entry per row, extended in place; None if nothing is shared.
        wanted: further states to keep.

    Returns:
        What the last token of each row gives.
    """
    model, device, trie = backend.model, backend.device, planned.trie
    paths = [trie.path(prompt)[:stop] for prompt, stop in rows]
    pieces = [path[start:] for path in paths]
    width = max(map(len, pieces))
    axes = position_axes(model)
    positions = np.zeros((axes, len(rows), width), np.int64)
    for row, piece in enumerate(pieces):
        positions[:, row, : len(piece)] = trie.positions[:, piece]
    mask = _padded([np.ones(len(path)) for path in paths], start + width, 0)
    last = torch.tensor([[len(piece) - 1] for piece in pieces], device=device)
    capture = Capture(backend.structure, last, wanted) if wanted is not None else None
    with capture or nullcontext():
        output = model(
            input_ids=torch.from_numpy(_padded([trie.tokens[piece] for piece in pieces], width, backend.pad_id)).to(
                device
            ),
            position_ids=torch.from_numpy(positions if axes > 1 else positions[0]).to(device),
            attention_mask=torch.from_numpy(mask).to(device),
            logits_to_keep=last,
            cache=cache,
            use_cache=cache is not None,
            **_images(backend, planned, rows, pieces, start + width),
        )
    return Rows(output.logits[:, 0].float(), None if capture is None else capture.states()[:, 0])


def _images(
    backend: HFBackend, planned: Planned, rows: Sequence[tuple[int, int]], pieces: Sequence[Any], width: int
) -> dict[str, Any]:
    """Tensors of the images whose tokens are in `pieces`, row after row; empty for text."""
    trie = planned.trie
    shown = [
        trie.images[block] for piece in pieces for block in dict.fromkeys(trie.blocks[piece].tolist()) if block >= 0
    ]
    if not shown:
        return {}
    found = image_tensors(backend.model, [(planned, image) for image in shown], backend.device)
    tensors = [planned.prompts[prompt].tensors for prompt, _ in rows]
    for key in dict.fromkeys(key for each in tensors for key in each if key.endswith("token_type_ids")):
        # From the first token on, not from `start`: models count mask columns over the cache as well.
        kinds = [each[key][0, :stop] if key in each else () for each, (_, stop) in zip(tensors, rows, strict=True)]
        found[key] = torch.from_numpy(_padded(kinds, width, 0)).to(backend.device)
    return found


def new_cache(backend: HFBackend) -> Any:
    """An empty cache with the kinds of layers that the model has."""
    from transformers import DynamicCache

    return DynamicCache(config=backend.model.config)


def expanded(cache: Any, entries: Sequence[int]) -> Any:
    """A cache whose rows are these entries of `cache`, which stays as it is."""
    expanded = copy.copy(cache)
    # The layers put new tensors in the place of old ones and never write into them, so these need no copy.
    expanded.layers = [copy.copy(layer) for layer in cache.layers]
    expanded.batch_select_indices(torch.tensor(entries))
    return expanded


def _joined(found: Sequence[Rows]) -> Rows:
    states = [rows.states for rows in found if rows.states is not None]
    return Rows(torch.cat([rows.logits for rows in found]), torch.cat(states) if states else None)


def _padded(rows: Sequence[Any], width: int, fill: int) -> Any:
    """Int64 `[len(rows), width]` table of rows of unequal length."""
    table = np.full((len(rows), width), fill, np.int64)
    for row, values in enumerate(rows):
        table[row, : len(values)] = values
    return table
