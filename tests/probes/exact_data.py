"""Rows with known structure, and plain ways to fit them, for the tests of the exact solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from probes.exact import ExactFits, fit_exact
from probes.linear_probe import cross_entropy, mask_absent

PENALTIES = (10.0, 1e-3, 100.0, 0.1)


class Data(NamedTuple):
    x: Tensor
    gold: Tensor
    k: Tensor


def made(
    n: int = 400, d: int = 20, n_slots: int = 4, signal: float = 0.7, sizes: Sequence[int] | None = None, seed: int = 0
) -> Data:
    """Standardised rows with a decaying spectrum, in which the right slot has a mean of its own."""
    rng = np.random.default_rng(seed)
    k = np.full(n, n_slots) if sizes is None else rng.choice(np.asarray(sizes), n)
    gold = rng.integers(0, 10**6, n) % k
    scale = 1 / np.sqrt(np.arange(1, d + 1))
    x = (rng.normal(size=(n, d)) + signal * rng.normal(size=(n_slots, d))[gold]) * scale
    x = x @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    x = (x - x.mean(0)) / x.std(0)
    return Data(torch.from_numpy(x).float(), torch.from_numpy(gold), torch.from_numpy(k))


def fitted(
    data: Data, penalties: Sequence[float] = PENALTIES, n_slots: int | None = None, **settings: float
) -> ExactFits:
    given = {"tolerance": 1e-4, "max_iterations": 1000} | settings
    return fit_exact(*data, int(data.k.max()) if n_slots is None else n_slots, penalties, **given)  # type: ignore[arg-type]


def sklearn_fit(data: Data, c: float, bias: bool = True) -> LogisticRegression:
    model = LogisticRegression(C=c, tol=1e-10, max_iter=100_000, fit_intercept=bias)
    return model.fit(data.x.double().numpy(), data.gold.numpy())


def distance(found: Tensor, expected: NDArray[np.float64]) -> float:
    """Frobenius, relative to the expected weights; found is `[d, K]`, expected `[K, d]`."""
    return float(np.linalg.norm(found.double().numpy().T - expected) / np.linalg.norm(expected))


def plain(data: Data, c: float, n_slots: int, bias: bool = True) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights `[K, d]` and bias `[K]` that minimise the masked objective, as written, in float64."""
    x, d = data.x.double(), data.x.shape[1]

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        parameters = torch.from_numpy(flat.copy()).requires_grad_()
        weight, biases = parameters[: n_slots * d].view(n_slots, d), parameters[n_slots * d :]
        logits = mask_absent(x @ weight.T + (biases if bias else 0.0), data.k)
        loss = cross_entropy(logits, data.gold).sum() + weight.square().sum() / (2 * c)
        loss.backward()
        assert parameters.grad is not None
        return float(loss.detach()), parameters.grad.numpy()

    settings = {"maxiter": 50_000, "maxfun": 100_000, "gtol": 1e-9, "ftol": 1e-15, "maxcor": 50}
    best = minimize(objective, np.zeros(n_slots * (d + 1)), jac=True, method="L-BFGS-B", options=settings).x
    return best[: n_slots * d].reshape(n_slots, d), best[n_slots * d :]


def plain_gradient(data: Data, fits: ExactFits, at: int, c: float, bias: bool = True) -> float:
    """Largest entry of the gradient of the mean loss, from its definition, in float64."""
    x, n, n_slots = data.x.double(), len(data.x), fits.bias.shape[1]
    logits = mask_absent(x @ fits.weight[at].double() + fits.bias[at].double(), data.k)
    wrong = logits.softmax(-1) - torch.nn.functional.one_hot(data.gold, n_slots)
    of_weights = x.T @ wrong / n + fits.weight[at].double() / (c * n)
    return max(float(of_weights.abs().max()), float(wrong.mean(0).abs().max()) if bias else 0.0)
