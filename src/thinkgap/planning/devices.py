"""Devices that a run may be planned for: those of a list by their stated rates, and this machine by measuring it.

Knows no model and no run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from thinkgap.errors import ConfigError, nearest

HERE = "here"
"""Name of this machine's CPU."""
_REPEATS = 3
_ROWS = 1024
"""Tokens of a pass on a CPU."""


@dataclass(frozen=True)
class Device:
    """What one device can do, and how much of it a run gets."""

    name: str
    memory: float
    """Bytes."""
    flops: float
    """Floating-point operations per second, at best, in the run's number type."""
    bandwidth: float
    """Bytes per second from its memory, at best."""
    price: float
    """Money per hour."""
    scoring: float
    """Share of `flops` that prompts get; prefill in half precision commonly gets 0.3 to 0.6 of what makers state."""
    decoding: float
    """Share of `bandwidth` that one token after the other gets."""
    stepping: float
    """Share of `flops` that a step of replies gets, whose products have one row for each reply."""
    host_seconds: float
    """Seconds beside the model for each prompt: tokenising, reading, writing."""
    layer_seconds: float
    """Seconds that a layer takes at least, whatever it computes: starting its kernels, and Python."""
    bytes_per_weight: int
    """Of the number type that weights have there by default."""


def devices() -> list[str]:
    """Names that `device_of` takes."""
    return [*_listed(), HERE]


def device_of(name: str, width: int = 1024, price: float | None = None) -> Device:
    """A device by name; `here` is measured, which takes a second.

    Args:
        name: one of `devices()`.
        width: of the model's hidden states, on which the rate of this machine depends.
        price: money per hour; None is the list's.

    Raises:
        ConfigError: no such device.
    """
    if name == HERE:
        flops, bandwidth = _measured(width)
        import psutil

        memory = float(psutil.virtual_memory().total)
        return Device(name, memory, flops, bandwidth, price or 0.0, 0.7, 0.7, 0.2, 0.0025, 0.0004, 4)
    if name not in _listed():
        raise ConfigError(
            f"evaluation.estimating.device={name}: not known{nearest(name, devices())}; there are "
            f"{', '.join(devices())}"
        )
    told = _listed()[name]
    return Device(
        name,
        told["memory"] * 1e9,
        told["tflops"] * 1e12,
        told["bandwidth"] * 1e12,
        told["price"] if price is None else price,
        scoring=0.4,
        decoding=0.5,
        stepping=0.2,
        host_seconds=0.0025,
        layer_seconds=0.0006,
        bytes_per_weight=2,
    )


@cache
def _listed() -> dict[str, dict[str, float]]:
    return yaml.safe_load((Path(__file__).parent / "devices.yaml").read_text(encoding="utf-8"))


@cache
def _measured(width: int) -> tuple[float, float]:
    """Float32 operations and bytes per second of this machine: the best of a few products and copies."""
    import torch

    a, b = torch.rand(_ROWS, width), torch.rand(width, 4 * width)
    big = torch.rand(32 << 20)
    work, moved = 2 * _ROWS * width * 4 * width, 2 * big.nbytes
    fastest_product, fastest_copy = (
        min(_seconds(job) for _ in range(_REPEATS)) for job in (lambda: a @ b, lambda: big.clone())
    )
    return work / fastest_product, moved / fastest_copy


def _seconds(job: Callable[[], object]) -> float:
    job()
    before = time.perf_counter()
    job()
    return time.perf_counter() - before
