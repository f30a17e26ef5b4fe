"""Items scored the way a run scores them, one chunk after the other, with the time of each part.

What is timed begins with text and ends with label log-probabilities: rendering, tokenising, image processing and
forward passes; loading a model or a data set is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.schema import LabelVariant, Scoring
from thinkgap.scoring.check import Choice
from thinkgap.scoring.engine import Engine
from thinkgap.types import Condition, Presentation

Key = tuple[str, str, str]
"""Item, presentation, condition."""


@dataclass
class Measured:
    """What scoring some items gave and took."""

    logprobs: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    """Label log-probabilities per prompt, by slot."""
    prepare_s: float = 0.0
    """Text and pictures to model inputs."""
    score_s: float = 0.0
    """Model inputs to readings."""
    items: int = 0
    linear_tokens: int = 0
    computed_tokens: int = 0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.prepare_s + self.score_s


def engine_of(backend: HFBackend, method: Scoring, batch_tokens: int, batch_size: int = 16) -> Engine:
    """An engine that scores in one way, whatever the check at load says of it: that is reported, not obeyed."""
    return Engine(backend, Choice(method, "benchmark"), batch_tokens=batch_tokens, batch_size=batch_size)


def score_items(
    engine: Engine,
    conditions: Sequence[Condition],
    items: Sequence[Sequence[Presentation]],
    at_once: int = 16,
    deadline: float | None = None,
    labels: LabelVariant = LabelVariant.auto,
) -> Measured:
    """Score items under all conditions.

    Args:
        engine: the way of scoring.
        conditions: Direct and the triggers.
        items: each with its presentations.
        at_once: items prepared and scored together.
        deadline: moment of `time.perf_counter` after which no second chunk begins.
        labels: which token stands for a label.
    """
    builder = PromptBuilder(engine.backend.fmt, conditions, labels)
    found = Measured()
    linear, computed = engine.counts.linear_tokens, engine.counts.computed_tokens
    for start in range(0, len(items), at_once):
        begin = time.perf_counter()
        if start and deadline is not None and begin > deadline:
            break
        chunk = items[start : start + at_once]
        groups = [prepare(builder, item) for item in chunk]
        ready = time.perf_counter()
        for group in engine.score(groups):
            for scored in group:
                prompt = scored.prompt
                key = (prompt.presentation.item.id, prompt.presentation.name, prompt.condition.name)
                found.logprobs[key] = scored.reading.label_logprobs
        found.prepare_s += ready - begin
        found.score_s += time.perf_counter() - ready
        found.items += len(chunk)
    found.linear_tokens = engine.counts.linear_tokens - linear
    found.computed_tokens = engine.counts.computed_tokens - computed
    return found


def prepare(builder: PromptBuilder, item: Sequence[Presentation]) -> list[PreparedPrompt]:
    """All prompts of one item."""
    return [prompt for presentation in item for prompt in builder.build(presentation)]


def largest_difference(one: dict[Key, tuple[float, ...]], other: dict[Key, tuple[float, ...]]) -> float:
    """Between label log-probabilities of the prompts that both scored."""
    shared = one.keys() & other.keys()
    return max(abs(a - b) for key in shared for a, b in zip(one[key], other[key], strict=True))


def flips(one: dict[Key, tuple[float, ...]], other: dict[Key, tuple[float, ...]]) -> tuple[int, int]:
    """Prompts whose predicted label differs, of how many that both scored."""
    shared = one.keys() & other.keys()
    return sum(_best(one[key]) != _best(other[key]) for key in shared), len(shared)


def commonest_share(logprobs: dict[Key, tuple[float, ...]]) -> float:
    """Share of the prediction that is made most often; near 1, flips could not be seen."""
    predictions = [_best(values) for values in logprobs.values()]
    return max(map(predictions.count, set(predictions))) / len(predictions)


def _best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)
