"""Greedy replies by the model's own `generate`, to prompts of equal length: nothing shared, nothing padded.

The reference for `decode`, and its way for models that cannot continue from a cache of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.greedy import Written, ending
from thinkgap.scoring.readings import not_finite
from thinkgap.types import Prompt


def shape(prepared: PreparedPrompt) -> tuple[int, int]:
    """What prompts of one call have in common: their length, and how many images they show."""
    return len(prepared.prompt.input_ids), len(prepared.prompt.images)


@torch.inference_mode()
def generate_plain(
    backend: HFBackend, prompts: Sequence[PreparedPrompt], max_new_tokens: int, stop_ids: Sequence[int]
) -> tuple[list[Written], Tensor]:
    """The model's replies to prompts of one `shape`.

    Args:
        backend: the model; its own generation config is not used.
        prompts: `B` prompts.
        max_new_tokens: longest reply.
        stop_ids: tokens that end a reply.

    Returns:
        The reply to each prompt, and float32 logits `[B, V]` of its first token.

    Raises:
        ModelError: logits that are not finite.
    """
    from transformers import GenerationConfig

    # Also forgets the rotary offset that an earlier image left in the model.
    inputs = backend.model_inputs(prompts)
    inputs.pop("position_ids")
    steps = _Steps([prepared.prompt for prepared in prompts])
    with _own_config(backend.model, GenerationConfig()):
        written = backend.model.generate(
            **inputs,
            generation_config=GenerationConfig(
                max_new_tokens=max_new_tokens,
                do_sample=False,
                num_beams=1,
                eos_token_id=list(stop_ids) or None,
                pad_token_id=backend.pad_id,
            ),
            logits_processor=[steps],
        )
    assert steps.first is not None
    steps.raise_if_bad()
    new = written[:, inputs["input_ids"].shape[1] :].tolist()
    return [_reply(tokens, max_new_tokens, stop_ids) for tokens in new], steps.first


def _reply(tokens: Sequence[int], max_new_tokens: int, stop_ids: Sequence[int]) -> Written:
    """What stands up to the first stop token, behind which `generate` only fills up the row."""
    end = next((place for place, token in enumerate(tokens) if token in stop_ids), max_new_tokens - 1)
    found = ending(tokens[: end + 1], max_new_tokens, stop_ids)
    assert found is not None, "generate ended before the cap and without a stop token"
    return Written(*found, tokens[0])


class _Steps:
    """Sees the logits of each step and changes nothing: keeps the first, and which rows were ever not finite."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.prompts = prompts
        self.first: Tensor | None = None
        self.bad: Tensor | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        # The largest is NaN or infinite if any is; -inf is a token that cannot come.
        bad = ~scores.amax(-1).isfinite()
        if self.first is None:
            self.first = scores.float()
        self.bad = bad if self.bad is None else self.bad | bad
        return scores

    def raise_if_bad(self) -> None:
        if self.bad is not None and bool(self.bad.any()):
            raise not_finite(self.prompts[int(self.bad.int().argmax())], " in its reply")


@contextmanager
def _own_config(model: Any, config: Any) -> Iterator[None]:
    """`generate` fills what it is not told from the model's own config, a repetition penalty among them."""
    before, model.generation_config = model.generation_config, config
    try:
        yield
    finally:
        model.generation_config = before
