"""Work on a model and a device -> seconds, bytes and money. Arithmetic alone; docs/scaling.md has the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thinkgap.planning.devices import Device
from thinkgap.planning.shape import Shape
from thinkgap.planning.work import Work

_ACTIVATIONS = 24
"""Numbers of a token's width that a pass holds at once: states, projections, gates."""
RECORD_BYTES = 120
"""Of a row of records.parquet, without lens readings; measured on runs of the embedded model."""
RESPONSE_BYTES = 60
"""Of a row of responses.parquet beside its text, of which a token takes about three bytes compressed."""
_TOKEN_BYTES = 3


@dataclass(frozen=True)
class Cost:
    """What a part of a run takes on one device; several devices share the time and nothing else."""

    flops: float
    seconds: float
    memory: float
    """Bytes that the device has to hold at once."""
    stored: float
    """Bytes on disk."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.seconds + other.seconds,
            max(self.memory, other.memory),
            self.stored + other.stored,
        )


def scoring_cost(
    shape: Shape,
    work: Work,
    device: Device,
    *,
    shared: bool,
    batch_tokens: int,
    lens_prompts: float = 0.0,
    states: int = 0,
    state_bytes: int = 2,
) -> Cost:
    """Reading every prompt once.

    Args:
        shape: of the model.
        work: of all items.
        device: where.
        shared: whether a shared prefix is computed once.
        batch_tokens: of a pass.
        lens_prompts: prompts of which every layer is read.
        states: hidden states that are kept of each prompt.
        state_bytes: of one number of a state on disk.
    """
    tokens, seen = (work.distinct, work.seen) if shared else (work.tokens, work.seen_plain)
    flops = 2.0 * shape.active * tokens + 4.0 * shape.attention * shape.n_layers * seen
    flops += 2.0 * shape.head * (work.prompts + lens_prompts * (shape.n_layers - 1)) + 2.0 * shape.vision * work.patches
    seconds = flops / (device.flops * device.scoring) + work.prompts * device.host_seconds
    seconds += math.ceil(tokens / batch_tokens) * shape.n_layers * device.layer_seconds
    reads = min(work.prompts, math.ceil(batch_tokens / max(1.0, work.tokens / max(1.0, work.prompts))))
    held = shape.total * device.bytes_per_weight
    held += batch_tokens * _ACTIVATIONS * shape.width * device.bytes_per_weight + 3 * reads * shape.vocabulary * 4
    stored = work.prompts * (RECORD_BYTES + states * shape.width * state_bytes)
    stored += lens_prompts * shape.n_layers * 5 * 8
    return Cost(flops, seconds, held, stored)


def writing_cost(shape: Shape, work: Work, device: Device, *, new_tokens: float, batch_size: int) -> Cost:
    """Writing a reply after every prompt, its prefix computed once for the prompts of an item.

    A step of a batch reads all weights and every cache of it once, computes its tokens, and starts every layer; it
    takes as long as the slowest of the three.

    Args:
        shape: of the model.
        work: of all items.
        device: where.
        new_tokens: mean length of a reply.
        batch_size: replies that are written at a time.
    """
    read = scoring_cost(shape, work, device, shared=True, batch_tokens=8192)
    size = max(1.0, min(batch_size, work.prompts))
    context = work.tokens / max(1.0, work.prompts) + new_tokens / 2
    moved = (shape.active + shape.head) * device.bytes_per_weight
    moved += size * shape.cached * context * device.bytes_per_weight
    step = max(
        moved / (device.bandwidth * device.decoding),
        2.0 * (shape.active + shape.head) * size / (device.flops * device.stepping),
        shape.n_layers * device.layer_seconds,
    )
    steps = work.prompts * new_tokens / size
    flops = 2.0 * (shape.active + shape.head) * work.prompts * new_tokens
    held = shape.total * device.bytes_per_weight
    held += size * shape.cached * (work.longest + new_tokens) * device.bytes_per_weight
    stored = work.prompts * (RESPONSE_BYTES + _TOKEN_BYTES * new_tokens)
    return Cost(read.flops + flops, read.seconds + steps * step, held, stored)
