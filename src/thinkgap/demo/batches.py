"""Examples -> padded tensors, through the processor and the chat template that evaluations use.

It knows no loss and no optimiser.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.families import position_ids
from thinkgap.demo.lessons import LESSONS, MOST_OPTIONS, Example
from thinkgap.demo.model.vocabulary import END
from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.facts import Fact, facts
from thinkgap.demo.world.handwriting import check_parts, pools
from thinkgap.demo.world.parts import parts_of
from thinkgap.demo.world.pictures import ROOM, draw_picture
from thinkgap.demo.world.scenes import Scene
from thinkgap.schema import DemoMixture, GenerationConfig

IGNORED = -100
"""Label of a position that is not learned."""
_NARROW = 14
"""Tokens by which sequences of one pass may differ in length."""
_FEWEST, _MOST = 6, 32
"""Sequences in one pass; shorter ones do not pay their fixed cost."""


@dataclass(frozen=True)
class School:
    """The facts and the handwriting of one split."""

    facts: Sequence[Fact]
    samples: Mapping[int, Sequence[int]]
    """By digit, rows of `load_digits`."""

    def picture(self, scene: Scene, draws: Draws) -> Any:
        """The scene in handwriting of this split, as a PIL image."""
        from PIL import Image

        rows = [draws.one(self.samples[int(mark.digit)]) for mark in scene.marks]
        offsets = [(draws.below(ROOM + 1), draws.below(ROOM + 1)) for _ in scene.marks]
        with Image.open(io.BytesIO(draw_picture(scene, rows, offsets))) as image:
            return image.convert("RGB")


def open_school(split: str, seed: int, n: int) -> School:
    """The first `n` facts of a split and its handwriting, with the parts that `digit_scenes` gives the splits."""
    parts = parts_of(GenerationConfig().splits)
    check_parts(parts)
    return School(list(islice(facts(split, seed, parts[split]), n)), pools(split, parts))


@dataclass(frozen=True)
class Written:
    """One example in tokens."""

    lesson: str
    ids: tuple[int, ...]
    n_prompt: int
    """How many of the ids are the prompt's; the reply follows, with the end of its turn."""
    picture: Any


@dataclass(frozen=True)
class Pass:
    """Sequences that go through the model together."""

    inputs: Mapping[str, Tensor]
    """`input_ids [B, T]`, `position_ids [3, B, T]` and, with pictures, `pixel_values` and `image_grid_thw`. There is no
    mask: padding is on the right, where no causal position sees it."""
    labels: Tensor
    """`[B, T]`: the next token where it belongs to a reply, else `IGNORED`."""
    lessons: tuple[str, ...]
    """Of each sequence."""


class Writer:
    """Writes examples as the model will be asked.

    Args:
        processor: of the model; its chat template and tokenizer are used.
        model: for the positions that its class gives to image tokens.
    """

    def __init__(self, processor: Any, model: Any) -> None:
        self.processor, self.model = processor, model
        self.tokenizer = processor.tokenizer
        self.image_token = int(model.config.image_token_id)

    def write(self, example: Example, picture: Any = None) -> Written:
        """Token ids of an example; `picture` stands before the user's text."""
        content: list[dict[str, Any]] = [{"type": "image"}] if picture is not None else []
        content.append({"type": "text", "text": example.user})
        text = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        prompt = self._expanded(self._ids(text))
        return Written(example.lesson, (*prompt, *self._ids(example.reply + END)), len(prompt), picture)

    def lesson(
        self, name: str, school: School, fact: Fact, draws: Draws, mixture: DemoMixture, most: int = MOST_OPTIONS
    ) -> Written:
        """An example of a lesson, its scene in handwriting of `school`.

        Args:
            name: of the lesson.
            school: gives the pictures.
            fact: what it is about.
            draws: choose the wording, and then the handwriting.
            mixture: shares within the lessons.
            most: options.
        """
        example = LESSONS[name](fact, draws, mixture, most)
        return self.write(example, None if example.scene is None else school.picture(example.scene, draws))

    def passes(self, written: Sequence[Written]) -> list[Pass]:
        """Sequences of similar length together, so that little is padded."""
        groups: list[list[Written]] = []
        for one in sorted(written, key=lambda one: len(one.ids)):
            last = groups[-1] if groups else []
            wide = bool(last) and len(one.ids) > len(last[0].ids) + _NARROW and len(last) >= _FEWEST
            if not last or wide or len(last) == _MOST:
                groups.append([])
            groups[-1].append(one)
        return [self.collated(group) for group in groups]

    def collated(self, group: Sequence[Written]) -> Pass:
        """One pass of all sequences in `group`."""
        width = max(len(one.ids) for one in group)
        ids = torch.full((len(group), width), int(self.tokenizer.pad_token_id))
        mask, labels = torch.zeros_like(ids), torch.full_like(ids, IGNORED)
        for row, one in enumerate(group):
            length = len(one.ids)
            ids[row, :length] = torch.tensor(one.ids)
            mask[row, :length] = 1
            labels[row, one.n_prompt - 1 : length - 1] = ids[row, one.n_prompt : length]
        inputs: dict[str, Tensor] = {"input_ids": ids}
        pictures = [one.picture for one in group if one.picture is not None]
        if pictures:
            shown = self.processor.image_processor(images=pictures, return_tensors="pt")
            inputs |= {name: shown[name] for name in ("pixel_values", "image_grid_thw")}
        types = (ids == self.image_token).int()
        positions = position_ids(self.model, {**inputs, "attention_mask": mask, "mm_token_type_ids": types})
        return Pass({**inputs, "position_ids": positions}, labels, tuple(one.lesson for one in group))

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _expanded(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Ids with as many image tokens for each image as pictures of the world take."""
        expanded: list[int] = []
        for one in ids:
            expanded += [one] * (self._tokens_per_picture if one == self.image_token else 1)
        return tuple(expanded)

    @cached_property
    def _tokens_per_picture(self) -> int:
        """Asked of the image processor once: all pictures of the world have one size."""
        from PIL import Image

        from thinkgap.demo.world.pictures import SIDE

        grid = self.processor.image_processor(images=[Image.new("RGB", (SIDE, SIDE))], return_tensors="pt")
        return int(grid["image_grid_thw"].prod()) // self.processor.image_processor.merge_size**2


def token_weights(passes: Sequence[Pass]) -> list[Tensor]:
    """For each pass the weight of each learned token `[n]`: a lesson counts as much as another, whatever its length.

    The weights of all passes of a step sum to the number of lessons in it.
    """
    counts: Counter[str] = Counter()
    owners = []
    for one in passes:
        rows = (one.labels != IGNORED).nonzero()[:, 0].tolist()
        owners.append([one.lessons[row] for row in rows])
        counts.update(owners[-1])
    return [torch.tensor([1.0 / counts[lesson] for lesson in own]) for own in owners]
