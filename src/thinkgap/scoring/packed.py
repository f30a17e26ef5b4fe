"""One forward pass over tries: an ancestor mask, explicit positions, logits at the read nodes only.

A node sees its ancestors and itself, so its state is that of the last token of the linear prompt that ends in it.
The tries stand one after the other in one row, without padding. Knows no mask; those are `trie_attention`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from thinkgap.backends.attention import attention_of
from thinkgap.backends.families import position_axes
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.images import image_inputs, image_parts, image_runs
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.capture import Capture, Rows, Wanted
from thinkgap.scoring.levels import Levels, plan_levels
from thinkgap.scoring.plan import LinearPrompt, Occurrence, Span, Trie, build_trie
from thinkgap.scoring.trie_attention import layout_of, trie_attention


@dataclass(frozen=True)
class Planned:
    """Prompts that are computed together, and their trie."""

    trie: Trie
    prompts: tuple[PreparedPrompt, ...]

    @cached_property
    def levels(self) -> Levels:
        """How they are computed where no mask of ours is taken."""
        return plan_levels(self.trie)


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
    attention = attention_of(model)
    layout = layout_of(tries, attention, model.dtype, device, attention.implementation)
    axes = position_axes(model)
    # Prompts without an image count on one axis also where images have three.
    given = [np.broadcast_to(trie.positions, (axes, trie.size)) for trie in tries]
    positions = torch.from_numpy(np.concatenate(given, axis=1)).to(device)
    starts = np.cumsum([0, *(trie.size for trie in tries)])
    reads = np.concatenate([trie.reads + start for trie, start in zip(tries, starts, strict=False)])
    # Prompts that end in the same node share a row of logits.
    kept, row_of = np.unique(reads, return_inverse=True)
    rows = torch.from_numpy(kept)[None].to(device)
    capture = Capture(backend.structure, rows, wanted) if wanted is not None else None
    with capture or nullcontext(), trie_attention(model, layout):
        output = model(
            input_ids=torch.from_numpy(np.concatenate([trie.tokens for trie in tries]))[None].to(device),
            position_ids=positions[:, None] if axes > 1 else positions,
            attention_mask=layout.attention_mask,
            logits_to_keep=rows,
            use_cache=False,
            **image_tensors(model, [(one, image) for one in batch for image in one.trie.images], device),
        )
    where = torch.from_numpy(row_of.reshape(-1))
    logits = output.logits[0, where.to(output.logits.device)].float()
    if capture is None:
        return Rows(logits, None)
    states = capture.states()[0]
    return Rows(logits, states[where.to(states.device)])


def image_tensors(model: Any, shown: Sequence[tuple[Planned, Occurrence]], device: torch.device) -> dict[str, Any]:
    """Inputs for images, which come in the order of their tokens in the pass; equal ones are encoded once."""
    found: dict[tuple[str, int], dict[str, Tensor]] = {}
    order: list[tuple[str, int]] = []
    for planned, image in shown:
        prepared = planned.prompts[image.prompt]
        key = (prepared.prompt.images[image.ordinal].sha256, image.length)
        order.append(key)
        if key not in found:
            own = image_parts(prepared.tensors, len(prepared.prompt.images))[image.ordinal]
            found[key] = {
                name: value.to(device, model.dtype if value.is_floating_point() else None)
                for name, value in own.items()
            }
    index = {key: number for number, key in enumerate(found)}
    return image_inputs(model, list(found.values()), [index[key] for key in order])
