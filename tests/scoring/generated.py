"""What shared decoding must reproduce: `model.generate` on each prompt alone, with nothing but greedy search set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationConfig

from thinkgap.backends.hf import collate
from thinkgap.prompts.build import PreparedPrompt


def generate(backend: Any, prepared: PreparedPrompt, cap: int, stops: Sequence[int] = ()) -> list[int]:
    """New tokens, the stop token among them."""
    model = backend.model
    if hasattr(model.model, "rope_deltas"):
        model.model.rope_deltas = None
    inputs = {key: value.to(backend.device) for key, value in collate([prepared], backend.pad_id).items()}
    own, model.generation_config = model.generation_config, GenerationConfig()
    try:
        output = model.generate(
            **inputs,
            generation_config=GenerationConfig(max_new_tokens=cap, do_sample=False, eos_token_id=list(stops) or None),
        )
    finally:
        model.generation_config = own
    return output[0, len(prepared.prompt.input_ids) :].tolist()


def stops_of(replies: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """A token that ends about half of `replies`, and not with their first token; random weights rarely write an end."""
    half = len(replies) / 2
    hits = Counter(token for reply in replies for token in set(reply[1:]) - {reply[0]})
    return (min(hits, key=lambda token: (abs(hits[token] - half), token)),)


def split(tokens: Sequence[int], stops: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """A generated row as a reply's tokens and finish."""
    return (tuple(tokens[:-1]), "stop") if tokens[-1] in stops else (tuple(tokens), "length")


@contextmanager
def turned_head(backend: Any) -> Iterator[None]:
    """The state turned by a random rotation before the head.

    Gemma 3's tiny model, whose head is its embeddings, else writes one token again and again.
    """
    width = backend.structure.head.weight.shape[1]
    rotation = torch.linalg.qr(torch.randn(width, width, generator=torch.Generator().manual_seed(1)))[0]
    hook = backend.structure.head.register_forward_pre_hook(lambda module, given: (given[0] @ rotation,))
    try:
        yield
    finally:
        hook.remove()
