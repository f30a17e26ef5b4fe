"""Examples -> padded tensors, through the processor and chat template that evaluations use.

Every step draws its examples from its own number, so that a resumed training sees the same ones. It knows no loss.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.families import position_ids
from thinkgap.demo.lessons import LESSONS, Example, Mixture
from thinkgap.demo.model.vocabulary import END
from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.facts import Fact, facts
from thinkgap.demo.world.handwriting import check_parts, pools
from thinkgap.demo.world.parts import parts_of
from thinkgap.demo.world.pictures import ROOM, draw_picture
from thinkgap.demo.world.scenes import Scene
from thinkgap.schema import GenerationConfig

_IGNORED = -100
_NARROW = 14
"""Tokens by which sequences of one pass may differ in length."""
_FEWEST, _MOST = 6, 32
"""Sequences in one pass; a short pass is not worth its fixed cost."""


@dataclass(frozen=True)
class School:
    """The facts and the handwriting of one split."""

    split: str
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
    """The first `n` facts of a split, and its handwriting, of the data set's default splits."""
    parts = parts_of(GenerationConfig().splits)
    check_parts(parts)
    return School(split, list(islice(facts(split, seed, parts[split]), n)), pools(split, parts))


@dataclass(frozen=True)
class Sequence_:
    """One example in tokens."""

    lesson: str
    ids: tuple[int, ...]
    n_prompt: int
    picture: Any
