"""One forward pass over tries: an ancestor mask, explicit positions, logits at the read nodes only.

A node sees its ancestors and itself, so its state is that of the last token of the linear prompt that ends in it.
Each row of the batch is one trie. Knows masks and layouts; what a family's layers see comes from
`backends.attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from thinkgap.backends.attention import Attention, attention_of
from thinkgap.backends.families import position_axes
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.images import image_parts, image_runs
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.capture import Capture, Rows, Wanted
from thinkgap.scoring.plan import LinearPrompt, Occurrence, Span, Trie, build_trie


@dataclass(frozen=True)
class Planned:
    """Prompts that are computed together, and their trie."""

    trie: Trie
    prompts: tuple[PreparedPrompt, ...]


def plan_prompts(backend: HFBackend, prompts: Sequence[PreparedPrompt]) -> Planned:
    """The trie of prompts, with positions that the model gives each of them alone.

    Raises:
        PromptError: images whose tokens cannot be told apart.
    """
    positions = backend.linear_positions(prompts)
    linear = []
    for prepared, own in zip(prompts, positions, strict=True):
        prompt = prepared.prompt
        runs = image_runs(prompt.input_ids, backend.fmt.image_token_id, len(prompt.images), prepared.tensors)
        spans = tuple(
            Span(start, length, image.sha256) for (start, length), image in zip(runs, prompt.images, strict=True)
        )
        linear.append(LinearPrompt(prompt.input_ids, spans, own))
    return Planned(build_trie(linear), tuple(prompts))


@torch.inference_mode()
def forward_packed(backend: HFBackend, batch: Sequence[Planned], wanted: Wanted | None = None) -> Rows:
    """Logits, and states if `wanted`, of every prompt of `batch`, trie after trie."""
    model, device = backend.model, backend.device
    tries = [planned.trie for planned in batch]
    width = max(trie.size for trie in tries)
    ids = padded([trie.tokens for trie in tries], width, backend.pad_id)
    axes = position_axes(model)
    positions = np.zeros((axes, len(tries), width), np.int64)
    for row, trie in enumerate(tries):
        positions[:, row, : trie.size] = trie.positions
    # Prompts that end in the same node share a row of logits.
    reads = [np.unique(trie.reads, return_inverse=True) for trie in tries]
    kept = padded([nodes for nodes, _ in reads], max(len(nodes) for nodes, _ in reads), 0)
    rows = torch.from_numpy(kept).to(device)
    capture = Capture(backend.structure, rows, wanted) if wanted is not None else None
    with capture or nullcontext():
        output = model(
            input_ids=torch.from_numpy(ids).to(device),
            position_ids=torch.from_numpy(positions if axes > 1 else positions[0]).to(device),
            attention_mask=masks(tries, attention_of(model), width, model.dtype, device),
            logits_to_keep=rows,
            use_cache=False,
            **image_tensors([(one, image) for one in batch for image in one.trie.images], device, model.dtype),
        )
    where = torch.tensor([(row, int(at)) for row, (_, ats) in enumerate(reads) for at in ats.reshape(-1)])
    sequence, column = where.to(output.logits.device).unbind(-1)
    states = None
    if capture is not None:
        found = capture.states()
        states = found[sequence.to(found.device), column.to(found.device)]
    return Rows(output.logits[sequence, column].float(), states)


def masks(
    tries: Sequence[Trie], attention: Attention, width: int, dtype: torch.dtype, device: torch.device
) -> Tensor | dict[str, Tensor]:
    """Additive `[B, 1, width, width]` mask, or one per kind of layer where a model has several kinds.

    Padding sees itself only, so that no row of the softmax is empty.
    """
    nodes = torch.arange(width, device=device)
    ends = nodes.repeat(len(tries), 1) + 1
    for row, trie in enumerate(tries):
        ends[row, : trie.size] = torch.from_numpy(trie.ends).to(device)
    seen = (nodes <= nodes[:, None]) & (nodes[:, None] < ends[:, None, :])
    if attention.image_blocks and any(trie.images for trie in tries):
        blocks = torch.from_numpy(padded([trie.blocks for trie in tries], width, -1)).to(device)
        seen |= (blocks[:, :, None] == blocks[:, None, :]) & (blocks[:, None, :] >= 0)
    found = {}
    for kind in attention.kinds:
        visible = seen
        if kind == "sliding_attention" and attention.window is not None:
            # Windows count tokens of the linear prompt, which rotary positions of images do not.
            depths = torch.from_numpy(padded([trie.depths for trie in tries], width, 0)).to(device)
            visible = seen & (depths[:, :, None] - depths[:, None, :] < attention.window)
        # Added as numbers: a boolean mask is converted again in every layer.
        hidden = torch.finfo(dtype).min
        found[kind] = torch.zeros(visible.shape, dtype=dtype, device=device).masked_fill_(~visible, hidden)[:, None]
    return found if len(found) > 1 else next(iter(found.values()))


def image_tensors(
    shown: Sequence[tuple[Planned, Occurrence]], device: torch.device, dtype: torch.dtype
) -> dict[str, Tensor]:
    """The processor's tensors of images, which come in the order of their tokens in the pass."""
    gathered: dict[str, list[Tensor]] = {}
    for planned, image in shown:
        prepared = planned.prompts[image.prompt]
        part = image_parts(prepared.tensors, len(prepared.prompt.images))[image.ordinal]
        for key, value in part.items():
            gathered.setdefault(key, []).append(value)
    joined = {key: torch.cat(values).to(device) for key, values in gathered.items()}
    return {key: value.to(dtype) if value.is_floating_point() else value for key, value in joined.items()}


def padded(rows: Sequence[Any], width: int, fill: int) -> Any:
    """Int64 `[len(rows), width]` table of rows of unequal length."""
    table = np.full((len(rows), width), fill, np.int64)
    for row, values in enumerate(rows):
        table[row, : len(values)] = values
    return table
