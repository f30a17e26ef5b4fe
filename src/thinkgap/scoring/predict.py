"""Lightning's side of scoring: a data set of items, and a predict-only module that reads them.

The unit is an item with the prompts of all its presentations and conditions: they share prefixes, it is scored whole
or excluded whole, and no rank ever needs another one. The model is no submodule here: it is where it was checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset

from thinkgap.errors import LabelError, NotFiniteError, PromptError
from thinkgap.parallel import ALONE, World
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.schema import Scoring
from thinkgap.scoring.engine import Scored
from thinkgap.scoring.scorer import Scorer
from thinkgap.scoring.verify import Sample
from thinkgap.types import Presentation

# Rough sizes in tokens, from which batches are formed before anything is tokenised.
_CHARACTERS_PER_TOKEN = 4
_TEMPLATE_TOKENS = 30
_CONDITION_TOKENS = 16
_IMAGE_TOKENS = 300
# Several passes to a batch, so that the engine can fill each with items of similar true size.
_PASSES = 4
_MOST_ITEMS = 64


@dataclass(frozen=True)
class ScoredItem:
    """One item's prompts with what they read, or the reason why it was excluded."""

    item_id: str
    scored: list[Scored] = field(default_factory=list)
    excluded: PromptError | None = None


@dataclass(frozen=True)
class PreparedItem:
    """One item's prompts, or the reason why they could not be made."""

    item_id: str
    prompts: list[PreparedPrompt] = field(default_factory=list)
    excluded: PromptError | None = None


class PromptDataset(Dataset[list[PreparedItem]]):
    """Batches of items, fixed before the run and independent of what is already done.

    Half-precision logits depend on what shares their batch, so a resumed run must score the remaining batches as
    the first run would have. The largest come first, so that a batch too large for the memory fails at once.
    """

    def __init__(
        self,
        items: Sequence[Sequence[Presentation]],
        builder: PromptBuilder,
        engine: Scorer,
        finished: Collection[tuple[str, str]] = (),
        world: World = ALONE,
    ) -> None:
        """Group items so that those of a batch fill one forward pass, or a few.

        Args:
            items: every item of the run, as its presentations.
            builder: makes the prompts.
            engine: for the size of its passes.
            finished: (item id, presentation name) of those that need no scoring any more; the same in every process.
            world: the processes of the run; each takes whole batches, so that none depends on how many they are.
        """
        self.builder = builder
        n_conditions = len(builder.conditions)
        largest: dict[tuple[str, ...], tuple[int, int, str]] = {}
        for item in items:
            largest[_shared(item)] = max(largest.get(_shared(item), (0, 0, "")), _size(item))
        # Items that show the same images stand together, so that they share a pass.
        ordered = sorted(items, key=lambda item: (largest[_shared(item)], _size(item)), reverse=True)
        batches: list[list[Sequence[Presentation]]] = []
        room = 0
        for item in ordered:
            if engine.choice.method is Scoring.plain:
                cost, budget = len(item) * n_conditions, engine.batch_size
            else:
                cost, budget = _estimated_tokens(item, n_conditions), _PASSES * engine.batch_tokens
            if not batches or cost > room or len(batches[-1]) == _MOST_ITEMS:
                batches.append([])
                room = budget
            batches[-1].append(item)
            room -= cost
        left = ([one for one in batch if not _done(one, finished)] for batch in batches)
        batches = [batch for batch in left if batch]
        self.n_left = sum(map(len, batches))
        """Items to score, those of the other processes included."""
        self.batches = world.share(batches)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> list[PreparedItem]:
        return [self._prepared(item) for item in self.batches[index]]

    def _prepared(self, item: Sequence[Presentation]) -> PreparedItem:
        item_id = item[0].item.id
        try:
            return PreparedItem(item_id, [prompt for one in item for prompt in self.builder.build(one)])
        except LabelError:
            raise  # a property of the model and the labels, not of this item
        except PromptError as error:
            return PreparedItem(item_id, excluded=error)


class ScoringModule(pl.LightningModule):
    """Reads a batch of prepared items.

    Args:
        engine: the model and the size of its passes.
        score: gives groups of prompts their readings, `engine.score` or what stands before it.
        sample: gathers the prompts that are scored again at the end.
    """

    def __init__(
        self,
        engine: Scorer,
        score: Callable[[Sequence[Sequence[PreparedPrompt]]], list[list[Scored]]],
        sample: Sample,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.score = score
        self.sample = sample

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        """Leave prepared items on the CPU: the backend moves what it collates."""
        return batch

    def predict_step(self, batch: list[PreparedItem], batch_idx: int) -> list[ScoredItem]:
        """What the prompts of every item of the batch read, keyed by item.

        An item whose logits are not finite is left out. What shares its pass may not be finite either, since nothing
        times NaN is NaN, so then each item of the batch is read by itself.
        """
        try:
            scored = iter([one for group in self.score(groups_of(batch, self.engine)) for one in group])
        except NotFiniteError as error:
            if len(batch) == 1:
                reason = PromptError(str(error), kind="logits that are not finite")
                return [ScoredItem(batch[0].item_id, excluded=reason)]
            return [one for item in batch for one in self.predict_step([item], batch_idx)]
        found = [ScoredItem(item.item_id, [next(scored) for _ in item.prompts], item.excluded) for item in batch]
        for item, one in zip(batch, found, strict=True):
            self.sample.offer(item.prompts, one.scored)
        return found


def groups_of(batch: Sequence[PreparedItem], engine: Scorer) -> list[list[PreparedPrompt]]:
    """The prompts of a batch in order, those of neighbouring items with the same images in one group.

    A group grows to about what a pass holds.
    """
    groups: list[list[PreparedPrompt]] = []
    images: tuple[str, ...] = ()
    room = 0
    for item in batch:
        if not item.prompts:
            continue
        own = tuple(image.sha256 for image in item.prompts[0].prompt.presentation.item.images)
        cost = sum(len(prepared.prompt.input_ids) for prepared in item.prompts) // len(item.prompts)
        if not groups or not own or own != images or cost > room:
            groups.append([])
            images, room = own, engine.batch_tokens
        groups[-1] += item.prompts
        room -= cost
    return groups


def batches_of(dataset: PromptDataset) -> DataLoader[list[PreparedItem]]:
    """A loader that passes the data set's own batches on."""
    return DataLoader(dataset, batch_size=None)


def _done(item: Sequence[Presentation], finished: Collection[tuple[str, str]]) -> bool:
    return all((one.item.id, one.name) in finished for one in item)


def _estimated_tokens(presentations: Sequence[Presentation], n_conditions: int) -> int:
    options = sum(map(len, presentations[0].item.choices)) // _CHARACTERS_PER_TOKEN
    # Controls show another text or other images than the item, and share neither with it.
    stems = {(one.item.context, one.item.question, one.item.images) for one in presentations}
    shared = sum(
        _TEMPLATE_TOKENS + (len(context) + len(question)) // _CHARACTERS_PER_TOKEN + _IMAGE_TOKENS * len(images)
        for context, question, images in stems
    )
    return shared + len(presentations) * (options + n_conditions * _CONDITION_TOKENS)


def _shared(presentations: Sequence[Presentation]) -> tuple[str, ...]:
    """What items must have in common to share more than a template: their images, or else the item itself."""
    item = presentations[0].item
    return tuple(image.sha256 for image in item.images) or (item.id,)


def _size(presentations: Sequence[Presentation]) -> tuple[int, int, str]:
    item = presentations[0].item
    return len(item.images), len(item.context) + len(item.question) + sum(map(len, item.choices)), item.id
