"""A bank: many linear heads on the states of several places, trained at once and independent of each other.

Every place has one head for each setting of the optimiser. All heads of a bank see the same rows in the same order, and
one batched product serves them all. Knows no file, no row of a data set and no loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from probes.linear_probe import cross_entropy, mask_absent
from thinkgap.schema import AdamWGrid


class Rates(NamedTuple):
    """What distinguishes the heads of a place."""

    learning_rate: float
    weight_decay: float
    """Decoupled (Loshchilov and Hutter 2019, arXiv 1711.05101); of weights and bias, as torch decays an `nn.Linear`."""

    @property
    def name(self) -> str:
        """`lr=0.001 wd=0.1`."""
        return f"lr={self.learning_rate:g} wd={self.weight_decay:g}"


def rates_of(grid: AdamWGrid) -> list[Rates]:
    """Every learning rate with every decay, decays of the first rate first."""
    return [Rates(rate, decay) for rate in grid.learning_rates for decay in grid.weight_decays]


class Bank(nn.Module):
    """`S` places x `G` settings of heads with `K` slots, on states of `d` features.

    All weights start at zero. The loss of a linear head is convex, so a start decides no result and there is no seed of
    weights. A head's weights are touched by its own gradient alone: nothing is shared, clipped or normalised across
    heads, so that a bank equals `S x G` separate fits.

    Args:
        n_places: S.
        rates: the G settings.
        d: features of a state.
        n_slots: K.
        bias: whether heads have one.
    """

    def __init__(self, n_places: int, rates: Sequence[Rates], d: int, n_slots: int, bias: bool = True) -> None:
        super().__init__()
        self.rates = tuple(rates)
        self.n_slots = n_slots
        # A parameter for each setting, because an optimiser's rates belong to parameters.
        self.weights = nn.ParameterList([torch.zeros(n_places, n_slots, d) for _ in rates])
        self.biases = nn.ParameterList([torch.zeros(n_places, n_slots) for _ in rates] if bias else [])

    def forward(self, states: Tensor, k: Tensor) -> Tensor:
        """Logits `[S, G, B, K]` of states `[S, B, d]`; minus infinity at the slots that a row of `k` `[B]` lacks."""
        weight = torch.cat(list(self.weights), 1).transpose(1, 2)
        if len(self.biases):
            logits = torch.baddbmm(torch.cat(list(self.biases), 1)[:, None], states, weight)
        else:
            logits = torch.bmm(states, weight)
        return mask_absent(logits.unflatten(-1, (len(self.rates), self.n_slots)).transpose(1, 2), k)

    def optimizer(self) -> torch.optim.AdamW:
        """AdamW with a group for each setting. It works entry by entry, so a group is many heads that never meet."""
        groups: list[dict[str, Any]] = []
        for number, (rate, decay) in enumerate(self.rates):
            own = [self.weights[number], *([self.biases[number]] if len(self.biases) else [])]
            groups.append({"params": own, "lr": rate, "weight_decay": decay})
        # Not `fused`: on a CPU it rounds the last few entries of a tensor otherwise than the rest, so that a head's
        # weights would depend on the block that it is in.
        return torch.optim.AdamW(groups)

    @torch.no_grad()
    def heads(self) -> Heads:
        """A copy of all weights, on the CPU."""
        weight = torch.stack([weight.detach().cpu() for weight in self.weights], 1)
        if len(self.biases):
            return Heads(weight, torch.stack([bias.detach().cpu() for bias in self.biases], 1))
        return Heads(weight, torch.zeros(weight.shape[:-1]))


class Heads(NamedTuple):
    """Weights of all heads of a bank."""

    weight: Tensor
    """`[S, G, K, d]`, float32."""
    bias: Tensor
    """`[S, G, K]`, float32."""


class Scores(NamedTuple):
    """How the heads of a bank do on one part."""

    accuracy: Tensor
    """`[S, G]`, float64 on the CPU, in [0, 1]."""
    loss: Tensor
    """`[S, G]`, float64 on the CPU: mean cross-entropy in nats over the rows whose right slot the heads have; infinite
    if there is none. A row whose right slot is beyond K is wrong in `accuracy`."""


def losses(logits: Tensor, gold: Tensor) -> Tensor:
    """Mean cross-entropy `[S, G]` of each head over the rows of a batch, of masked logits `[S, G, B, K]`."""
    return cross_entropy(logits, gold).mean(-1)


@torch.no_grad()
def scores(heads: Heads, states: Tensor, gold: Tensor, k: Tensor) -> Scores:
    """Score all heads on states `[S, n, d]` with right slots `gold` `[n]` and numbers of options `k` `[n]`."""
    n_settings, n_slots = heads.bias.shape[1:]
    known = gold < n_slots
    accuracies, means = [], []
    # Place by place: the logits of all heads at once can be larger than a block of states.
    for place, at in enumerate(states):
        weight, bias = heads.weight[place].flatten(0, 1).to(at), heads.bias[place].flatten().to(at)
        raw = torch.addmm(bias, at, weight.T).unflatten(-1, (n_settings, n_slots)).transpose(0, 1)
        logits = mask_absent(raw, k)
        accuracies.append((logits.argmax(-1) == gold).sum(-1).cpu().double() / len(gold))
        total = cross_entropy(logits[:, known], gold[known]).cpu().double().sum(-1)
        means.append(total / int(known.sum()) if bool(known.any()) else torch.full_like(total, float("inf")))
    return Scores(torch.stack(accuracies), torch.stack(means))


@dataclass(frozen=True)
class Best:
    """The weights of each head's best epoch so far, and how they did on the selection split. All on the CPU."""

    weight: Tensor
    """`[S, G, K, d]`, float32."""
    bias: Tensor
    """`[S, G, K]`, float32."""
    accuracy: Tensor
    """`[S, G]`, float64; -1 before the first epoch."""
    loss: Tensor
    """`[S, G]`, float64."""
    epoch: Tensor
    """`[S, G]` int64, from 1; 0 before the first epoch."""

    @classmethod
    def none(cls, heads: Heads) -> Best:
        """Before the first epoch of a bank with such heads."""
        of = heads.bias.shape[:2]
        start = torch.full(of, -1.0, dtype=torch.float64)
        return cls(*heads, start, torch.full_like(start, float("inf")), torch.zeros(of, dtype=torch.int64))

    def update(self, epoch: int, heads: Heads, found: Scores) -> None:
        """Take the heads that did better in this epoch: higher accuracy, or the same with a lower loss."""
        better = (found.accuracy > self.accuracy) | ((found.accuracy == self.accuracy) & (found.loss < self.loss))
        self.weight[better], self.bias[better] = heads.weight[better], heads.bias[better]
        self.accuracy[better], self.loss[better] = found.accuracy[better], found.loss[better]
        self.epoch[better] = epoch

    @property
    def heads(self) -> Heads:
        """The weights."""
        return Heads(self.weight, self.bias)
