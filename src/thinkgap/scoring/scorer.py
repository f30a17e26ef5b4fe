"""What a run needs of whatever reads its prompts: `Engine` over a model in this process, or `LabelEngine`.

Knows neither of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from thinkgap.backends.format import TextFormat
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.check import Choice
from thinkgap.scoring.engine import Scored
from thinkgap.scoring.readings import ReadOptions
from thinkgap.types import Prompt, Reading


class Model(Protocol):
    """The model behind a scorer."""

    @property
    def fmt(self) -> TextFormat:
        """Tokenizer and template."""
        ...

    @property
    def device(self) -> torch.device:
        """Where inputs go."""
        ...

    def to(self, device: torch.device) -> None:
        """Move it, where that is in this process's power."""
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        ...


class Scorer(Protocol):
    """Reads groups of prompts."""

    @property
    def backend(self) -> Model:
        """The model."""
        ...

    @property
    def choice(self) -> Choice:
        """The way of scoring, and why."""
        ...

    @property
    def options(self) -> ReadOptions:
        """What is read beside the labels."""
        ...

    @property
    def batch_tokens(self) -> int:
        """Planned tokens of a batch of groups."""
        ...

    @property
    def batch_size(self) -> int:
        """Prompts of a plain pass."""
        ...

    @property
    def lens(self) -> bool:
        """Whether layers are read too."""
        ...

    @property
    def pass_size(self) -> dict[str, int]:
        """The bound on a pass."""
        ...

    @property
    def state_names(self) -> list[str]:
        """Hidden states that are kept."""
        ...

    def needs_lens(self, prompt: Prompt) -> bool:
        """Whether the layers of this prompt are read."""
        ...

    def score(self, groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        """What every prompt's read position says, in the order given."""
        ...

    def alone(self, prompts: Sequence[PreparedPrompt]) -> list[Reading]:
        """The same of prompts that are computed one at a time and share nothing."""
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        ...
