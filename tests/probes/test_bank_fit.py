"""Fitting a block against plain loops and scikit-learn; blocks, epochs, and what a fit is robust to."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from probes import bank_rows
from probes.bank_fit import fit_block_adamw, row_order
from probes.heads import Fitted, Place
from probes.linear_probe import Standard, mask_absent
from probes.part import Part
from tests.probes.parts import made_part
from thinkgap.errors import ConfigError, DataError
from thinkgap.schema import AdamWGrid, ProbeConfig, TrainerConfig

CPU = TrainerConfig(accelerator="cpu", progress=False)
FIT = made_part("fit", 90, seed=0, n_options=(2, 4, 5), names=("layer_0", "layer_1", "final_norm"))
SELECT = made_part("select", 60, seed=1, n_options=(2, 4, 5), names=("layer_0", "layer_1", "final_norm"))
PLACES = [Place(condition, state) for condition in FIT.conditions for state in FIT.names]


def settings(**changed: Any) -> ProbeConfig:
    rates, decays = changed.pop("learning_rates", [0.05, 0.005]), changed.pop("weight_decays", [0.0, 1.0])
    grid = AdamWGrid(rates, decays, changed.pop("decay", False))
    return replace(ProbeConfig(epochs=5, batch_size=16, adamw=grid), **changed)


def fitted(places: Sequence[Place] = PLACES, fit: Part = FIT, select: Part = SELECT, **changed: Any) -> list[Fitted]:
    seed = changed.pop("seed", 0)
    return fit_block_adamw(places, fit, select, settings(**changed), CPU, seed)


def same(one: Sequence[Fitted], other: Sequence[Fitted]) -> bool:
    """Whether all probes and figures are the same to the last bit."""
    return [(at.place, at.chosen, at.settings) for at in one] == [
        (at.place, at.chosen, at.settings) for at in other
    ] and all(
        torch.equal(a, b)
        for left, right in zip(one, other, strict=True)
        for a, b in (
            (left.probe.weight, right.probe.weight),
            (left.probe.bias, right.probe.bias),
            (left.probe.standard.mean, right.probe.standard.mean),
            (left.probe.standard.scale, right.probe.standard.scale),
        )
    )


def read_with(part: Part, change: Any) -> Part:
    """A part whose states went through `change`, told which rows they are of."""

    def read(source: NDArray[np.int64], condition: str, names: Sequence[str]) -> Tensor:
        return change(part.reader(source, condition, names), source)

    return replace(part, reader=read)


def plain(place: Place, rate: float, decay: float, cfg: ProbeConfig) -> tuple[nn.Linear, list[tuple[float, float]]]:
    """One head in a plain loop: weights of the last epoch, and accuracy and loss on the selection split by epoch."""
    raw, shown = FIT.state(*place), SELECT.state(*place)
    mean, scale = raw.mean(0), raw.std(0, correction=0)
    head = nn.Linear(raw.shape[1], 5)
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=decay)
    found, step, n_steps = [], 0, 5 * -(-len(FIT) // cfg.batch_size)
    for epoch in range(cfg.epochs):
        for rows in row_order(len(FIT), 0, epoch).split(cfg.batch_size):
            if cfg.adamw.decay:
                optimizer.param_groups[0]["lr"] = rate * (1 - step / n_steps)
            step += 1
            optimizer.zero_grad()
            logits = mask_absent(head((raw[rows] - mean) / scale), FIT.k[rows])
            nn.functional.cross_entropy(logits, FIT.gold[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            logits = mask_absent(head((shown - mean) / scale), SELECT.k)
        loss = float(nn.functional.cross_entropy(logits, SELECT.gold))
        found.append((float((logits.argmax(-1) == SELECT.gold).double().mean()), loss))
    return head, found


@pytest.mark.parametrize("falling", [False, True])
def test_every_head_equals_a_plain_loop(falling: bool) -> None:
    """Of five epochs; with rates that stay, and with rates that fall to zero over the five."""
    cfg = settings(decay=falling)
    for result in fitted(decay=falling):
        for number, (rate, decay) in enumerate([(0.05, 0.0), (0.05, 1.0), (0.005, 0.0), (0.005, 1.0)]):
            _, by_epoch = plain(result.place, rate, decay, cfg)
            best = min(range(5), key=lambda epoch: (-by_epoch[epoch][0], by_epoch[epoch][1], epoch))
            setting = result.settings[number]
            assert setting.epoch == best + 1
            assert (setting.select_accuracy, setting.select_loss) == pytest.approx(by_epoch[best], abs=1e-5)
            head, _ = plain(result.place, rate, decay, replace(cfg, epochs=best + 1))
            if number == result.chosen:
                torch.testing.assert_close(result.probe.weight, head.weight.detach().T, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(result.probe.bias, head.bias.detach(), rtol=1e-5, atol=1e-5)
                logits = result.probe.logits(FIT.state(*result.place), FIT.k)
                loss = float(nn.functional.cross_entropy(logits, FIT.gold))
                assert setting.fit_loss == pytest.approx(loss, abs=1e-5)


def test_a_place_alone_gets_what_it_gets_in_a_block() -> None:
    whole = fitted()
    assert same([fitted([place])[0] for place in PLACES], whole)
    assert same(fitted(PLACES[4:] + PLACES[:4]), whole[4:] + whole[:4]), "conditions in any order"


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones() -> None:
    first = fitted(seed=3)
    assert same(first, fitted(seed=3))
    assert not same(first, fitted(seed=4))
    assert torch.equal(row_order(20, 1, 2).sort().values, torch.arange(20))
    assert not torch.equal(row_order(20, 1, 2), row_order(20, 1, 3))


def test_the_best_epoch_is_kept_when_later_ones_are_worse() -> None:
    """Forty noise features and a high rate: the head learns the fit rows by heart, and the loss elsewhere rises."""
    fit = made_part("fit", 40, seed=0, d=40, signal=1.0)
    select = made_part("select", 200, seed=1, d=40, signal=1.0)
    told: list[tuple[int, float, float, float]] = []

    def curve(epoch: int, fit_loss: Tensor, accuracy: Tensor, loss: Tensor) -> None:
        assert fit_loss.shape == accuracy.shape == loss.shape == (1, 1)
        told.append((epoch, float(fit_loss), float(accuracy), float(loss)))

    place = Place("direct", "final_norm")
    cfg = settings(epochs=12, learning_rates=[0.05], weight_decays=[0.0])
    (result,) = fit_block_adamw([place], fit, select, cfg, CPU, 0, curve=curve)
    best = min(told, key=lambda one: (-one[2], one[3], one[0]))
    assert [one[0] for one in told] == list(range(1, 13))
    assert told[-1][1] < 0.1 * told[0][1], "it does learn by heart"
    assert told[-1][3] > 1.2 * best[3], "and pays for it"
    assert result.setting.epoch == best[0] < 12
    assert (result.setting.select_accuracy, result.setting.select_loss) == best[2:]
    assert same([result], fit_block_adamw([place], fit, select, replace(cfg, epochs=best[0]), CPU, 0))


def test_the_told_fit_loss_counts_rows_not_batches() -> None:
    """A rate that moves nothing: every row costs ln k, also the ten rows of the last batch (90 = 5 x 16 + 10)."""
    told: list[Tensor] = []
    cfg = settings(epochs=2, learning_rates=[1e-12], weight_decays=[0.0])
    fit_block_adamw(PLACES[:2], FIT, SELECT, cfg, CPU, 0, curve=lambda _epoch, fit_loss, *_: told.append(fit_loss))
    expected = torch.full((2, 1), float(FIT.k.double().log().mean()), dtype=torch.float64)
    for found in told:
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert len(told) == 2


def test_the_setting_is_chosen_by_selection_accuracy() -> None:
    """A rate that moves no weight to speak of cannot win where there is a signal."""
    for result in fitted(learning_rates=[1e-7, 0.05], weight_decays=[0.0]):
        assert result.setting == result.settings[result.chosen]
        if result.place.state == "final_norm":
            assert result.setting.name == "lr=0.05 wd=0"
            assert result.setting.select_accuracy > 0.8


def test_it_agrees_with_logistic_regression() -> None:
    fit, select, test = (made_part(role, 2000, seed=seed) for seed, role in enumerate(("fit", "select", "test")))
    place = Place("direct", "final_norm")
    (result,) = fitted([place], fit, select, epochs=20, batch_size=64, learning_rates=[1e-2, 1e-3], weight_decays=[0.0])
    got = float((result.probe.slots(test.state(*place), test.k) == test.gold).double().mean())
    plain = LogisticRegression(max_iter=1000).fit(fit.state(*place).numpy(), fit.gold.numpy())
    expected = plain.score(test.state(*place).numpy(), test.gold.numpy())
    assert 0.9 < expected < 1.0
    assert abs(got - expected) < 0.005


def test_states_are_standardised_by_the_fit_rows_alone() -> None:
    """Fifty more in feature 0, which stands for slot 0, makes every selection row look like slot 0."""
    place = Place("direct", "final_norm")

    def shifted(states: Tensor, _: object) -> Tensor:
        return states + 50 * (torch.arange(states.shape[-1]) == 0)

    (usual,) = fitted([place], batch_size=90, epochs=1)
    (moved,) = fitted([place], select=read_with(SELECT, shifted), batch_size=90, epochs=1)
    expected = Standard.of(FIT.state(*place))
    for result in (usual, moved):
        assert torch.equal(result.probe.standard.mean, expected.mean)
        assert torch.equal(result.probe.standard.scale, expected.scale)
    assert moved.setting.select_accuracy == float((SELECT.gold == 0).double().mean())
    assert usual.setting.select_accuracy > moved.setting.select_accuracy + 0.2


def test_what_the_reader_returns_is_left_as_it_was() -> None:
    """A reader may hand out its own memory; states are standardised in a copy."""
    own = torch.randn(90, 3, 8)
    before = own.clone()
    part = replace(FIT, reader=lambda rows, condition, names: own[int(rows[0]) : int(rows[-1]) + 1])
    fitted(PLACES[:3], part, epochs=1)
    assert torch.equal(own, before)


def test_slots_that_an_item_lacks_are_never_predicted() -> None:
    for result in fitted(epochs=2):
        part = read_with(SELECT, lambda states, _: 100 * torch.randn(states.shape))
        assert bool((result.probe.slots(part.state(*result.place), part.k) < part.k).all())


def test_selection_rows_with_more_options_than_any_fit_row_count_as_wrong_beyond_them() -> None:
    fit = made_part("fit", 60, seed=0, n_options=(2,))
    select = made_part("select", 80, seed=1, n_options=(4,))
    (result,) = fitted([Place("direct", "final_norm")], fit, select)
    assert result.probe.weight.shape == (8, 2)
    assert 0.3 < result.setting.select_accuracy <= float((select.gold < 2).double().mean())
    assert 0 < result.setting.select_loss < 1


def _constant(states: Tensor, _: object) -> Tensor:
    return torch.where(torch.arange(states.shape[-1]) == 5, 7.0, states)


@pytest.mark.parametrize(
    "fit",
    [
        pytest.param(FIT.chosen(range(3)), id="fewer rows than slots, and than a batch"),
        pytest.param(FIT.chosen(FIT.gold.numpy() != 1), id="a slot that is never right"),
        pytest.param(FIT.chosen(FIT.gold.numpy() == 0), id="one slot alone"),
        pytest.param(made_part("fit", 33, seed=0, names=FIT.names, conditions=("direct",)), id="one condition"),
        pytest.param(read_with(FIT, _constant), id="a constant feature"),
        pytest.param(read_with(FIT, lambda states, _: torch.ones_like(states)), id="constant states"),
        pytest.param(read_with(FIT, lambda states, _: states.bfloat16()), id="bfloat16"),
    ],
)
def test_rows_that_a_fit_takes_as_they_are(fit: Part) -> None:
    for result in fitted([Place("direct", state) for state in FIT.names], fit, epochs=2):
        assert bool(torch.isfinite(result.probe.weight).all())
        assert all(0 <= one.select_accuracy <= 1 and np.isfinite(one.select_loss) for one in result.settings)
        assert 0 < result.setting.fit_loss < 3


def test_a_head_without_bias_has_none() -> None:
    assert not any(result.probe.bias.any() for result in fitted(epochs=1, bias=False))
    assert all(result.probe.bias.any() for result in fitted(epochs=1))


def test_a_rate_with_which_it_diverges_is_named() -> None:
    with pytest.raises(ConfigError, match=r"layer_0, condition direct, with lr=1e\+37 wd=0 .*after epoch 1 \(6 of 12"):
        fitted(learning_rates=[0.05, 1e37], weight_decays=[0.0])


@pytest.mark.parametrize("changed", [{"learning_rates": []}, {"weight_decays": []}, {"epochs": 0}, {"batch_size": 0}])
def test_settings_that_name_no_head_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="learning_rates and of weight_decays"):
        fitted(**changed)


def test_states_that_are_not_finite_are_the_parts_own_error() -> None:
    part = made_part("fit", 600, seed=0)

    def broken(states: Tensor, source: NDArray[np.int64]) -> Tensor:
        states[torch.from_numpy((source == 10) | (source == 599)), -1] = torch.nan
        return states

    with pytest.raises(DataError, match=r"final_norm of item fit-10 .*\(2 of 600 fit rows"):
        fitted([Place("direct", "layer_0"), Place("direct", "final_norm")], read_with(part, broken))


def test_the_rows_of_a_block_are_let_go_before_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five blocks at the size of a 7B model would not fit into memory together."""
    held: list[weakref.ref[Tensor]] = []

    def watched(*given: Any) -> Any:
        found = bank_rows.read_rows(*given)
        held.append(weakref.ref(found[0].states))
        return found

    monkeypatch.setattr("probes.bank_fit.read_rows", watched)
    gc.disable()
    try:
        fit_block_adamw(PLACES[:1], FIT, SELECT, settings(epochs=1), CPU, 0)
        assert held[0]() is None
    finally:
        gc.enable()
