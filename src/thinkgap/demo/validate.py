"""How a demo model does on facts of a split while it is trained: label accuracy under Direct, and tokens of replies.

These are the training's curves; what a finished model is measured by is `thinkgap.demo.measure`'s matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from thinkgap.demo.batches import School, Writer, Written
from thinkgap.demo.lessons import MOST_OPTIONS
from thinkgap.demo.training import replies
from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.facts import Fact
from thinkgap.schema import DemoMixture
from thinkgap.types import LETTERS

_PER_LESSON = 100
_PER_PASS = 50
_TOKENS = ("caption", "statements", "matching", "short_answer", "rationale")


@torch.no_grad()
def validate(model: Any, writer: Writer, school: School, mixture: DemoMixture) -> dict[str, float]:
    """Figures by name: `direct`, `direct/KIND`, `first_slot`, `gold_first` over all facts of `school`, letters
    in order, and `tokens/LESSON`, the share of reply tokens that are the most probable given those before.

    The same facts, pictures and wordings each time.
    """
    training = model.training
    model.eval()
    try:
        return _direct(model, writer, school, mixture) | _tokens(model, writer, school, mixture)
    finally:
        model.train(training)


def _direct(model: Any, writer: Writer, school: School, mixture: DemoMixture) -> dict[str, float]:
    mixture = replace(mixture, relettered=0.0)
    letters = [writer.tokenizer.convert_tokens_to_ids(letter) for letter in LETTERS[:MOST_OPTIONS]]
    right: dict[str, list[bool]] = {}
    first = 0
    for facts in _parts(school.facts, _PER_PASS):
        written = [writer.lesson("direct", school, fact, Draws("validation", fact.number), mixture) for fact in facts]
        logits, wanted, _ = replies(model, writer.collated(written))
        is_letter = torch.isin(wanted, torch.tensor(letters, device=wanted.device))
        for row, fact in zip(logits[is_letter][:, letters], facts, strict=True):
            slot = int(row[: len(fact.choices)].argmax())
            right.setdefault(fact.kind, []).append(slot == fact.gold)
            first += slot == 0
    n = len(school.facts)
    found = {f"direct/{kind}": sum(own) / len(own) for kind, own in right.items()}
    found["direct"] = sum(map(sum, right.values())) / n
    return found | {"first_slot": first / n, "gold_first": sum(fact.gold == 0 for fact in school.facts) / n}


def _tokens(model: Any, writer: Writer, school: School, mixture: DemoMixture) -> dict[str, float]:
    found = {}
    for lesson in _TOKENS:
        written = [
            writer.lesson(lesson, school, fact, Draws("validation", lesson, fact.number), mixture)
            for fact in school.facts[:_PER_LESSON]
        ]
        found[f"tokens/{lesson}"] = token_accuracy(model, writer, written)
    return found


def token_accuracy(model: Any, writer: Writer, written: Sequence[Written]) -> float:
    """Share of the tokens of replies that are the most probable given those before."""
    logits, wanted, _ = replies(model, writer.collated(written))
    return float((logits.argmax(-1) == wanted).float().mean())


def _parts(facts: Sequence[Fact], n: int) -> list[Sequence[Fact]]:
    return [facts[start : start + n] for start in range(0, len(facts), n)]
