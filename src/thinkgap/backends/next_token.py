"""What a program that runs a model elsewhere says of the token after a prompt: the chosen token and the ids asked for.

Nothing else of the vocabulary comes back. Knows no program, no label and no item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thinkgap.backends.format import TextFormat

MOST_IDS = 128
"""Ids that vLLM takes for one prompt."""


@dataclass(frozen=True)
class NextToken:
    """The next-token distribution, as far as it was asked for; log-probabilities are over the full vocabulary."""

    token_id: int
    """The most probable token."""
    logprob: float
    """Its log-probability, in nats."""
    logprobs: Mapping[int, float]
    """Those of the ids that were asked for."""


class NextTokenModel(Protocol):
    """A model that gives `NextToken`s, in this process or behind a server."""

    @property
    def fmt(self) -> TextFormat:
        """Its tokenizer and template."""
        ...

    def read(
        self, prompts: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], *, fresh: bool = False
    ) -> list[NextToken]:
        """What follows each prompt, in their order; `fresh` asks for nothing from a prefix cache."""
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        ...
