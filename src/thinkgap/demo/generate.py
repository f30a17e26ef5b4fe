"""Greedy continuations of prompts, and the letter that a continuation of the demo model settles on.

Prompts of one length run together, so nothing is padded. It knows no data set and no table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import torch

from thinkgap.backends.hf import HFBackend, collate
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.tracking.progress import progress

_TOGETHER = 64
_ENDING = re.compile(r"\banswer is ([A-Z])\b")
_ALONE = re.compile(r"([A-Z])\W*")


@torch.inference_mode()
def continuations(
    backend: HFBackend, prompts: Sequence[PreparedPrompt], most_tokens: int, *, shown: bool = False
) -> list[str]:
    """The greedy reply to each prompt, in order, without control tokens.

    Args:
        backend: the model.
        prompts: of any lengths.
        most_tokens: replies are cut after this many.
        shown: whether to show a progress bar.
    """
    replies = [""] * len(prompts)
    ordered = sorted(range(len(prompts)), key=lambda index: _shape(prompts[index]))
    with progress(total=len(prompts), description="generation", unit="prompt", enabled=shown) as bar:
        for _, same in groupby(ordered, key=lambda index: _shape(prompts[index])):
            indices = list(same)
            for start in range(0, len(indices), _TOGETHER):
                part = indices[start : start + _TOGETHER]
                for index, reply in zip(
                    part, _reply(backend, [prompts[index] for index in part], most_tokens), strict=True
                ):
                    replies[index] = reply
                bar.update(len(part))
    return replies


def _shape(prompt: PreparedPrompt) -> tuple[int, int]:
    return len(prompt.prompt.input_ids), len(prompt.prompt.images)


def _reply(backend: HFBackend, prompts: Sequence[PreparedPrompt], most_tokens: int) -> list[str]:
    inputs = {name: value.to(backend.device) for name, value in collate(prompts, backend.pad_id).items()}
    n = inputs["input_ids"].shape[1]
    output = backend.model.generate(**inputs, max_new_tokens=most_tokens, do_sample=False)
    return backend.fmt.tokenizer.batch_decode(output[:, n:], skip_special_tokens=True)


def settled_letter(reply: str) -> str | None:
    """The letter after the last "answer is", or a reply that is a letter alone; None if there is neither."""
    if found := _ENDING.findall(reply):
        return found[-1]
    alone = _ALONE.fullmatch(reply.strip())
    return alone.group(1) if alone else None
