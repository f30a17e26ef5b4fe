"""The plain reference path: every prompt is computed whole, in padded batches of similar length.

The faster paths must agree with this one to 1e-4 in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.capture import Capture, Rows, Wanted
from thinkgap.scoring.memory import in_halves

Result = TypeVar("Result")


def forward_plain(backend: Any, prompts: Sequence[PreparedPrompt], wanted: Wanted | None = None) -> Rows:
    """Logits, and states if `wanted`, at the last token of each prompt of one batch."""
    if wanted is None:
        return Rows(backend.next_token_logits(prompts), None)
    if len(prompts) > 1 and backend.length_dependent:
        rows = [forward_plain(backend, [prompt], wanted) for prompt in prompts]
        states = [row.states for row in rows if row.states is not None]
        return Rows(torch.cat([row.logits for row in rows]), torch.cat(states))
    last = torch.tensor([[len(prepared.prompt.input_ids) - 1] for prepared in prompts])
    with torch.inference_mode(), Capture(backend.structure, last, wanted) as capture:
        logits = backend.next_token_logits(prompts)
        return Rows(logits, capture.states()[:, 0])


def in_batches(
    prompts: Sequence[PreparedPrompt],
    batch_size: int,
    run: Callable[[Sequence[PreparedPrompt]], list[Result]],
) -> list[Result]:
    """`run` over batches of prompts of similar length, halved where memory does not suffice; results in order.

    Raises:
        ModelError: one prompt does not fit into memory by itself.
    """
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].prompt.input_ids))
    results: dict[int, Result] = {}
    for start in range(0, len(by_length), batch_size):
        chosen = by_length[start : start + batch_size]
        results.update(zip(chosen, in_halves([prompts[index] for index in chosen], run, too_large), strict=True))
    return [results[index] for index in range(len(prompts))]


def too_large(prepared: PreparedPrompt, error: Exception) -> Any:
    """One prompt fills the memory by itself.

    Raises:
        ModelError: always.
    """
    prompt = prepared.prompt
    images = ", set model.max_pixels to make its images smaller" if prompt.images else ""
    raise ModelError(
        f"out of memory on one prompt of {len(prompt.input_ids)} tokens (item {prompt.presentation.item.id}): "
        f"set model.max_length to leave such items out{images}, or model.dtype=bfloat16"
    ) from error
