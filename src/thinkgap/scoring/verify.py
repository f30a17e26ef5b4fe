"""A run's own check: some of its prompts, drawn at random, scored again plainly and alone.

In float32 the difference is rounding; in half precision it shows how far results depend on what shares a pass.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.engine import Engine, Scored
from thinkgap.scoring.plain import forward_plain
from thinkgap.scoring.readings import read_labels
from thinkgap.types import Reading


@dataclass
class Sample:
    """The `n` prompts of a run whose digests come first: random, and the same in whatever order they are offered."""

    n: int = 0
    seed: int = 0
    _kept: list[tuple[int, int, PreparedPrompt, Reading]] = field(default_factory=list)
    _offered: int = 0

    def offer(self, prompts: Sequence[PreparedPrompt], scored: Sequence[Scored]) -> None:
        """Keep those of `prompts` that belong to the sample."""
        for prepared, one in zip(prompts, scored, strict=True):
            if self.n < 1:
                return
            self._offered += 1
            key = f"{self.seed}\0{prepared.prompt.sha256}"
            rank = -int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
            # The running number decides between equal prompts, so that a heap never compares prompts.
            entry = (rank, -self._offered, prepared, one.reading)
            if len(self._kept) < self.n:
                heapq.heappush(self._kept, entry)
            else:
                heapq.heappushpop(self._kept, entry)

    def pairs(self) -> list[tuple[PreparedPrompt, Reading]]:
        """The sample, with the readings that the run gave."""
        return [(prepared, reading) for _, _, prepared, reading in sorted(self._kept, key=lambda one: one[:2])]


@dataclass(frozen=True)
class Verified:
    """How far a run's readings are from plain ones."""

    prompts: int
    largest_difference: float
    """Of any label log-probability, in nats."""
    flips: int
    """Prompts whose most probable label changes."""
    top_token_flips: int
    """Prompts whose most probable token changes."""

    def __str__(self) -> str:
        return (
            f"{self.prompts} prompts scored again plainly: largest difference of a label log-probability "
            f"{self.largest_difference:.2g}, {self.flips} flips of the most probable label"
        )

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


def verify(engine: Engine, sample: Sample) -> Verified | None:
    """Score the sample plainly, one prompt at a time; None if it is empty."""
    pairs = sample.pairs()
    if not pairs:
        return None
    largest, flips, top_flips = 0.0, 0, 0
    for prepared, reading in pairs:
        (plain,) = read_labels(forward_plain(engine.backend, [prepared]).logits, [prepared.prompt])
        own, other = reading.label_logprobs, plain.label_logprobs
        # Two labels of probability zero differ by nothing.
        differences = [0.0 if a == b else abs(a - b) for a, b in zip(own, other, strict=True)]
        largest = max([largest, *differences])
        flips += own.index(max(own)) != other.index(max(other))
        top_flips += reading.top_token_id != plain.top_token_id
    return Verified(len(pairs), largest, flips, top_flips)
