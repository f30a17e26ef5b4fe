"""All that the project knows of model families, found by structure and checked numerically at load.

Names of modules differ between families and move between releases of transformers, so nothing is believed by its
name: `verify` runs a few tokens and requires that final norm and head reproduce the model's own logits, and that a
padded batch reproduces single prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from thinkgap.errors import ModelError
from thinkgap.schema import ThinkingSwitch

# Root mean square error of logits relative to their own: rounding in the last bit of half precision stays below,
# a missing softcap or a scale that is 2% off does not.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float16: 1e-3}


@dataclass(frozen=True)
class Structure:
    """The parts of a decoder that readouts and lenses need."""

    layers: nn.ModuleList
    norm: nn.Module
    head: nn.Module
    softcap: float | None
    scale: float

    def logits(self, state: Tensor) -> Tensor:
        """Vocabulary logits `[..., V]` of raw final-layer states `[..., d]` (norm, head, scale, softcap)."""
        logits = self.head(self.norm(state)) * self.scale
        return logits if self.softcap is None else self.softcap * torch.tanh(logits / self.softcap)


def find_structure(model: Any, name: str) -> Structure:
    """Decoder layers, final norm and head of a causal or image-text model.

    Raises:
        ModelError: a part is not where any supported family has it.
    """
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    # The decoder of an image-text model may be a wrapper around the language model.
    decoder = getattr(decoder, "language_model", decoder)
    layers, norm = getattr(decoder, "layers", None), getattr(decoder, "norm", None)
    missing = [
        part
        for part, ok in (
            ("decoder layers", isinstance(layers, nn.ModuleList)),
            ("final norm", isinstance(norm, nn.Module)),
            ("output head", isinstance(head, nn.Module)),
        )
        if not ok
    ]
    if missing:
        raise ModelError(
            f"{name} ({type(model).__name__}): no {', '.join(missing)} found on {type(decoder).__name__}; "
            "this family is not supported: add it to thinkgap.backends.families"
        )
    config = model.config.get_text_config()
    scale = getattr(config, "logit_scale", None) or 1.0 / (getattr(config, "logits_scaling", None) or 1.0)
    assert isinstance(layers, nn.ModuleList)
    assert isinstance(norm, nn.Module)
    return Structure(layers, norm, head, getattr(config, "final_logit_softcapping", None), float(scale))


def position_ids(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """Explicit positions of a right-padded batch: `[B, T]`, or `[3, B, T]` for models with 3-D rotary positions.

    Left to itself a model may derive positions from state that an earlier image left behind
    (huggingface/transformers#36013, #40490, #41173), so they are always computed here from this batch alone.
    """
    mask = inputs["attention_mask"]
    inner: Any = getattr(model, "model", None)
    if not hasattr(inner, "get_rope_index"):
        return positions_of(mask)
    inner.rope_deltas = None
    if "image_grid_thw" not in inputs:
        return positions_of(mask).expand(3, -1, -1)
    positions, _ = inner.get_rope_index(
        inputs["input_ids"],
        mm_token_type_ids=inputs["mm_token_type_ids"],
        image_grid_thw=inputs["image_grid_thw"],
        attention_mask=mask,
    )
    return positions


def prompt_positions(model: Any, inputs: Mapping[str, Tensor]) -> Tensor | None:
    """`[3, B, T]` positions of a right-padded batch of linear prompts, or None where they simply count from 0."""
    if "image_grid_thw" not in inputs or not hasattr(getattr(model, "model", None), "get_rope_index"):
        return None
    return position_ids(model, inputs)


def position_axes(model: Any) -> int:
    """3 for models with 3-D rotary positions, else 1."""
    return 3 if hasattr(getattr(model, "model", None), "get_rope_index") else 1


def positions_of(mask: Tensor) -> Tensor:
    """`[B, T]` positions counted over real tokens; padding gets 0."""
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def has_length_dependent_rope(config: Any) -> bool:
    """Whether rotary frequencies switch at a sequence length (longrope, dynamic NTK), so that a long prompt would
    change the others of its batch.
    """
    parameters = getattr(config.get_text_config(), "rope_parameters", None) or {}
    nested = [value for value in parameters.values() if isinstance(value, Mapping)]
    return any(part.get("rope_type") in ("longrope", "dynamic") for part in [parameters, *nested])


def thinking_switch(chat_template: str) -> ThinkingSwitch:
    """The thinking argument that a chat template reads, if it reads one."""
    import jinja2
    import jinja2.meta

    try:
        names = jinja2.meta.find_undeclared_variables(
            jinja2.Environment(extensions=["jinja2.ext.loopcontrols"]).parse(chat_template)
        )
    except jinja2.TemplateSyntaxError:
        # Templates may use tags of transformers' own ({% generation %}); the plain name is evidence enough then.
        names = {name for name in ("enable_thinking", "thinking") if name in chat_template}
    for name in ("enable_thinking", "thinking"):
        if name in names:
            return ThinkingSwitch(enabled={name: True}, disabled={name: False})
    return ThinkingSwitch()


def set_pixel_bounds(processor: Any, min_pixels: int | None, max_pixels: int | None, name: str) -> None:
    """Bound the image area after resizing, for processors that have such a bound (Qwen-VL families).

    Raises:
        ModelError: the processor resizes to a fixed size, or the bounds are crossed.
    """
    if min_pixels is None and max_pixels is None:
        return
    image_processor = processor.image_processor
    size = dict(getattr(image_processor, "size", None) or {})
    if not {"shortest_edge", "longest_edge"} <= set(size):
        raise ModelError(f"{name}: its image processor has no pixel bounds: leave model.min_pixels and max_pixels null")
    # These families keep areas in pixels under the two edge names.
    size["shortest_edge"] = min_pixels if min_pixels is not None else size["shortest_edge"]
    size["longest_edge"] = max_pixels if max_pixels is not None else size["longest_edge"]
    if size["shortest_edge"] > size["longest_edge"]:
        raise ModelError(
            f"{name}: model.min_pixels={size['shortest_edge']} is above model.max_pixels={size['longest_edge']}"
        )
    image_processor.size = type(image_processor.size)(**size) if image_processor.size else size


@torch.inference_mode()
def verify(model: Any, structure: Structure, name: str) -> float:
    """Check structure and batching on two short dummy prompts; the largest relative error of the logits.

    Raises:
        ModelError: final norm and head do not reproduce the logits, or a padded batch differs from single prompts.
    """
    vocabulary = model.config.get_text_config().vocab_size
    device = model.get_input_embeddings().weight.device
    long = torch.arange(7, device=device)[None] * 3 % vocabulary
    short = long[:, :4]
    states: list[Tensor] = []
    last_layer: Any = structure.layers[-1]
    hook = last_layer.register_forward_hook(lambda *call: states.append(_tensor_of(call[2])))
    try:
        single = _last_logits(model, short, torch.ones_like(short))
    finally:
        hook.remove()
    rebuilt = structure.logits(states[0][:, -1])
    worst = _relative(rebuilt, single)
    dtype = single.dtype
    bound = TOLERANCE.get(dtype, 4e-3)
    if not worst <= bound:
        raise ModelError(
            f"{name}: {type(structure.norm).__name__} and {type(structure.head).__name__} do not reproduce the logits "
            f"(relative error {worst:.2g}, allowed {bound:.0e}): its head is built differently; "
            "add the family to thinkgap.backends.families"
        )
    padded = torch.cat([long, torch.nn.functional.pad(short, (0, 3))])
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3], device=device)
    batched = _relative(_last_logits(model, padded, mask)[1:], single)
    # Other shapes take other kernels, whose half-precision roundings add up over the layers.
    if not batched <= (bound if dtype is torch.float32 else 10 * bound):
        raise ModelError(
            f"{name}: a right-padded batch gives other logits than a single prompt (relative error {batched:.2g}); "
            "set model.attn_implementation=eager or evaluation.batch_size=1"
        )
    return max(worst, batched)


def _last_logits(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    inputs = {"input_ids": ids, "attention_mask": mask}
    positions = position_ids(model, inputs)
    last = mask.sum(-1, keepdim=True) - 1
    return model(**inputs, position_ids=positions, logits_to_keep=last, use_cache=False).logits[:, 0]


def _tensor_of(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output[0]


def _relative(a: Tensor, b: Tensor) -> float:
    a, b = a.float(), b.float()
    if a.shape != b.shape:
        return float("inf")
    return float((a - b).pow(2).mean().sqrt() / b.pow(2).mean().sqrt().clamp(min=1e-6))
