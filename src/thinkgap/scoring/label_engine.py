"""Prompts -> readings of a model that tells log-probabilities of chosen ids and nothing else, such as vLLM.

Stands where `Engine` does. What such a model cannot give is missing in its readings, never a number: entropy, the rank
of an answer, hidden states, a lens. Knows no program that runs a model.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from thinkgap.backends.next_token import MOST_IDS, NextToken, NextTokenModel
from thinkgap.errors import LabelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring.check import Choice
from thinkgap.scoring.engine import Counts, Scored
from thinkgap.scoring.readings import ReadOptions, not_finite
from thinkgap.types import Prompt, Reading

log = logging.getLogger(__name__)

_PROMPTS = 1024
"""Prompts that the model is given at a time; it fills its passes from them."""
UNAVAILABLE = ("entropy", "gold_rank", "states", "lens")
"""What a reading lacks."""


@dataclass
class AskedBackend:
    """A `NextTokenModel` as what callers of a scorer expect of its backend."""

    model: NextTokenModel
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """Where this process computes, which is nothing but text."""

    @property
    def fmt(self) -> Any:
        """Tokenizer and template."""
        return self.model.fmt

    def to(self, device: torch.device) -> None:
        """The weights are where the program put them."""

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        return self.model.describe()


@dataclass
class LabelEngine:
    """Reads labels by asking for one new token and the log-probabilities of the labels' ids."""

    backend: AskedBackend
    options: ReadOptions
    batch_size: int = _PROMPTS
    batch_tokens: int = 1
    """Not used: what shares a pass is the program's choice."""
    lens: bool = False
    counts: Counts = field(default_factory=Counts)
    choice: Choice = field(
        default_factory=lambda: Choice(Scoring.plain, "the program that runs the model shares prefixes by itself")
    )

    @classmethod
    def of(cls, model: NextTokenModel, options: ReadOptions) -> LabelEngine:
        """An engine over `model`; reasoning masses are left out where they take more ids than a prompt may ask for."""
        reasoning = options.reasoning
        if reasoning is not None and len(reasoning.all) > MOST_IDS // 2:
            log.warning(
                "no reasoning mass is read: it sums %d ids, and %s tells %d of a prompt",
                len(reasoning.all),
                model.fmt.name,
                MOST_IDS,
            )
            reasoning = None
        return cls(AskedBackend(model), ReadOptions(reasoning, min(options.top_k, 1)))

    @property
    def pass_size(self) -> dict[str, int]:
        """What bounds what it is given at a time."""
        return {"prompts": self.batch_size}

    @property
    def state_names(self) -> list[str]:
        """No states come back."""
        return []

    def needs_lens(self, prompt: Prompt) -> bool:
        """No layer is read."""
        return False

    def describe(self) -> dict[str, Any]:
        """What the manifest records: how labels were read, what is missing, and how much was asked."""
        return {
            "method": "next_token_ids",
            "reason": self.choice.reason,
            "check_error": None,
            "unavailable": list(UNAVAILABLE),
        } | asdict(self.counts)

    def score(self, groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        """What every prompt's read position says, in the order given.

        Raises:
            ModelError: log-probabilities that are not numbers, or none came back.
            LabelError: labels with more ids than one prompt may ask for.
        """
        prompts = [one.prompt for group in groups for one in group]
        readings = iter(self._read(prompts, fresh=False))
        return [[Scored(one.prompt, next(readings)) for one in group] for group in groups]

    def alone(self, prompts: Sequence[PreparedPrompt]) -> list[Reading]:
        """The readings of prompts that are computed one at a time and whole; see `scoring.verify`."""
        return self._read([one.prompt for one in prompts], fresh=True)

    def _read(self, prompts: Sequence[Prompt], *, fresh: bool) -> list[Reading]:
        if not prompts:
            return []
        wanted = [self._wanted(prompt) for prompt in prompts]
        found = self.backend.model.read([one.input_ids for one in prompts], wanted, fresh=fresh)
        self.counts.prompts += len(prompts)
        self.counts.linear_tokens += sum(len(one.input_ids) for one in prompts)
        return [self._reading(prompt, one) for prompt, one in zip(prompts, found, strict=True)]

    def _wanted(self, prompt: Prompt) -> list[int]:
        ids = {token for label in prompt.label_ids for token in label}
        if self.options.reasoning is not None:
            ids |= {*self.options.reasoning.all, *self.options.reasoning.strict}
        if len(ids) > MOST_IDS:
            raise LabelError(
                f"item {prompt.presentation.item.id} asks for {len(ids)} token ids and {self.backend.fmt.name} tells "
                f"{MOST_IDS} of a prompt here: set model.backend=hf"
            )
        return sorted(ids)

    def _reading(self, prompt: Prompt, found: NextToken) -> Reading:
        if math.isnan(found.logprob) or any(math.isnan(one) for one in found.logprobs.values()):
            raise not_finite(prompt)
        labels = tuple(_logsumexp([found.logprobs[token] for token in label]) for label in prompt.label_ids)
        reasoning = self.options.reasoning
        return Reading(
            label_logprobs=labels,
            label_mass=sum(map(math.exp, labels)),
            top_token_id=found.token_id,
            top_logprob=found.logprob,
            reasoning_mass=None if reasoning is None else _mass(found, reasoning.all),
            reasoning_mass_strict=None if reasoning is None else _mass(found, reasoning.strict),
            top_tokens=((found.token_id, found.logprob),) if self.options.top_k else (),
        )


def _mass(found: NextToken, ids: Sequence[int]) -> float:
    return sum(math.exp(found.logprobs[token]) for token in ids)


def _logsumexp(logprobs: Sequence[float]) -> float:
    largest = max(logprobs, default=-math.inf)
    if math.isinf(largest):
        return largest
    return largest + math.log(sum(math.exp(one - largest) for one in logprobs))
