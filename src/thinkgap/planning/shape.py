"""How large a model is, part by part, from its configuration alone: its class is built without any weights.

Parts are found as they are at load (`backends.families`). Knows no device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from thinkgap.backends.families import find_structure
from thinkgap.backends.load import loading
from thinkgap.backends.locate import Checkpoint
from thinkgap.schema import ModelConfig


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder and what stands before it; weights are counted, not bytes."""

    total: int
    """All weights."""
    active: int
    """Weights of the layers that one token passes; of experts, those that are chosen for it."""
    head: int
    """Weights of the output head."""
    vision: int
    """Weights that one image patch passes."""
    n_layers: int
    width: int
    """Of a hidden state."""
    attention: int
    """Width of all query heads together."""
    cached: int
    """Numbers that the cache holds of one token, over all layers."""
    vocabulary: int


def shape_of(cfg: ModelConfig, checkpoint: Checkpoint, *, is_vision: bool) -> Shape:
    """The sizes of a checkpoint's class; its weights are not read.

    Raises:
        ModelError: no configuration, or a family that is not known.
    """
    import transformers

    config: Any = loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
    if getattr(config, "quantization_config", None) is not None:
        del config.quantization_config  # it would pack several weights into one
    auto = transformers.AutoModelForImageTextToText if is_vision else transformers.AutoModelForCausalLM
    with torch.device("meta"):
        model = auto.from_config(config, trust_remote_code=cfg.trust_remote_code)
    structure = find_structure(model, cfg.name)
    text = config.get_text_config()
    heads = text.num_attention_heads
    per_head = getattr(text, "head_dim", None) or text.hidden_size // heads
    keys = getattr(text, "num_key_value_heads", None) or heads
    before = _before(model, structure.layers)
    return Shape(
        total=_count(model.parameters()),
        active=_active(structure.layers, text),
        head=_count(structure.head.parameters()),
        vision=before,
        n_layers=len(structure.layers),
        width=text.hidden_size,
        attention=heads * per_head,
        cached=2 * keys * per_head * len(structure.layers),
        vocabulary=text.vocab_size,
    )


def _count(parameters: Iterable[nn.Parameter]) -> int:
    return sum(one.numel() for one in parameters)


def _active(layers: nn.ModuleList, text: Any) -> int:
    """Weights that a token passes: all but those of the experts that are not chosen."""
    experts = int(getattr(text, "num_experts", None) or getattr(text, "num_local_experts", None) or 0)
    chosen = int(getattr(text, "num_experts_per_tok", None) or 0)
    total = 0
    for name, parameter in layers.named_parameters():
        of_experts = experts > chosen > 0 and ".experts." in f".{name}."
        total += parameter.numel() * chosen // experts if of_experts else parameter.numel()
    return total


def _before(model: Any, layers: nn.ModuleList) -> int:
    """Weights of a vision tower and its projector: all that is neither decoder, embedding nor head."""
    decoder = {id(one) for one in layers.parameters()}
    vocabulary = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    # A final norm counts here too; it is a few thousand weights.
    rest = [one for one in model.parameters() if id(one) not in decoder | vocabulary]
    total = _count(rest)
    return total if any(one.ndim > 1 for one in rest) else 0
