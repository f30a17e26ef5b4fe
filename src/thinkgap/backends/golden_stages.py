"""What one prompt gives at each stage on its way to a reading, as JSON data.

Prompts go through `PromptBuilder` and the backend as an evaluation's do, so what is described is what runs. Knows
nothing of what was recorded before.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.golden_file import GoldenCase
from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.schema import ThinkingSwitch
from thinkgap.types import Condition, Item, Placement, Presentation, Request

# A template that writes a date writes this one.
_DATE = datetime.date(2026, 1, 1)
_VALUES = 16
_DIGITS = 6


class CaseStages:
    """The stages of one case; each is computed when it is asked for, and once.

    Each raises PromptError where the case cannot be shown to the model, and LabelError, from the tokenizer on, where a
    label is not one token.
    """

    def __init__(self, backend: HFBackend, case: GoldenCase) -> None:
        self._backend = backend
        # What a run may set is left out: the file is the checkpoint's, whatever it is used for.
        self._fmt = replace(
            backend.fmt,
            max_length=10**9,
            switch=ThinkingSwitch(),
            chat_template=bool(backend.fmt.template),
            date=_DATE,
        )
        placement = Placement.assistant if case.prefill else Placement.user
        self._condition = Condition("golden", "trigger", Request.label, text=case.prefill, placement=placement)
        # An open question is shown as it stands, without a list of options.
        item = Item(case.name, case.name, case.user, case.labels, None, "open", "golden", images=case.images)
        self._shown = Presentation(item, tuple(range(len(case.labels))), case.labels)
        self._builder = PromptBuilder(self._fmt, [self._condition])

    @cached_property
    def prepared(self) -> PreparedPrompt:
        """The prompt with its tensors."""
        return self._builder.build(self._shown)[0]

    @cached_property
    def template(self) -> dict[str, Any]:
        """The rendered text."""
        return {"text": self._builder.text(self._shown, self._condition)[0]}

    @cached_property
    def tokenizer(self) -> dict[str, Any]:
        """Ids of the rendered text, image marks unexpanded, and per label the ids that are read."""
        text = self.template["text"]
        label_ids = self._builder.read_ids(self._shown, self._condition, text, text)
        return {"ids": self._fmt.tokenize(text), "label_ids": [list(ids) for ids in label_ids]}

    @cached_property
    def processor(self) -> dict[str, Any]:
        """Ids with image tokens expanded, their number, and a summary of each tensor (pixels, grids)."""
        prompt, tensors = self.prepared.prompt, self.prepared.tensors
        return {
            "input_ids": list(prompt.input_ids),
            "n_image_tokens": prompt.n_image_tokens,
            "tensors": {name: _summary(one) for name, one in tensors.items() if isinstance(one, Tensor)},
        }

    @cached_property
    def positions(self) -> dict[str, Any]:
        """Position ids `[T]` of each axis of the model's rotary positions, one or three."""
        positions = self._backend.model_inputs([self.prepared])["position_ids"]
        return {"position_ids": positions.reshape(-1, positions.shape[-1]).tolist()}

    def readings(self, logprobs: Tensor, top_ids: Sequence[int]) -> dict[str, Any]:
        """Natural log-probabilities at `top_ids`, as many largest ones whatever their ids, and one per label.

        Args:
            logprobs: `[V]`, this case's row of `next_token_logprobs`.
            top_ids: the ids that were most probable when the readings were made; others may be as probable now.
        """
        row = logprobs.tolist()
        labels = [float(torch.logsumexp(logprobs[ids], 0)) for ids in self.tokenizer["label_ids"]]
        return {
            "top_ids": list(top_ids),
            "top_logprobs": _rounded([row[token] if 0 <= token < len(row) else math.nan for token in top_ids]),
            "largest_logprobs": _rounded(logprobs.topk(min(len(top_ids), len(row))).values.tolist()),
            "label_logprobs": _rounded(labels),
        }


def next_token_logprobs(backend: HFBackend, cases: Sequence[CaseStages]) -> Tensor:
    """Log-probabilities `[N, V]` of the token after each case, from one padded batch."""
    return torch.log_softmax(backend.next_token_logits([case.prepared for case in cases]), dim=-1)


def _summary(tensor: Tensor) -> dict[str, Any]:
    """Shape, mean, standard deviation and some evenly spaced values; all values of a small tensor, such as a grid."""
    flat = tensor.double().flatten()
    places = torch.linspace(0, len(flat) - 1, min(len(flat), _VALUES)).round().long()
    mean, std = _rounded([float(flat.mean()), float(flat.std(unbiased=False))])
    return {"shape": list(tensor.shape), "mean": mean, "std": std, "values": _rounded(flat[places].tolist())}


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, _DIGITS) for value in values]
