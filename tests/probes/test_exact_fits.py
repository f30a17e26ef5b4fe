"""The exact solver against scikit-learn, a plain float64 minimiser and an optimum found by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.special import expit

from probes import exact_fits
from probes.exact import fit_selected
from probes.heads import Rows
from tests.probes.exact_data import PENALTIES, Data, distance, fitted, made, plain, plain_gradient, sklearn_fit
from thinkgap.errors import ConfigError, DataError
from thinkgap.schema import ExactGrid


@pytest.mark.parametrize("signal", [0.3, 2.0], ids=["overlapping", "separable"])
def test_it_finds_the_optimum_of_scikit_learn(signal: float) -> None:
    data, unseen = made(signal=signal), made(signal=signal, seed=1)
    fits = fitted(data)
    for at, c in enumerate(PENALTIES):
        model = sklearn_fit(data, c)
        assert distance(fits.weight[at], model.coef_) < 1e-3
        # Biases are unique up to a constant.
        expected = torch.as_tensor(model.intercept_)
        assert torch.allclose(fits.bias[at].double(), expected - expected.mean(), atol=2e-3)
        best, second = np.sort(model.decision_function(unseen.x.double().numpy()))[:, :-3:-1].T
        # Rows that the optimum itself can hardly tell apart say nothing.
        clear = best - second > 2e-3 * np.linalg.norm(model.coef_)
        assert clear.mean() > 0.98
        slots = (unseen.x @ fits.weight[at] + fits.bias[at]).argmax(-1).numpy()
        assert (slots == model.predict(unseen.x.double().numpy()))[clear].all()
        loss = -np.log(model.predict_proba(data.x.double().numpy())[np.arange(400), data.gold.numpy()]).mean()
        assert float(fits.fit_losses[at]) == pytest.approx(loss, rel=1e-3)
    assert bool(fits.converged.all())


def test_with_two_slots_scikit_learn_has_one_vector_for_both() -> None:
    """Its w is W_1 - W_0 = 2 W_1, so its |w|^2 / 2C' is our |W|^2 / 2C = 2 |W_1|^2 / 2C at C' = 2C."""
    data = made(n_slots=2)
    fits = fitted(data, [1.0])
    model = sklearn_fit(data, 2.0)
    assert distance(fits.weight[0], np.concatenate([-model.coef_, model.coef_]) / 2) < 1e-3


@pytest.mark.parametrize("bias", [True, False])
def test_rows_lack_slots_and_a_plain_float64_minimiser_agrees(bias: bool) -> None:
    data = made(n=300, d=12, n_slots=5, sizes=(2, 3, 5))
    fits = fitted(data, [0.01, 1.0], bias=bias)
    for at, c in enumerate((0.01, 1.0)):
        weight, biases = plain(data, c, 5, bias)
        assert distance(fits.weight[at], weight) < 1e-3
        expected = torch.from_numpy(biases - biases.mean()) if bias else torch.zeros(5, dtype=torch.float64)
        assert torch.allclose(fits.bias[at].double(), expected, atol=2e-3)


@pytest.mark.parametrize("c", [0.003, 0.1, 30.0])
def test_an_optimum_that_solves_a_scalar_equation(c: float) -> None:
    """The state is 1 in 50 rows, of which slot 1 is right in 40, and -1 in 50, of which slot 0 is right in 40.

    By symmetry W = (-u, u) and there is no bias; a row's logits differ by 2u towards its likely slot. The objective
    100 (0.8 log(1 + exp(-2u)) + 0.2 log(1 + exp(2u))) + 2u^2 / 2C has its derivative zero where
    100 (sigmoid(2u) - 0.8) + u / C = 0 (after division by 2).
    """
    x = torch.tensor([1.0] * 50 + [-1.0] * 50)[:, None]
    gold = torch.tensor([1] * 40 + [0] * 10 + [0] * 40 + [1] * 10)
    u = float(brentq(lambda value: 100 * (expit(2 * value) - 0.8) + value / c, 0, 5))  # type: ignore[arg-type]
    fits = fitted(Data(x, gold, torch.full((100,), 2)), [c])
    assert fits.weight[0, 0].tolist() == pytest.approx([-u, u], rel=1e-3)
    assert fits.bias[0].tolist() == pytest.approx([0, 0], abs=1e-5)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-6])
def test_the_gradient_is_within_the_tolerance(tolerance: float) -> None:
    data = made(sizes=(2, 4))
    fits = fitted(data, tolerance=tolerance)
    for at, c in enumerate(PENALTIES):
        exact = plain_gradient(data, fits, at, c)
        assert exact <= tolerance
        assert float(fits.gradients[at]) == pytest.approx(exact, abs=2e-7)
    assert bool(fits.converged.all())


def test_the_order_of_penalties_says_nothing_but_the_order_of_results() -> None:
    data = made()
    one, other = fitted(data, [0.1, 10.0, 1e-4]), fitted(data, [1e-4, 0.1, 10.0])
    for name in vars(one):
        assert torch.equal(getattr(one, name)[[2, 0, 1]], getattr(other, name))


def test_two_fits_have_the_same_bytes() -> None:
    data = made(sizes=(3, 4))
    one, other = (fit_selected(Rows(*data), Rows(*made(seed=1)), ExactGrid()) for _ in range(2))
    assert one.probe.weight.numpy().tobytes() == other.probe.weight.numpy().tobytes()
    assert one.probe.bias.numpy().tobytes() == other.probe.bias.numpy().tobytes()
    assert one.settings == other.settings


@pytest.mark.parametrize(("n", "d"), [(40, 90), (60, 60)])
def test_fewer_rows_than_features(n: int, d: int) -> None:
    data = made(n=n, d=d)
    fits = fitted(data)
    for at, c in enumerate(PENALTIES):
        assert distance(fits.weight[at], sklearn_fit(data, c).coef_) < 1e-3


def test_constant_and_repeated_features() -> None:
    """A constant feature gets no weight but rounding errors; of a feature that is there twice each gets the same."""
    data = made(d=6)
    x = torch.cat([data.x[:, :3], torch.zeros(400, 2), data.x[:, :1], data.x[:, 3:]], 1)
    fits = fitted(data._replace(x=x))
    assert (fits.weight[:, 3:5].abs().amax((1, 2)) < 1e-5 * fits.weight.flatten(1).norm(dim=1)).all()
    assert torch.allclose(fits.weight[:, 0], fits.weight[:, 5], rtol=1e-3, atol=1e-6)
    for at, c in enumerate(PENALTIES):
        assert distance(fits.weight[at], sklearn_fit(data._replace(x=x), c).coef_) < 1e-3


def test_a_slot_that_is_never_right_is_left_out_and_never_likely() -> None:
    data = made()
    rows = data.gold != 2
    data = Data(data.x[rows], data.gold[rows], data.k[rows])
    fits = fitted(data, n_slots=6)
    for at, c in enumerate(PENALTIES):
        model = sklearn_fit(data, c)
        assert distance(fits.weight[at][:, [0, 1, 3]], model.coef_) < 1e-3
        assert not fits.weight[at][:, [2, 4, 5]].any()
        probabilities = (data.x @ fits.weight[at] + fits.bias[at]).softmax(-1)
        assert 0 < float(probabilities[:, [2, 4, 5]].max()) <= 1 / len(data.x) + 1e-6


def test_without_bias_a_slot_that_is_never_right_has_an_optimum() -> None:
    data = made(n=200, d=8)
    rows = data.gold != 2
    data = Data(data.x[rows], data.gold[rows], data.k[rows])
    fits = fitted(data, [1.0], bias=False)
    assert distance(fits.weight[0], plain(data, 1.0, 4, bias=False)[0]) < 1e-3
    assert bool(fits.weight[0][:, 2].any())
    assert not fits.bias.any()


def test_without_bias() -> None:
    data = made()
    fits = fitted(data, bias=False)
    for at, c in enumerate(PENALTIES):
        assert distance(fits.weight[at], sklearn_fit(data, c, bias=False).coef_) < 1e-3
        assert plain_gradient(data, fits, at, c, bias=False) <= 1e-4
    assert not fits.bias.any()


@pytest.mark.parametrize("gold", [[1, 1, 1, 1, 1], [3, 0]], ids=["one slot", "two rows"])
def test_hardly_any_rows(gold: list[int]) -> None:
    n = len(gold)
    # Of some draws, such as 199, a fit comes to where float32 knows no way down before it has taken its ten steps.
    for seed in (0, 1, 199):
        states = torch.randn(n, 7, generator=torch.Generator().manual_seed(seed))
        fits = fitted(Data(states, torch.tensor(gold), torch.full((n,), 5)), [0.1, 100.0])
        assert bool(fits.converged.all()), seed
    assert torch.isfinite(fits.weight).all()
    assert torch.isfinite(fits.bias).all()
    if n == 5:
        # e^0 for the one slot that is ever right, 1/5 for each of the others.
        assert fits.bias[0].exp().tolist() == pytest.approx([0.2, 1, 0.2, 0.2, 0.2])
        assert fits.fit_losses.tolist() == [0, 0]


def test_rows_that_some_slots_alone_decide_have_no_optimum_and_end_all_the_same() -> None:
    """Slots 2 and 3 are right wherever they are there, so that their biases would grow for ever; W stays unique."""
    data = made(n=200, d=6)
    k = torch.where(data.gold < 2, 2, 4)
    fits = fitted(data._replace(k=k), [0.1])
    assert bool(fits.converged.all())
    assert torch.isfinite(fits.bias).all()
    assert plain_gradient(data._replace(k=k), fits, 0, 0.1) <= 1e-4


def test_fits_that_take_long_get_another_hessian(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made(n=600, d=60, n_slots=5, signal=0.5)
    calls = []
    made_by = exact_fits.BlockHessian.restarted
    monkeypatch.setattr(exact_fits.BlockHessian, "restarted", lambda self: calls.append(1) or made_by(self))
    fits = fitted(data, [1.0, 100.0, 1000.0])
    assert calls
    assert bool(fits.converged.all())
    for at, c in enumerate((1.0, 100.0, 1000.0)):
        assert distance(fits.weight[at], sklearn_fit(data, c).coef_) < 1e-3


def test_penalties_in_groups_are_the_same_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made()
    whole = fitted(data)
    monkeypatch.setattr(exact_fits, "_AT_ONCE", 1)
    apart = fitted(data)
    for at in range(len(PENALTIES)):
        assert distance(apart.weight[at], whole.weight[at].double().numpy().T) < 1e-3


@pytest.mark.parametrize("penalties", [[], [0.0, 1.0], [-1.0], [math.nan]])
def test_penalties_must_be_above_zero(penalties: list[float]) -> None:
    with pytest.raises(ConfigError, match=r"probe\.exact\.penalties"):
        fitted(made(), penalties)


def test_rows_must_have_their_right_slot() -> None:
    data = made()
    with pytest.raises(DataError, match="right slot"):
        fitted(data._replace(k=torch.full((400,), 2)))
    with pytest.raises(DataError, match="right slot"):
        fitted(data, n_slots=3)
    with pytest.raises(DataError, match="0 rows"):
        fit_selected(Rows(*(tensor[:0] for tensor in data)), Rows(*data), ExactGrid())
