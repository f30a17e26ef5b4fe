"""Lightning's side of scoring: a data set of items, and a predict-only module that reads them.

The unit is an item with the prompts of all its conditions: it is scored whole or excluded whole, and no rank ever
needs another one. The model is no submodule here, so a device map stays untouched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import LabelError, PromptError
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.scoring.plain import score_plain
from thinkgap.types import Presentation, Prompt, Reading


@dataclass(frozen=True)
class ScoredItem:
    """One presentation's prompts with their readings, or the reason why it was excluded."""

    item_id: str
    readings: list[tuple[Prompt, Reading]] = field(default_factory=list)
    excluded: PromptError | None = None


@dataclass(frozen=True)
class PreparedItem:
    """One presentation's prompts, or the reason why they could not be made."""

    item_id: str
    prompts: list[PreparedPrompt] = field(default_factory=list)
    excluded: PromptError | None = None


class PromptDataset(Dataset[list[PreparedItem]]):
    """Batches of presentations, fixed before the run and independent of what is already done.

    Half-precision logits depend on what shares their batch, so a resumed run must score the remaining batches as
    the first run would have. The longest come first, so that a batch too large for the memory fails at once.
    """

    def __init__(
        self,
        presentations: Sequence[Presentation],
        builder: PromptBuilder,
        batch_size: int,
        finished: Collection[tuple[str, str]] = (),
    ) -> None:
        """Group presentations so that the prompts of a group fill one forward pass.

        Args:
            presentations: all of the run.
            builder: makes the prompts.
            batch_size: prompts in one forward pass.
            finished: (item id, presentation name) of those that need no scoring any more.
        """
        self.builder = builder
        ordered = sorted(presentations, key=_size, reverse=True)
        per_batch = max(1, batch_size // len(builder.conditions))
        batches = [ordered[start : start + per_batch] for start in range(0, len(ordered), per_batch)]
        left = ([one for one in batch if (one.item.id, one.name) not in finished] for batch in batches)
        self.batches = [batch for batch in left if batch]

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> list[PreparedItem]:
        return [self._prepared(presentation) for presentation in self.batches[index]]

    def _prepared(self, presentation: Presentation) -> PreparedItem:
        try:
            return PreparedItem(presentation.item.id, self.builder.build(presentation))
        except LabelError:
            raise  # a property of the model and the labels, not of this item
        except PromptError as error:
            return PreparedItem(presentation.item.id, excluded=error)


class ScoringModule(pl.LightningModule):
    """Reads a batch of prepared items."""

    def __init__(self, backend: HFBackend, batch_size: int) -> None:
        super().__init__()
        self.backend = backend
        self.batch_size = batch_size

    def on_predict_start(self) -> None:
        """Put the weights on this process's device."""
        self.backend.to(self.device)

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        """Leave prepared items on the CPU: the backend moves what it collates."""
        return batch

    def predict_step(self, batch: list[PreparedItem], batch_idx: int) -> list[ScoredItem]:
        """Readings of every item of the batch, keyed by item."""
        prompts = [prepared for item in batch for prepared in item.prompts]
        readings = iter(score_plain(self.backend, prompts, self.batch_size))
        return [
            ScoredItem(item.item_id, [(prepared.prompt, next(readings)) for prepared in item.prompts], item.excluded)
            for item in batch
        ]


def batches_of(dataset: PromptDataset) -> DataLoader[list[PreparedItem]]:
    """A loader that passes the data set's own batches on."""
    return DataLoader(dataset, batch_size=None)


def _size(presentation: Presentation) -> tuple[int, int, str]:
    item = presentation.item
    return len(item.images), len(item.context) + len(item.question) + sum(map(len, item.choices)), item.id
