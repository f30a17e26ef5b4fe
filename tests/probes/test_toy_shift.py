"""A toy world: the trigger turns the direction in which the answer stands, and an adapter has to find it again."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from probes.fit import fit
from probes.head import Readout, adapted
from probes.targets import adapter_loss
from thinkgap.schema import AdapterLoss, LoraSettings, ProbeConfig, TrainerConfig

D, V, LABELS = 24, 50, 4


def world(n: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Projection `[V, d]`, right labels `[n]`, and states `[n, d]` under Direct and under the trigger.

    Under Direct a state points along its label's row of the projection. Under the trigger it points along another
    axis, on which the rows of all labels are 0, and a common part favours label 0.
    """
    basis = torch.eye(D)
    weight = 0.1 * torch.randn(V, D, generator=torch.Generator().manual_seed(0))
    weight[:LABELS] = 0
    weight[:LABELS, :LABELS] = torch.eye(LABELS)
    weight[LABELS:, : 2 * LABELS] = 0
    draws = torch.Generator().manual_seed(seed)
    gold = torch.randint(LABELS, (n,), generator=draws)
    noise = 0.3 * torch.randn(n, D, generator=draws)
    direct = 4 * basis[gold] + noise
    triggered = 4 * basis[LABELS + gold] + 2 * basis[0] + noise
    return weight, gold, direct, triggered


def accuracy(head: nn.Module, states: Tensor, gold: Tensor) -> float:
    with torch.inference_mode():
        return float((head(states)[:, :LABELS].argmax(-1) == gold).float().mean())


def test_an_adapter_finds_the_turned_direction_on_held_out_states() -> None:
    weight, gold, _, triggered = world(800, seed=1)
    _, test_gold, test_direct, test_triggered = world(400, seed=2)
    projection = nn.Linear(D, V, bias=False)
    projection.weight = nn.Parameter(weight, requires_grad=False)
    readout = Readout("lm_head", projection, 1.0, None)
    assert accuracy(readout, test_direct, test_gold) > 0.95
    assert abs(accuracy(readout, test_triggered, test_gold) - 1 / LABELS) < 0.1, "chance: the first label for all"
    labels = torch.arange(LABELS)[None, :, None].expand(len(gold), -1, -1)
    for kind in AdapterLoss:
        model = adapted(readout, LoraSettings(rank=8), seed=0, base="toy")
        fit(
            model,
            partial(adapter_loss, kind),
            (triggered, gold[:, None], labels),
            ProbeConfig(epochs=10, batch_size=16, lora=LoraSettings(learning_rate=0.01)),
            TrainerConfig(accelerator="cpu", progress=False),
            seed=0,
        )
        assert accuracy(model, test_triggered, test_gold) > 0.9, kind
    shuffled = adapted(readout, LoraSettings(rank=8), seed=0, base="toy")
    order = torch.randperm(len(gold), generator=torch.Generator().manual_seed(3))
    fit(
        shuffled,
        partial(adapter_loss, AdapterLoss.vocabulary),
        (triggered, gold[order][:, None], labels),
        ProbeConfig(epochs=10, batch_size=16, lora=LoraSettings(learning_rate=0.01)),
        TrainerConfig(accelerator="cpu", progress=False),
        seed=0,
    )
    assert accuracy(shuffled, test_triggered, test_gold) < 0.5, "answers of other states carry nothing over"


def test_the_same_seed_gives_the_same_weights() -> None:
    weight, gold, _, triggered = world(64, seed=1)
    projection = nn.Linear(D, V, bias=False)
    projection.weight = nn.Parameter(weight, requires_grad=False)
    readout = Readout("lm_head", projection, 1.0, None)
    labels = torch.arange(LABELS)[None, :, None].expand(len(gold), -1, -1)
    found = []
    for seed in (0, 0, 1):
        model = adapted(readout, LoraSettings(rank=4, dropout=0.2), seed, base="toy")
        tensors = (triggered, gold[:, None], labels)
        cfg, trainer = ProbeConfig(epochs=2, batch_size=8), TrainerConfig(accelerator="cpu", progress=False)
        told: list[tuple[int, float]] = []
        losses = fit(
            model,
            partial(adapter_loss, AdapterLoss.vocabulary),
            tensors,
            cfg,
            trainer,
            seed,
            "toy",
            lambda epoch, loss, told=told: told.append((epoch, loss)),
        )
        assert told == list(enumerate(losses, 1))
        found.append(torch.cat([one.detach().flatten() for one in model.parameters() if one.requires_grad]))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
