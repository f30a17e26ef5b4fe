"""A bank against as many separate torch layers; its scores by hand; which epoch's weights are kept."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from probes.bank import Bank, Best, Heads, Rates, Scores, losses, rates_of, scores
from probes.linear_probe import cross_entropy, mask_absent
from thinkgap.schema import AdamWGrid

RATES = [Rates(0.05, 0.0), Rates(0.05, 0.3), Rates(0.002, 0.0), Rates(0.002, 5.0)]


def batches(n_places: int, d: int, n_slots: int, steps: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """States, numbers of options and right slots of some batches, the last one smaller."""
    made = torch.Generator().manual_seed(0)
    found = []
    for step in range(steps):
        size = 16 if step < steps - 1 else 3
        k = torch.randint(2, n_slots + 1, (size,), generator=made)
        gold = (torch.rand(size, generator=made) * k).long()
        found.append((torch.randn(n_places, size, d, generator=made), k, gold))
    return found


@pytest.mark.parametrize("bias", [True, False])
def test_it_equals_separate_layers_with_torchs_adamw(bias: bool) -> None:
    n_places, d, n_slots = 3, 7, 5
    data = batches(n_places, d, n_slots, 40)
    bank = Bank(n_places, RATES, d, n_slots, bias)
    optimizer = bank.optimizer()
    for states, k, gold in data:
        optimizer.zero_grad()
        losses(bank(states, k), gold).sum().backward()
        optimizer.step()
    heads = bank.heads()
    for place in range(n_places):
        for setting, (rate, decay) in enumerate(RATES):
            alone = nn.Linear(d, n_slots, bias=bias)
            for parameter in alone.parameters():
                nn.init.zeros_(parameter)
            own = torch.optim.AdamW(alone.parameters(), lr=rate, weight_decay=decay, foreach=False)
            for states, k, gold in data:
                own.zero_grad()
                nn.functional.cross_entropy(mask_absent(alone(states[place]), k), gold).backward()
                own.step()
            torch.testing.assert_close(heads.weight[place, setting], alone.weight.detach(), rtol=1e-5, atol=2e-6)
            if bias:
                torch.testing.assert_close(heads.bias[place, setting], alone.bias.detach(), rtol=1e-5, atol=2e-6)
            else:
                assert not heads.bias.any()
    # The settings do differ, also by decay alone, so that a mix-up of groups could not pass.
    for one, other in ((0, 1), (0, 2), (2, 3)):
        assert float((heads.weight[:, one] - heads.weight[:, other]).abs().max()) > 1e-3


def test_a_hopeless_head_leaves_its_neighbours_alone() -> None:
    """With gradients clipped or normalised together, states of size 1e6 at one place would stop the other place."""
    (states, k, gold), *_ = batches(2, 4, 3, 2)
    found = []
    for factor in (1.0, 1e6):
        bank = Bank(2, RATES[:1], 4, 3)
        loud = torch.stack([states[0], states[1] * factor])
        losses(bank(loud, k), gold).sum().backward()
        gradient = bank.weights[0].grad
        assert gradient is not None
        found.append(gradient.clone())
    assert torch.equal(found[0][0], found[1][0])
    assert float(found[1][1].abs().max()) > 1e4


def test_loss_at_the_start_by_hand() -> None:
    """Zero weights: a row costs ln k, here (ln 2 + ln 4 + ln 4) / 3 in every head."""
    bank = Bank(2, RATES, 3, 5)
    found = losses(bank(torch.randn(2, 3, 3), torch.tensor([2, 4, 4])), torch.tensor([1, 0, 3]))
    torch.testing.assert_close(found, torch.full((2, 4), (math.log(2) + 2 * math.log(4)) / 3))


def test_an_absent_slot_is_never_predicted_and_learns_nothing() -> None:
    bank = Bank(1, RATES[:1], 2, 4)
    with torch.no_grad():
        bank.biases[0][0] = torch.tensor([0.0, 1.0, 5.0, 9.0])
    k = torch.tensor([4, 3, 2])
    logits = bank(torch.zeros(1, 3, 2), k)
    assert logits.argmax(-1).tolist() == [[[3, 2, 1]]]
    losses(logits, torch.tensor([0, 0, 0]))[0, 0].backward()
    alone = Bank(1, RATES[:1], 2, 4)
    cross_entropy(alone(torch.ones(1, 1, 2), torch.tensor([2])), torch.tensor([0])).sum().backward()
    gradient = alone.biases[0].grad
    assert gradient is not None
    # softmax over two slots minus the right one: (1/2 - 1, 1/2)
    assert gradient.tolist() == [[-0.5, 0.5, 0.0, 0.0]]


def test_scores_by_hand() -> None:
    """Two heads at one place read feature 0 as logits (x, 0) and (-x, 0); the last row's right slot is beyond K = 2."""
    weight = torch.tensor([[[[1.0], [0.0]], [[-1.0], [0.0]]]])
    heads = Heads(weight, torch.zeros(1, 2, 2))
    states = torch.tensor([[[2.0], [-1.0], [3.0]]])
    found = scores(heads, states, torch.tensor([0, 0, 2]), torch.tensor([2, 2, 3]))
    # Head 0 is right about row 0 (2 > 0) and wrong about row 1 (-1 < 0); head 1 the other way round. Row 2 is wrong.
    assert found.accuracy.tolist() == [[1 / 3, 1 / 3]]
    expected = [
        (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 2,
        (math.log(1 + math.exp(2)) + math.log(1 + math.exp(-1))) / 2,
    ]
    assert found.loss[0].tolist() == pytest.approx(expected, abs=1e-6)
    beyond = scores(heads, states[:, :1], torch.tensor([2]), torch.tensor([3]))
    assert (beyond.accuracy.tolist(), beyond.loss.tolist()) == ([[0.0, 0.0]], [[math.inf, math.inf]])


def test_scores_equal_the_banks_own_logits() -> None:
    (states, k, gold), *_ = batches(3, 6, 4, 2)
    bank = Bank(3, RATES, 6, 4)
    with torch.no_grad():
        for parameter in bank.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    found = scores(bank.heads(), states, gold, k)
    logits = bank(states, k).detach()
    assert torch.equal(found.accuracy, (logits.argmax(-1) == gold).double().mean(-1))
    torch.testing.assert_close(found.loss, losses(logits, gold).double(), rtol=1e-6, atol=1e-6)


def test_best_is_accuracy_then_loss_then_the_earliest() -> None:
    """One place, four heads, three epochs; the weight of an epoch is its number."""
    told = [
        ([0.5, 0.5, 0.5, 0.6], [1.0, 1.0, 1.0, 1.0]),
        ([0.6, 0.5, 0.5, 0.5], [2.0, 0.9, 1.0, 0.1]),
        ([0.4, 0.5, 0.5, 0.6], [0.1, 1.1, 1.0, 1.0]),
    ]
    best = Best.none(Heads(torch.zeros(1, 4, 2, 3), torch.zeros(1, 4, 2)))
    for epoch, (accuracy, loss) in enumerate(told, 1):
        heads = Heads(torch.full((1, 4, 2, 3), float(epoch)), torch.full((1, 4, 2), -float(epoch)))
        best.update(epoch, heads, Scores(*(torch.tensor([one], dtype=torch.float64) for one in (accuracy, loss))))
    # Head 0: highest accuracy in epoch 2, whatever the loss. Head 1: equal accuracy, lowest loss in 2. Head 2: all
    # equal, so epoch 1. Head 3: epochs 1 and 3 are equal, the first counts.
    assert best.epoch.tolist() == [[2, 2, 1, 1]]
    assert best.weight[0, :, 0, 0].tolist() == [2.0, 2.0, 1.0, 1.0]
    assert best.bias[0, :, 0].tolist() == [-2.0, -2.0, -1.0, -1.0]
    assert best.loss.tolist() == [[2.0, 0.9, 1.0, 1.0]]


def test_a_bank_of_copies_is_not_changed_by_training() -> None:
    """`heads` gives copies: what was kept of an epoch stays when training goes on."""
    bank = Bank(1, RATES[:1], 2, 2)
    before = bank.heads()
    with torch.no_grad():
        bank.weights[0].fill_(1.0)
        bank.biases[0].fill_(1.0)
    assert not before.weight.any()
    assert not before.bias.any()


def test_settings_are_every_rate_with_every_decay() -> None:
    found = rates_of(AdamWGrid(learning_rates=[1e-3, 1e-4], weight_decays=[0.0, 0.1]))
    assert [one.name for one in found] == [
        "lr=0.001 wd=0",
        "lr=0.001 wd=0.1",
        "lr=0.0001 wd=0",
        "lr=0.0001 wd=0.1",
    ]
