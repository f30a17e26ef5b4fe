"""A linear probe: standardise a state, map it to one logit per slot, leave out the slots that the item does not have.

What every solver returns and every control reads. Knows no run, no file and no way of fitting.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

CONSTANT = 1e-6
"""Standard deviation, relative to the largest feature's, below which a feature counts as constant."""


@dataclass(frozen=True)
class Standard:
    """Mean and scale of each feature over the fit split, and nothing else's."""

    mean: Tensor
    """`[d]`, float32."""
    scale: Tensor
    """`[d]`, float32: standard deviations; 1 for a constant feature, which so becomes 0 on the fit split."""

    @classmethod
    def of(cls, states: Tensor) -> Standard:
        """Of states `[n, d]`, in float64 inside."""
        exact = states.double()
        mean, deviation = exact.mean(0), exact.std(0, correction=0)
        constant = deviation <= CONSTANT * deviation.max()
        return cls(mean.float(), torch.where(constant, 1.0, deviation).float())

    def __call__(self, states: Tensor) -> Tensor:
        """Float32 `[..., d]` of states `[..., d]` in any number type."""
        return (states.float() - self.mean) / self.scale


@dataclass(frozen=True)
class LinearProbe:
    """Weights on standardised states."""

    standard: Standard
    weight: Tensor
    """`[d, K]`, float32; K is the largest number of options on the fit split."""
    bias: Tensor
    """`[K]`, float32; 0 where none was fitted."""

    def logits(self, states: Tensor, k: Tensor) -> Tensor:
        """Float32 logits `[n, K]` of states `[n, d]`; minus infinity at the slots that an item of `k` `[n]` lacks.

        An item with more options than K has the first K alone.
        """
        return mask_absent(self.standard(states) @ self.weight + self.bias, k)

    def slots(self, states: Tensor, k: Tensor) -> Tensor:
        """Predicted slots `[n]`: the largest logit, the first of equal ones."""
        return self.logits(states, k).argmax(-1)

    def directions(self) -> Tensor:
        """Float32 `[K, d]`: what each slot's logit adds per unit of the raw state, centred over slots.

        Centred because a vector that all slots share changes no prediction.
        """
        raw = (self.weight / self.standard.scale[:, None]).T
        return raw - raw.mean(0)


def mask_absent(logits: Tensor, k: Tensor) -> Tensor:
    """Logits `[..., n, K]` with minus infinity at slots `k` `[n]` and above."""
    absent = torch.arange(logits.shape[-1], device=logits.device) >= k[:, None]
    return logits.masked_fill(absent, float("-inf"))


def cross_entropy(logits: Tensor, gold: Tensor) -> Tensor:
    """-log p of slot `gold` `[n]`, per row `[..., n]`, of masked logits `[..., n, K]`; infinite at a slot beyond K."""
    known = gold < logits.shape[-1]
    place = torch.where(known, gold, 0).expand(logits.shape[:-1])[..., None]
    loss = logits.logsumexp(-1) - logits.gather(-1, place)[..., 0]
    return torch.where(known, loss, float("inf"))
