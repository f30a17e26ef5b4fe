"""Which way of scoring is exact for a loaded model: what its config says, then a small trie against plain prompts.

Runs once at load. The probes are shorter than most sliding windows, so layers of a kind that is not known by name are
declined before any number is looked at.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from thinkgap.backends.attention import attention_of
from thinkgap.backends.families import TOLERANCE
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring.packed import forward_packed, plan_prompts
from thinkgap.scoring.plain import forward_plain
from thinkgap.types import Condition, ImageRef, Item, Presentation, Prompt, Request, Thinking

log = logging.getLogger(__name__)

# Branches of unequal length, one prompt a prefix of others, and two that are equal; small ids are plain text.
_TEXTS = ((3, 6, 9), (3, 6, 9, 12, 15), (3, 6, 9, 18), (3, 6, 9, 18), (21, 3, 6, 9, 12, 15, 18))
# Allowed: so many times what the model's own batches differ by, and never more than so many times the tolerance.
_OWN_SPREAD = 4
_MOST = 10
_ENDINGS = ("Which?", "Which one is it?", "Why?")


@dataclass(frozen=True)
class Choice:
    """The way a model's prompts are scored, and why."""

    method: Scoring
    reason: str
    error: float | None = None
    """Largest difference to plain scoring on the probes, relative to the largest logit."""


def choose(backend: HFBackend, asked: Scoring) -> Choice:
    """The fastest exact way, or the one that was asked for.

    Raises:
        ModelError: `asked` is not exact for this model.
    """
    if asked is Scoring.plain:
        return Choice(Scoring.plain, "every prompt is computed whole")
    refusal, error = packed_refusal(backend)
    if not refusal:
        return Choice(Scoring.packed, "the ancestor mask reproduces plain scoring", error)
    if asked is not Scoring.auto:
        raise ModelError(f"scoring={asked.name} is not exact for {backend.fmt.name}: {refusal}; set scoring=auto")
    return Choice(Scoring.plain, f"shared prefixes cannot be computed once: {refusal}", error)


def packed_refusal(backend: HFBackend) -> tuple[str, float | None]:
    """Why packed scoring is not exact for this model (empty if it is), and the error that was measured."""
    attention = attention_of(backend.model)
    if attention.refusal:
        return attention.refusal, None
    if backend.length_dependent:
        # The probes are too short to show it.
        return "its rotary frequencies depend on the longest prompt of a pass", None
    tolerance = TOLERANCE.get(backend.model.dtype, max(TOLERANCE.values()))
    worst = 0.0
    for kind, prompts in probes(backend):
        try:
            error, own = differences(backend, prompts)
        except Exception as failure:
            # Whatever a model does not like about a mask or positions of our own, plain scoring remains.
            log.debug("the packed probe of %s failed", backend.fmt.name, exc_info=True)
            return f"its forward pass fails on packed {kind}: {type(failure).__name__}: {failure}", None
        worst = max(worst, error)
        # Large activations make a real model's own batches differ by more than the tolerance; a mask that is wrong
        # shows at a hundred times that.
        bound = max(tolerance, min(_OWN_SPREAD * own, _MOST * tolerance))
        if not error <= bound:
            return f"packed {kind} differ from plain ones (relative error {error:.2g}, allowed {bound:.0e})", error
    return "", worst


def differences(backend: HFBackend, prompts: Sequence[PreparedPrompt]) -> tuple[float, float]:
    """Largest difference of packed, and of plain batched, to single plain logits, relative to the largest logit."""
    packed = forward_packed(backend, [plan_prompts(backend, prompts)] * 2)
    single = torch.cat([forward_plain(backend, [prepared]).logits for prepared in prompts])
    batched = forward_plain(backend, prompts)
    scale = single.abs().max().clamp(min=1.0)
    return (
        float((packed.logits - single.repeat(2, 1)).abs().max() / scale),
        float((batched.logits - single).abs().max() / scale),
    )


def probes(backend: HFBackend) -> list[tuple[str, list[PreparedPrompt]]]:
    """Texts, and for an image-text model prompts with two pictures of different sizes."""
    condition = Condition("probe", "trigger", Request.label)
    presentation = Presentation(Item("probe", "probe", "", ("a", "b"), 0, "mcq", "test"), (0, 1), ("A", "B"))

    def prompt(ids: Sequence[int], images: tuple[ImageRef, ...] = ()) -> Prompt:
        return Prompt(presentation, condition, "", tuple(ids), ((0,), (1,)), images)

    found = [("texts", [PreparedPrompt(prompt(ids)) for ids in _TEXTS])]
    if backend.fmt.is_vision and backend.fmt.chat_template:
        pictures = (_picture(64, 48), _picture(48, 112))
        shown = []
        for ending in _ENDINGS:
            parts = [{"type": "image"}, {"type": "image"}, {"type": "text", "text": ending}]
            text = backend.fmt.apply_template(
                [{"role": "user", "content": parts}], generation_prompt=True, thinking=Thinking.default
            )
            encoded = backend.fmt.encode(text, pictures)
            shown.append(PreparedPrompt(prompt(encoded.input_ids, pictures), encoded.tensors))
        found.append(("images", shown))
    return found


def _picture(width: int, height: int) -> ImageRef:
    """A small picture of noise."""
    from PIL import Image

    pixels = np.random.default_rng(width).integers(0, 255, (height, width, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    data = sink.getvalue()
    load: Callable[[], bytes] = lambda: data  # noqa: E731
    return ImageRef(hashlib.sha256(data).hexdigest(), load)
