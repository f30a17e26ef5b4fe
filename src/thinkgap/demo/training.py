"""The training of a demo model as a LightningModule, and the examples of each step.

A step's examples depend on its number, the seed and how many options are asked for, so a resumed training sees the
ones that it would have seen. It knows no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from thinkgap.demo.batches import IGNORED, Pass, School, Writer, token_weights
from thinkgap.demo.lessons import MOST_OPTIONS
from thinkgap.demo.model.folder import insert_layers
from thinkgap.demo.phases import FEWEST_OPTIONS, layers_at, phase_at, rate_factor
from thinkgap.demo.world.draws import Draws
from thinkgap.schema import DemoConfig, DemoPhase
from thinkgap.types import LETTERS

LETTERED = ("letter_of", "direct")
_RUNNING = 0.98
"""Weight of the past in the running accuracies of letters."""
_AFTER_RISE = 0.5
"""Where the running accuracy starts again when questions get one option more."""
_LARGEST_GRADIENT = 1.0


@dataclass
class Progress:
    """Where a training stands; what has to be kept beside weights and optimiser states to go on."""

    step: int = 0
    options: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LETTERED, FEWEST_OPTIONS))
    """By lesson whose replies are letters: most options of its examples at present."""
    running: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LETTERED, 0.0))
    """The same: running accuracy of its letters."""

    def most_options(self, lesson: str, phase: DemoPhase) -> int:
        """Most options of an example; lists of options and questions about scenes grow apart."""
        if lesson in ("letter_of", "matching"):
            return self.options["letter_of"]
        return max(self.options["direct"], phase.options)


class Lessons(IterableDataset[list[Pass]]):
    """The passes of every step from `progress.step` on."""

    def __init__(self, cfg: DemoConfig, school: School, writer: Writer, progress: Progress) -> None:
        self.cfg, self.school, self.writer, self.progress = cfg, school, writer, progress
        self.sums = [fact for fact in school.facts if fact.kind == "sum"]

    def __iter__(self) -> Iterator[list[Pass]]:
        """Passes of one step after the other; the next is made when the training has moved on."""
        for step in range(self.progress.step, self.cfg.steps):
            yield self.at(step)

    def __len__(self) -> int:
        return self.cfg.steps - self.progress.step

    def at(self, step: int) -> list[Pass]:
        """The passes of one step."""
        draws, phase = Draws("lessons", self.cfg.seed, step), phase_at(self.cfg, step)
        written = []
        for name, n in phase.lessons.items():
            for _ in range(n):
                fact = draws.one(self.sums if phase.sums and draws.chance(phase.sums) else self.school.facts)
                most = self.progress.most_options(name, phase)
                written.append(self.writer.lesson(name, self.school, fact, draws, self.cfg.mixture, most))
        return self.writer.passes(written)


@dataclass
class Tally:
    """What the learned tokens of a step came to, by lesson."""

    loss: dict[str, float] = field(default_factory=dict)
    """Mean cross-entropy of its tokens, in nats."""
    accuracy: dict[str, float] = field(default_factory=dict)
    """Share of its tokens that are the most probable."""
    letters: dict[str, list[bool]] = field(default_factory=lambda: {lesson: [] for lesson in LETTERED})
    """By lesson whose replies are letters: of each, whether the letter is the most probable token."""


def replies(model: Any, one: Pass) -> tuple[Tensor, Tensor, list[str]]:
    """Logits `[n, V]` of the learned tokens of a pass, those tokens `[n]`, and the lesson of each.

    Only these positions go through the head.
    """
    kept = one.labels != IGNORED
    inputs = {name: value.to(model.device) for name, value in one.inputs.items()}
    hidden = model.model(**inputs, use_cache=False).last_hidden_state
    rows = kept.nonzero()[:, 0].tolist()
    return (
        model.lm_head(hidden[kept.to(hidden.device)]),
        one.labels[kept].to(hidden.device),
        [one.lessons[row] for row in rows],
    )


class DemoTraining(pl.LightningModule):
    """Cross-entropy of replies, each lesson averaged apart, with Muon for matrices and AdamW for the rest.

    Args:
        cfg: rates and their schedule.
        model: `Qwen2_5_VLForConditionalGeneration`.
        writer: gives the ids of the letters.
        progress: moved on by every step.
    """

    def __init__(self, cfg: DemoConfig, model: Any, writer: Writer, progress: Progress) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.cfg, self.model, self.progress = cfg, model, progress
        self.letters = {writer.tokenizer.convert_tokens_to_ids(letter) for letter in LETTERS[:MOST_OPTIONS]}
        self.tally = Tally()
        matrices, others = split_parameters(model, model)
        self.muon = torch.optim.Muon(matrices, lr=cfg.matrix_rate, weight_decay=0.01, momentum=0.95)
        self.adamw = torch.optim.AdamW(others, lr=cfg.other_rate, betas=(0.9, 0.98), weight_decay=0.0)

    @property
    def optimizers_by_name(self) -> dict[str, torch.optim.Optimizer]:
        """Both optimisers, as they are saved."""
        return {"muon": self.muon, "adamw": self.adamw}

    def grow(self, layers: int) -> None:
        """Give the language model new lowest layers until it has `layers`."""
        missing = layers - self.model.config.text_config.num_hidden_layers
        if missing > 0:
            new = nn.ModuleList(insert_layers(self.model, missing, self.cfg.seed))
            for optimizer, added in zip((self.muon, self.adamw), split_parameters(self.model, new), strict=True):
                optimizer.add_param_group({"params": added})

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        """Both, stepped by hand, since their gradients come from several passes."""
        return [self.muon, self.adamw]

    def transfer_batch_to_device(
        self, batch: Sequence[Pass], device: torch.device, dataloader_idx: int
    ) -> Sequence[Pass]:
        """Left where it is; `replies` moves one pass at a time."""
        return batch

    def training_step(self, passes: Sequence[Pass], _index: int) -> None:
        """One step: all passes backward, then both optimisers."""
        self.tally = Tally()
        self.grow(layers_at(self.cfg, self.progress.step))
        for one, weights in zip(passes, token_weights(passes), strict=True):
            logits, wanted, lessons = replies(self.model, one)
            losses = nn.functional.cross_entropy(logits.float(), wanted, reduction="none")
            self.manual_backward((losses * weights.to(losses.device)).sum())
            self._count(losses, logits.argmax(-1) == wanted, wanted, lessons, weights)
        nn.utils.clip_grad_norm_(self.model.parameters(), _LARGEST_GRADIENT)
        factor = rate_factor(self.cfg, self.progress.step)
        for optimizer, peak in ((self.muon, self.cfg.matrix_rate), (self.adamw, self.cfg.other_rate)):
            for group in optimizer.param_groups:
                group["lr"] = peak * factor
            optimizer.step()
            optimizer.zero_grad()
        self._move_on()

    def _count(self, losses: Tensor, right: Tensor, wanted: Tensor, lessons: list[str], weights: Tensor) -> None:
        parts = zip(losses.tolist(), right.tolist(), wanted.tolist(), lessons, weights.tolist(), strict=True)
        for loss, is_right, token, lesson, weight in parts:
            self.tally.loss[lesson] = self.tally.loss.get(lesson, 0.0) + loss * weight
            self.tally.accuracy[lesson] = self.tally.accuracy.get(lesson, 0.0) + is_right * weight
            if lesson in LETTERED and token in self.letters:
                self.tally.letters[lesson].append(is_right)

    def _move_on(self) -> None:
        progress = self.progress
        progress.step += 1
        for lesson, right in self.tally.letters.items():
            if not right:
                continue
            running = _RUNNING * progress.running[lesson] + (1 - _RUNNING) * sum(right) / len(right)
            if running > self.cfg.more_options and progress.options[lesson] < MOST_OPTIONS:
                progress.options[lesson] += 1
                running = _AFTER_RISE
            progress.running[lesson] = running


def split_parameters(model: Any, part: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Matrices of a part of `model`, for Muon, and its other parameters; embeddings are tables of vectors and belong to
    these.
    """
    embeddings = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    matrices, others = [], []
    for parameter in part.parameters():
        (matrices if parameter.ndim == 2 and id(parameter) not in embeddings else others).append(parameter)
    return matrices, others
