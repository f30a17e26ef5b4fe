"""A prepared prompt with more tokens after it: a reply that was generated, an answer cue, the first words of an option.

Knows no model; images and their tokens stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from thinkgap.prompts.build import PreparedPrompt, digest


def extend(
    prepared: PreparedPrompt, ids: Sequence[int], label_ids: Sequence[Sequence[int]] | None = None
) -> PreparedPrompt:
    """The prompt followed by `ids`, read after the last of them.

    Args:
        prepared: a prompt with its tensors.
        ids: tokens to add.
        label_ids: per slot the token ids that are read there; None keeps the prompt's own.
    """
    prompt = prepared.prompt
    before = len(prompt.input_ids)
    longer = replace(
        prompt,
        input_ids=(*prompt.input_ids, *ids),
        label_ids=prompt.label_ids if label_ids is None else tuple(map(tuple, label_ids)),
    )
    # Of a processor's tensors, those of shape [1, T] go with the tokens, and 0 stands for text (`backends.hf.collate`).
    tensors = {
        name: torch.nn.functional.pad(value, (0, len(ids))) if value.shape == (1, before) else value
        for name, value in prepared.tensors.items()
    }
    return PreparedPrompt(replace(longer, sha256=digest(longer)), tensors)
