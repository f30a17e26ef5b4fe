"""Whether shared decoding is exact for a loaded model: some tokens of some real prompts, against plain forwards.

As in `check`, what is not known by name is declined first, and then numbers decide.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import torch

from thinkgap.backends.attention import cache_refusal
from thinkgap.backends.families import TOLERANCE
from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.check import probes
from thinkgap.scoring.decode import Method
from thinkgap.scoring.decode_cache import Continued, prefill
from thinkgap.scoring.packed import plan_prompts

log = logging.getLogger(__name__)

_PROMPTS = 4
_STEPS = 4
# In float32, relative to the largest logit; a mask, a position or a window that is wrong differs by far more. Half
# precision rounds otherwise in every shape, so there it is so many times the tolerance at load.
_FLOAT32 = 1e-3
_HALF = 10


def choose_decoding(backend: HFBackend, groups: Sequence[Sequence[PreparedPrompt]]) -> Method:
    """Shared decoding if it is exact for this model, else plain with the reason, which is also logged as a warning.

    Args:
        backend: the model.
        groups: some groups of the run, of which a few prompts are tried; without any, made-up prompts are.
    """
    refusal, error = _refusal(backend, groups)
    if refusal:
        log.warning("replies of %s are computed without sharing prefixes: %s", backend.fmt.name, refusal)
        return Method("plain", refusal, error)
    return Method("shared", "each step's logits are those of plain forward passes", error)


def _refusal(backend: HFBackend, groups: Sequence[Sequence[PreparedPrompt]]) -> tuple[str, float | None]:
    """Why shared decoding is not exact for this model (empty if it is), and the error that was measured."""
    if refusal := cache_refusal(backend.model):
        return refusal, None
    if backend.length_dependent:
        return "its rotary frequencies depend on the longest prompt of a pass", None
    try:
        error = largest_difference(backend, _tried(backend, groups))
    except Exception as failure:
        # Whatever a model does not like about a cache of ours, plain decoding remains.
        log.debug("shared decoding of %s failed", backend.fmt.name, exc_info=True)
        return f"its forward pass fails: {type(failure).__name__}: {failure}", None
    dtype = backend.model.dtype
    bound = _FLOAT32 if dtype is torch.float32 else _HALF * TOLERANCE.get(dtype, max(TOLERANCE.values()))
    if not error <= bound:
        return f"logits differ from plain ones (relative error {error:.2g}, allowed {bound:.0e})", error
    return "", error


def largest_difference(backend: HFBackend, groups: Sequence[Sequence[PreparedPrompt]]) -> float:
    """Largest difference of any step's logits to those of a plain forward pass, relative to the largest logit.

    All groups are continued together; half-way, a row ends and its prompt, from the start, takes its place.
    """

    def computed(given: Sequence[Sequence[PreparedPrompt]]) -> tuple[Continued, list[PreparedPrompt]]:
        rows, row_of = prefill(backend, [plan_prompts(backend, group) for group in given])
        prompts = [prepared for group in given for prepared in group]
        one_of = dict(zip(row_of, prompts, strict=True))
        return rows, [one_of[row] for row in range(len(one_of))]

    rows, prompts = computed(groups)
    written: list[list[int]] = [[] for _ in prompts]
    worst = 0.0
    for step in range(_STEPS):
        if step == _STEPS // 2:
            again, first = computed([prompts[:1]])
            if len(prompts) > 1:
                rows.keep(range(1, len(prompts)))
                prompts, written = prompts[1:], written[1:]
            rows.join(again)
            prompts, written = prompts + first, [*written, []]
        # The reference goes one by one: batches of its own would pad.
        plain = torch.cat([backend.next_token_logits([continued(*own)]) for own in zip(prompts, written, strict=True)])
        scale = plain.abs().max().clamp(min=1.0)
        worst = max(worst, float((rows.logits - plain).abs().nan_to_num(nan=float("inf")).max() / scale))
        tokens = rows.logits.argmax(-1).tolist()
        for own, token in zip(written, tokens, strict=True):
            own.append(token)
        rows.step(tokens)
    return worst


def continued(prepared: PreparedPrompt, tokens: Sequence[int]) -> PreparedPrompt:
    """The prompt with tokens of its reply behind it."""
    prompt, length = prepared.prompt, len(prepared.prompt.input_ids)
    tensors = {
        key: torch.nn.functional.pad(value, (0, len(tokens))) if value.shape == (1, length) else value
        for key, value in prepared.tensors.items()
    }
    return PreparedPrompt(replace(prompt, input_ids=(*prompt.input_ids, *tokens)), tensors)


def _tried(backend: HFBackend, groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[PreparedPrompt]]:
    """Some prompts of the longest group with and the longest without images."""
    longest: dict[bool, Sequence[PreparedPrompt]] = {}
    for group in groups:
        if group:
            shown = any(one.prompt.images for one in group)
            longest[shown] = max(longest.get(shown, group), group, key=_length)
    if not longest:
        return [prompts for _, prompts in probes(backend)]
    return [list(group[:: -(-len(group) // _PROMPTS)]) for group in longest.values()]


def _length(group: Sequence[PreparedPrompt]) -> int:
    return max(len(one.prompt.input_ids) for one in group)
