"""A run's own check: some of its prompts, drawn at random, scored again plainly and alone.

In float32 the difference is rounding; in half precision it shows how far results depend on what shares a pass.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.hf import HFBackend
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.engine import Engine, Scored
from thinkgap.scoring.memory import is_out_of_memory
from thinkgap.scoring.scorer import Scorer
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
class Comparison:
    """How far readings are from others of the same prompts."""

    prompts: int
    largest_difference: float
    """Of any label log-probability, in nats."""
    flips: int
    """Prompts whose most probable label changes."""
    top_token_flips: int
    """Prompts whose most probable token changes."""


@dataclass(frozen=True)
class Verified:
    """A run's readings beside plain ones, and in half precision both beside float32."""

    plain: Comparison
    """The run against plain scoring, one prompt at a time, in the run's own precision."""
    float32: Comparison | None = None
    """The run against plain scoring in float32."""
    plain_float32: Comparison | None = None
    """Plain scoring against plain scoring in float32: what the precision does by itself."""
    skipped: str = ""
    """Why float32 was left out of a run in half precision."""

    def __str__(self) -> str:
        text = f"{self.plain.prompts} prompts scored again plainly: {_told(self.plain)}"
        if self.float32 is not None and self.plain_float32 is not None:
            text += f"; against float32 {_told(self.float32)}, where plain scoring has {self.plain_float32.flips}"
        return text + (f"; not compared with float32: {self.skipped}" if self.skipped else "")

    def as_dict(self) -> dict[str, Any]:
        """For the manifest, and for another process."""
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Verified:
        """What `as_dict` gave."""
        read: dict[str, Any] = {
            name: Comparison(**one) if isinstance(one, Mapping) else one for name, one in told.items()
        }
        return cls(**read)


def joined(parts: Sequence[Verified | None]) -> Verified | None:
    """What several processes found of their parts of a sample, as one; None if none had any.

    A comparison that one of them had to skip is left out.
    """
    found = [part for part in parts if part is not None]
    if not found:
        return None
    skipped = next((part.skipped for part in found if part.skipped), "")
    wide = [] if skipped else [part.float32 for part in found if part.float32 is not None]
    plain_wide = [] if skipped else [part.plain_float32 for part in found if part.plain_float32 is not None]
    return Verified(
        _summed([part.plain for part in found]),
        _summed(wide) if wide else None,
        _summed(plain_wide) if plain_wide else None,
        skipped,
    )


def _summed(parts: Sequence[Comparison]) -> Comparison:
    return Comparison(
        sum(part.prompts for part in parts),
        max(part.largest_difference for part in parts),
        sum(part.flips for part in parts),
        sum(part.top_token_flips for part in parts),
    )


def verify(engine: Scorer, sample: Sample) -> Verified | None:
    """Score the sample plainly, one prompt at a time; None if it is empty.

    A model in half precision is then widened to float32 for the time of a second pass, if it and the memory allow.
    """
    pairs = sample.pairs()
    if not pairs:
        return None
    prompts, own = [prepared for prepared, _ in pairs], [reading for _, reading in pairs]
    plain = engine.alone(prompts)
    compared = compare(own, plain)
    if not isinstance(engine, Engine):
        return Verified(compared, skipped="the program that runs the model holds its weights")
    if engine.backend.model.dtype is torch.float32:
        return Verified(compared)
    refusal = widening_refusal(engine.backend)
    if refusal:
        return Verified(compared, skipped=refusal)
    try:
        with widened(engine.backend.model):
            exact = engine.alone(prompts)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return Verified(compared, skipped="out of memory")
    return Verified(compared, compare(own, exact), compare(plain, exact))


def compare(own: Sequence[Reading], others: Sequence[Reading]) -> Comparison:
    """Differences of readings of the same prompts, in the same order."""
    largest, flips, top_flips = 0.0, 0, 0
    for reading, other in zip(own, others, strict=True):
        a, b = reading.label_logprobs, other.label_logprobs
        # Two labels of probability zero differ by nothing.
        largest = max([largest, *(0.0 if x == y else abs(x - y) for x, y in zip(a, b, strict=True))])
        flips += a.index(max(a)) != b.index(max(b))
        top_flips += reading.top_token_id != other.top_token_id
    return Comparison(len(own), largest, flips, top_flips)


def widening_refusal(backend: HFBackend) -> str:
    """Why the model cannot be widened to float32; empty if it can."""
    if backend.placed:
        return "the weights are quantised or spread by a device map"
    needed = sum(tensor.numel() * (4 - tensor.element_size()) for tensor in _floating(backend.model))
    if backend.device.type == "cuda":
        free = torch.cuda.mem_get_info(backend.device)[0]
    else:
        import psutil

        free = psutil.virtual_memory().available
    # Half of it is left for activations and for whoever else is there.
    return "" if 2 * needed < free else f"it would take {needed / 2**30:.1f} GiB more of {free / 2**30:.1f} GiB free"


@contextmanager
def widened(model: Any) -> Iterator[None]:
    """Weights and buffers in float32 inside the block, and as they were after it: widening loses nothing."""
    before = [(tensor, tensor.dtype) for tensor in _floating(model)]
    try:
        for tensor, _ in before:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, dtype in before:
            tensor.data = tensor.data.to(dtype)


def _floating(model: Any) -> list[Tensor]:
    return [tensor for tensor in chain(model.parameters(), model.buffers()) if tensor.is_floating_point()]


def _told(compared: Comparison) -> str:
    return (
        f"largest difference of a label log-probability {compared.largest_difference:.2g}, "
        f"{compared.flips} flips of the most probable label"
    )
