"""Groups of prompts -> readings, states and lens readings, by the fastest way that is exact for the model.

A group is what shares prefixes: the prompts of one item under all its presentations and conditions. Many groups share
a forward pass within a budget of planned tokens, and a pass that does not fit into memory is done in halves. Knows no
data set, no record and no file.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ModelError, PromptError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.capture import Rows, Wanted, first_bad_layer
from thinkgap.scoring.check import Choice, choose
from thinkgap.scoring.memory import in_halves
from thinkgap.scoring.packed import Planned, forward_packed, plan_prompts
from thinkgap.scoring.plain import forward_plain, in_batches, too_large
from thinkgap.scoring.readings import ReadOptions, first_bad_row, not_finite, read_labels
from thinkgap.types import Prompt, Reading

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scored:
    """One prompt and what its read position says."""

    prompt: Prompt
    reading: Reading
    states: Tensor | None = None
    """`[S, d]` on the CPU if asked for, S as in `Wanted.names`; in the model's dtype, raw unless named otherwise."""
    lens: tuple[Reading, ...] = ()
    """The reading of every layer through the model's own norm and head, if asked for; the last is `reading`."""


@dataclass
class Counts:
    """How much was computed, for the manifest."""

    prompts: int = 0
    linear_tokens: int = 0
    """Tokens of all prompts, each alone."""
    computed_tokens: int = 0
    """Tokens that went through the model, padding left out."""
    passes: int = 0
    plain_prompts: int = 0
    """Prompts of groups that could not be planned and were scored plainly."""


def tokens_per_pass(on_accelerator: bool) -> int:
    """Planned tokens of a pass unless set: on a CPU as many as leave the activations of a layer in its caches."""
    return 8192 if on_accelerator else 1024


@dataclass
class Engine:
    """Scores groups of prompts with one model."""

    backend: HFBackend
    choice: Choice
    batch_tokens: int = tokens_per_pass(on_accelerator=False)
    """Planned tokens of a batch of groups; a group that is larger is a batch of its own."""
    batch_size: int = 16
    """Prompts of a plain pass."""
    options: ReadOptions = field(default_factory=ReadOptions)
    wanted: Wanted | None = None
    """Which states to keep; None keeps none."""
    lens: bool = False
    """Whether to read every layer too, which costs a pass through the head for each."""
    lens_of: str | None = None
    """Name of the presentations whose layers are read; None reads those of every prompt."""
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def of(cls, backend: HFBackend, asked: Scoring = Scoring.auto, **settings: Any) -> Engine:
        """An engine that scores as asked, after the numerical check; says what was chosen.

        Raises:
            ModelError: the way that was asked for is not exact for this model.
        """
        choice = choose(backend, asked)
        level = logging.WARNING if asked is Scoring.auto and choice.method is Scoring.plain else logging.INFO
        log.log(level, "scoring=%s for %s: %s", choice.method.name, backend.fmt.name, choice.reason)
        return cls(backend, choice, **settings)

    def score(self, groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        """What every prompt's read position says, in the order given.

        Raises:
            ModelError: memory does not suffice for one prompt, or logits that are not finite.
        """
        results: list[list[Scored]] = [[] for _ in groups]
        shared: list[tuple[int, Planned]] = []
        alone: list[int] = []
        for number, group in enumerate(groups):
            planned = self._planned(group)
            if planned is None:
                alone.append(number)
            else:
                shared.append((number, planned))
        if self.choice.method is not Scoring.plain:
            self.counts.plain_prompts += sum(len(groups[number]) for number in alone)
        plain = iter(in_batches([one for number in alone for one in groups[number]], self.batch_size, self._plain))
        for number in alone:
            results[number] = [next(plain) for _ in groups[number]]
        # Similar sizes share a pass; the largest first, so that what does not fit fails at once.
        shared.sort(key=lambda pair: -pair[1].trie.size)
        for batch in self._batches(shared):
            found = in_halves([planned for _, planned in batch], self._shared, self._split)
            for (number, _), scored in zip(batch, found, strict=True):
                results[number] = scored
        return results

    def alone(self, prompts: Sequence[PreparedPrompt]) -> list[Reading]:
        """The readings of prompts that are computed plainly and one at a time; see `scoring.verify`."""
        return [read_labels(forward_plain(self.backend, [one]).logits, [one.prompt])[0] for one in prompts]

    @property
    def pass_size(self) -> dict[str, int]:
        """The bound on a pass, which decides what shares one and so the last bits of half-precision logits."""
        plain = self.choice.method is Scoring.plain
        return {"prompts": self.batch_size} if plain else {"tokens": self.batch_tokens}

    def describe(self) -> dict[str, Any]:
        """What the manifest records: the way that was taken and why, and how much was computed."""
        choice = {"method": self.choice.method.name, "reason": self.choice.reason, "check_error": self.choice.error}
        return choice | asdict(self.counts)

    def _planned(self, group: Sequence[PreparedPrompt]) -> Planned | None:
        """The trie of a group, or None if it is scored plainly."""
        if self.choice.method is Scoring.plain or not group:
            return None
        try:
            return plan_prompts(self.backend, group)
        except PromptError as error:
            log.warning("item %s is scored plainly: %s", group[0].prompt.presentation.item.id, error)
            return None

    def _batches(self, ordered: Sequence[tuple[int, Planned]]) -> list[list[tuple[int, Planned]]]:
        batches: list[list[tuple[int, Planned]]] = []
        room = 0
        for number, planned in ordered:
            if not batches or planned.trie.size > room:
                batches.append([])
                room = self.batch_tokens
            batches[-1].append((number, planned))
            room -= planned.trie.size
        return batches

    def _shared(self, batch: Sequence[Planned]) -> list[list[Scored]]:
        packed = self.choice.method is Scoring.packed
        rows = (forward_packed if packed else forward_branched)(self.backend, batch, self._capture)
        scored = iter(self._read(rows, [prepared for planned in batch for prepared in planned.prompts]))
        if packed:
            computed, passes = [planned.trie.size for planned in batch], 1
        else:
            levels = [planned.levels for planned in batch]
            computed, passes = [one.tokens for one in levels], sum(one.passes for one in levels)
        n_prompts = sum(len(planned.prompts) for planned in batch)
        self._count(n_prompts, [one.trie.n_linear for one in batch], computed, passes)
        return [[next(scored) for _ in planned.prompts] for planned in batch]

    def _plain(self, batch: Sequence[PreparedPrompt]) -> list[Scored]:
        scored = self._read(forward_plain(self.backend, batch, self._capture), batch)
        lengths = [len(prepared.prompt.input_ids) for prepared in batch]
        self._count(len(batch), lengths, lengths)
        return scored

    def _split(self, planned: Planned, error: Exception) -> list[Scored]:
        """A group too large for the memory, as two groups that share less."""
        if len(planned.prompts) == 1:
            return too_large(planned.prompts[0], error)
        # Neighbours in the trie share most.
        order = planned.trie.reads.argsort(kind="stable").tolist()
        halves = (order[: len(order) // 2], order[len(order) // 2 :])
        plans = [plan_prompts(self.backend, [planned.prompts[index] for index in half]) for half in halves]
        found = [in_halves([plan], self._shared, self._split)[0] for plan in plans]
        by_index = dict(zip(order, found[0] + found[1], strict=True))
        return [by_index[index] for index in range(len(order))]

    @property
    def state_names(self) -> list[str]:
        """What each entry of `Scored.states` is; empty if none are kept."""
        return [] if self.wanted is None else self.wanted.names(self.n_layers)

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return len(self.backend.structure.layers)

    def needs_lens(self, prompt: Prompt) -> bool:
        """Whether the layers of this prompt are read."""
        return self.lens and self.lens_of in (None, prompt.presentation.name)

    @property
    def _capture(self) -> Wanted | None:
        """What a pass keeps: a lens needs every layer, whichever of them are wanted."""
        if not self.lens:
            return self.wanted
        return replace(self.wanted, layers=None) if self.wanted is not None else Wanted()

    def _read(self, rows: Rows, prompts: Sequence[PreparedPrompt]) -> list[Scored]:
        asked = [prepared.prompt for prepared in prompts]
        if (bad := first_bad_row(rows.logits)) is not None:
            raise self._diagnosed(prompts[bad])
        readings = read_labels(rows.logits, asked, self.options)
        lenses: list[tuple[Reading, ...]] = [()] * len(asked)
        seen = [row for row, prompt in enumerate(asked) if self.needs_lens(prompt)]
        if seen and rows.states is not None:
            own = self._lenses(rows.states[seen], [asked[row] for row in seen], [readings[row] for row in seen])
            for row, lens in zip(seen, own, strict=True):
                lenses[row] = lens
        states: list[Tensor] | list[None] = [None] * len(asked)
        if self._capture and self.wanted and rows.states is not None:
            captured = self._capture.names(self.n_layers)
            chosen = [captured.index(name) for name in self.state_names]
            states = list((rows.states if len(chosen) == len(captured) else rows.states[:, chosen]).cpu())
        return [Scored(*each) for each in zip(asked, readings, states, lenses, strict=True)]

    @torch.inference_mode()
    def _lenses(self, states: Tensor, prompts: list[Prompt], last: list[Reading]) -> list[tuple[Reading, ...]]:
        """Readings of each raw state through final norm and head, whose statistics are each layer's own."""
        first = int(self.wanted is not None and self.wanted.embeddings)
        layers = []
        for layer in range(self.n_layers - 1):
            logits = self.backend.structure.logits(states[:, first + layer].to(self.backend.head_device))
            layers.append(read_labels(logits, prompts, self.options))
        return list(zip(*layers, last, strict=True))

    def _diagnosed(self, prepared: PreparedPrompt) -> ModelError:
        """The error for a prompt whose logits are not finite, with the first layer where that is so."""
        layer = first_bad_layer(self.backend.structure, lambda: self.backend.next_token_logits([prepared]))
        where = f" (first after layer {layer})" if layer is not None else " (every layer is finite when it is alone)"
        return not_finite(prepared.prompt, where)

    def _count(self, n_prompts: int, linear: Sequence[int], computed: Sequence[int], passes: int = 1) -> None:
        self.counts.passes += passes
        self.counts.prompts += n_prompts
        self.counts.linear_tokens += sum(linear)
        self.counts.computed_tokens += sum(computed)
