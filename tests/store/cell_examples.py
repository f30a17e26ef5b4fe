"""Made-up cells: prompts with readings, states and lens readings, as an engine would give them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import torch

from tests.items import mcq, shown
from thinkgap.scoring.engine import Scored
from thinkgap.store.cells import CellContents
from thinkgap.types import Condition, Presentation, Prompt, Reading, Request

CONTEXT = {"model": {"path": "m", "dtype": "float32"}, "libraries": {"torch": "2"}}
NAMES = ("embeddings", "layer_0", "layer_1", "final_norm")
STATES = CellContents(names=NAMES, dtype="float32")
D = 5


def prompt(item_id: str = "q1", condition: str = "direct", presentation: Presentation | None = None) -> Prompt:
    """A prompt with three slots and a digest of its own."""
    return Prompt(
        presentation or shown(mcq(item_id)),
        Condition(condition, "trigger", Request.rationale),
        text=f"{item_id} {condition}",
        input_ids=(1, 2, 3),
        label_ids=((32, 362), (33,), (34,)),
        sha256=hashlib.sha256(f"{item_id}{condition}".encode()).hexdigest(),
    )


def open_prompt(item_id: str = "open") -> Prompt:
    """A prompt without options."""
    item = mcq(item_id, choices=(), gold=None, answer_space="open")
    asked = prompt(item_id, presentation=shown(item))
    return Prompt(asked.presentation, asked.condition, asked.text, asked.input_ids, (), sha256=asked.sha256)


def reading(seed: int = 0, top_k: int = 0) -> Reading:
    """A reading with numbers that float32 cannot hold."""
    return Reading(
        label_logprobs=(-0.1 - seed / 3, -math.inf, -math.pi),
        label_mass=0.1 + 0.2,
        top_token_id=seed,
        top_logprob=-1 / 3,
        entropy=2.5,
        gold_rank=3,
        reasoning_mass=5e-324,
        reasoning_mass_strict=0.0,
        top_tokens=tuple((index, -0.1 * index - seed) for index in range(top_k)),
    )


def cells(
    item_ids: Sequence[str], condition: str = "direct", contents: CellContents = STATES, seed: int = 0
) -> list[Scored]:
    """A cell per item with what `contents` asks for; states `[S, D]` are small random numbers."""
    generator = torch.Generator().manual_seed(hash_of(condition) + seed)
    made = []
    for number, item_id in enumerate(item_ids):
        states = torch.randn(len(contents.names), D, generator=generator) if contents.names else None
        lens = (reading(number + 10, contents.top_k), reading(number, contents.top_k)) if contents.lens else ()
        made.append(Scored(prompt(item_id, condition), reading(number, contents.top_k), states, lens))
    return made


def hash_of(text: str) -> int:
    """A number for a text that is the same in every process."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def prompts(scored: Sequence[Scored]) -> list[Prompt]:
    """The prompts of cells."""
    return [cell.prompt for cell in scored]
