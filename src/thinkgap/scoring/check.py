"""Which way of scoring is exact for a loaded model: what its config says, then small tries against plain prompts.

Runs once at load. The probes are shorter than most sliding windows, so layers of a kind that is not known by name are
declined before any number is looked at.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from thinkgap.backends.attention import attention_of, cache_refusal
from thinkgap.backends.families import TOLERANCE
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.packed import forward_packed, plan_prompts
from thinkgap.scoring.plain import forward_plain
from thinkgap.types import Condition, ImageRef, Item, Presentation, Prompt, Request, Thinking

log = logging.getLogger(__name__)

# Small ids are plain text. First branches of unequal length, one prompt a prefix of others, two that are equal, and one
# that shares nothing.
_TEXTS = ((3, 6, 9), (3, 6, 9, 12, 15), (3, 6, 9, 18), (3, 6, 9, 18), (21, 3, 6, 9, 12, 15, 18))
# Two presentations under several conditions, so that every level of a branched pass has several tokens.
_LEVELS = tuple(
    (3, 6, 9, *options, 27, *ending)
    for options in ((12, 15, 18, 21), (18, 21, 12, 15))
    for ending in ((30,), (33, 36, 39), (33, 42), (33, 36, 39, 45, 48))
)
# Allowed: so many times what the model's own batches differ by, and never more than so many times the tolerance.
_OWN_SPREAD = 4
_MOST = 10
_ENDINGS = ("Which?", "Which one is it?")
# In pixels. The first is shown to all; the others have as many tokens, but another shape.
_PICTURES = ((64, 48), (48, 112), (112, 48))
_FORWARD = {Scoring.packed: forward_packed, Scoring.branched: forward_branched}
_REASONS = {
    Scoring.packed: "the ancestor mask reproduces plain scoring",
    Scoring.branched: "the expanded cache reproduces plain scoring",
}


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
    refusals: list[str] = []
    refusal, error = "", None
    for method, reason in _REASONS.items():
        if asked not in (Scoring.auto, method):
            continue
        refusal, error = refusal_of(backend, method)
        if not refusal:
            return Choice(method, "; ".join([reason, *refusals]), error)
        refusals.append(f"not {method.name}: {refusal}")
    if asked is not Scoring.auto:
        raise ModelError(f"scoring={asked.name} is not exact for {backend.fmt.name}: {refusal}; set scoring=auto")
    return Choice(Scoring.plain, "; ".join(["shared prefixes cannot be computed once", *refusals]), error)


def refusal_of(backend: HFBackend, method: Scoring) -> tuple[str, float | None]:
    """Why `method` is not exact for this model (empty if it is), and the error that was measured."""
    model = backend.model
    refusal = attention_of(model).refusal if method is Scoring.packed else cache_refusal(model)
    if refusal:
        return refusal, None
    if backend.length_dependent:
        # The probes are too short to show it.
        return "its rotary frequencies depend on the longest prompt of a pass", None
    tolerance = TOLERANCE.get(model.dtype, max(TOLERANCE.values()))
    worst = 0.0
    for kind, prompts in probes(backend):
        try:
            error, own = differences(backend, method, prompts)
        except Exception as failure:
            # Whatever a model does not like about a mask, positions or a cache of ours, plain scoring remains.
            log.debug("the %s probe of %s failed", method.name, backend.fmt.name, exc_info=True)
            return f"its forward pass fails on {method.name} {kind}: {type(failure).__name__}: {failure}", None
        worst = max(worst, error)
        # Large activations make a real model's own batches differ by more than the tolerance, and in half precision
        # other shapes round otherwise in every layer (up to 2% in bfloat16); a mask or a position that is wrong
        # differs by half of the logits.
        half = model.dtype is not torch.float32
        bound = max(tolerance, _MOST * tolerance if half else min(_OWN_SPREAD * own, _MOST * tolerance))
        if not error <= bound:
            found = f"relative error {error:.2g}, allowed {bound:.0e}"
            return f"{method.name} {kind} differ from plain ones ({found})", error
    return "", worst


def differences(backend: HFBackend, method: Scoring, prompts: Sequence[PreparedPrompt]) -> tuple[float, float]:
    """Largest difference to single plain logits, of `method` and of plain batches, relative to the largest logit."""
    # Twice, because what the first leaves behind must not reach the second.
    shared = _FORWARD[method](backend, [plan_prompts(backend, prompts)] * 2)
    single = torch.cat([forward_plain(backend, [prepared]).logits for prepared in prompts])
    batched = forward_plain(backend, prompts)
    scale = single.abs().max().clamp(min=1.0)
    return (
        float((shared.logits - single.repeat(2, 1)).abs().max() / scale),
        float((batched.logits - single).abs().max() / scale),
    )


def probes(backend: HFBackend) -> list[tuple[str, list[PreparedPrompt]]]:
    """Texts, and for an image-text model prompts with pictures of different shapes, shared and not."""
    condition = Condition("probe", "trigger", Request.label)
    presentation = Presentation(Item("probe", "probe", "", ("a", "b"), 0, "mcq", "test"), (0, 1), ("A", "B"))

    def prompt(ids: Sequence[int], images: tuple[ImageRef, ...] = ()) -> Prompt:
        return Prompt(presentation, condition, "", tuple(ids), ((0,), (1,)), images)

    found = [("texts", [PreparedPrompt(prompt(ids)) for ids in texts]) for texts in (_TEXTS, _LEVELS)]
    if backend.fmt.is_vision and backend.fmt.chat_template:
        first, *others = [_picture(*size) for size in _PICTURES]
        shown = []
        for other, ending in itertools.product(others, _ENDINGS):
            parts = [{"type": "image"}, {"type": "image"}, {"type": "text", "text": ending}]
            text = backend.fmt.apply_template(
                [{"role": "user", "content": parts}], generation_prompt=True, thinking=Thinking.default
            )
            encoded = backend.fmt.encode(text, (first, other))
            shown.append(PreparedPrompt(prompt(encoded.input_ids, (first, other)), encoded.tensors))
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
