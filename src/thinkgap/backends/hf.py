"""A local transformers model: its next-token logits, by the plain reference path.

One full forward per prompt, in right-padded batches, with explicit positions and logits at the read position only.
Family knowledge is in `families`, rendering and tokenising in `format`, paths in `locate`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from thinkgap.backends.families import Structure, position_ids, prompt_positions
from thinkgap.backends.format import TextFormat, describe_format
from thinkgap.backends.locate import Checkpoint
from thinkgap.prompts.build import PreparedPrompt


@dataclass
class HFBackend:
    """A loaded model with its `TextFormat`."""

    fmt: TextFormat
    model: Any
    structure: Structure
    checkpoint: Checkpoint
    revision: str
    placed: bool
    """Whether a device map already put the weights where they belong."""
    check_error: float
    length_dependent: bool = False
    """Whether rotary frequencies depend on the longest prompt of a batch; prompts then run one by one."""
    compiled: bool = False
    """Whether the decoder's layers went through torch.compile."""
    random_weights: int | None = None
    """Seed of the weights, if they are random."""

    @property
    def device(self) -> torch.device:
        """Where inputs go."""
        return self.model.get_input_embeddings().weight.device

    @property
    def head_device(self) -> torch.device:
        """Where final norm and head are; a device map may put them elsewhere than the inputs."""
        return next(self.structure.norm.parameters()).device

    def to(self, device: torch.device) -> None:
        """Move the weights, unless a device map or a quantiser placed them."""
        if not self.placed:
            self.model.to(device)

    @torch.inference_mode()
    def next_token_logits(self, prompts: Sequence[PreparedPrompt]) -> Tensor:
        """Float32 logits `[B, V]` of the token after each prompt."""
        if len(prompts) > 1 and self.length_dependent:
            return torch.cat([self.next_token_logits([prompt]) for prompt in prompts])
        inputs = self.model_inputs(prompts)
        last = inputs["attention_mask"].sum(-1, keepdim=True) - 1
        return self.model(**inputs, logits_to_keep=last, use_cache=False).logits[:, 0].float()

    def model_inputs(self, prompts: Sequence[PreparedPrompt]) -> dict[str, Tensor]:
        """What a forward pass of a right-padded batch takes: `collate`'s tensors and explicit `position_ids`."""
        inputs = {key: value.to(self.device) for key, value in collate(prompts, self.pad_id).items()}
        floating = {key: value.to(self.model.dtype) for key, value in inputs.items() if value.is_floating_point()}
        inputs.update(floating)
        return inputs | {"position_ids": position_ids(self.model, inputs)}

    def linear_positions(self, prompts: Sequence[PreparedPrompt]) -> list[np.ndarray | None]:
        """Per prompt the positions `[3, T]` that the model gives it alone, or None where they count from 0."""
        kept = [
            replace(one, tensors={key: value for key, value in one.tensors.items() if not key.startswith("pixel")})
            for one in prompts
        ]
        positions = prompt_positions(self.model, collate(kept, self.pad_id))
        if positions is None:
            return [None] * len(prompts)
        table = positions.numpy()
        return [table[:, row, : len(one.prompt.input_ids)] for row, one in enumerate(prompts)]

    @property
    def pad_id(self) -> int:
        """Id that fills the padded positions; masked, so any id will do."""
        pad = self.fmt.tokenizer.pad_token_id
        return 0 if pad is None else pad

    def describe(self) -> dict[str, Any]:
        """What the manifest records of the model."""
        config = self.model.config
        return {
            "path": self.checkpoint.origin,
            "revision": self.revision,
            "random_weights": self.random_weights,
            "class": type(self.model).__name__,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "attn_implementation": getattr(config, "_attn_implementation", None),
            "device": str(self.device),
            "compiled": self.compiled,
            "quantization": _as_mapping(getattr(config, "quantization_config", None)),
            "vocab_size": config.get_text_config().vocab_size,
            "max_length": self.fmt.max_length,
            "structure_check_error": self.check_error,
            **describe_format(self.fmt),
        }


def _as_mapping(settings: Any) -> Any:
    """A quantisation config as JSON data: its method alone does not tell 4 bits from 8."""
    if settings is None or isinstance(settings, dict):
        return settings
    return json.loads(settings.to_json_string(use_diff=False))


def collate(prompts: Sequence[PreparedPrompt], pad_id: int) -> dict[str, Tensor]:
    """Right-padded model inputs of several prompts.

    Tensors of shape `[1, T]` follow the tokens and are padded with 0 (absent ones count as 0); all others
    (pixels, grids) are concatenated along their first axis, in prompt order.
    """
    lengths = [len(prepared.prompt.input_ids) for prepared in prompts]
    width = max(lengths)
    ids = torch.full((len(prompts), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (prepared, length) in enumerate(zip(prompts, lengths, strict=True)):
        ids[row, :length] = torch.tensor(prepared.prompt.input_ids)
        mask[row, :length] = 1
    inputs = {"input_ids": ids, "attention_mask": mask}
    for key in dict.fromkeys(key for prepared in prompts for key in prepared.tensors):
        values = [prepared.tensors.get(key) for prepared in prompts]
        per_token = all(
            value is None or value.shape == (1, length) for value, length in zip(values, lengths, strict=True)
        )
        if not per_token:
            inputs[key] = torch.cat([value for value in values if value is not None])
            continue
        joined = torch.zeros_like(ids)
        for row, value in enumerate(values):
            if value is not None:
                joined[row, : lengths[row]] = value[0]
        inputs[key] = joined
    return inputs
