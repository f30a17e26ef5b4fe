"""Multinomial logistic regression with an L2 penalty, for all values of C at once, in float32.

The objective is scikit-learn's; `docs/probe_exact.md`. Knows no place, no selection and no run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from probes.exact_hessian import BlockHessian, MeanHessian
from probes.exact_rows import TurnedRows, residuals
from probes.exact_steps import Solved, minimise
from probes.linear_probe import cross_entropy
from thinkgap.errors import ConfigError, DataError

_AT_ONCE = 1 << 24
"""Logits of all fits that are solved together: ten or so arrays of this many float32 are held at a time."""

_LEAST = 10
"""Steps that a fit with another fit's Hessian takes before it can have settled: if that one bends more than its own,
the first step is too short to say how far the optimum is."""


@dataclass(frozen=True)
class ExactFits:
    """Fits of the same rows under `P` penalties, in the order in which these were given."""

    weight: Tensor
    """`[P, d, K]`, float32."""
    bias: Tensor
    """`[P, K]`, float32; 0 where none was fitted."""
    gradients: Tensor
    """`[P]`, float64: largest entry of the gradient of the mean loss per row with its penalty, computed anew from the
    features as they were given."""
    iterations: Tensor
    """`[P]` int64."""
    fit_losses: Tensor
    """`[P]`, float64: mean cross-entropy in nats, without the penalty."""
    converged: Tensor
    """`[P]` bool: the gradient is within the tolerance and the weights have settled."""


def fit_exact(
    x: Tensor,
    gold: Tensor,
    k: Tensor,
    n_slots: int,
    penalties: Sequence[float],
    *,
    bias: bool = True,
    tolerance: float,
    max_iterations: int,
) -> ExactFits:
    """Minimise the summed cross-entropy plus the squared weights over 2C, for each C.

    Slots at `k` and above are left out of a row's softmax. With a bias, a slot that is right in no row has no optimum:
    its bias would fall for ever. It is left out of the fit, as scikit-learn leaves out a class that does not occur; it
    gets no weights, and a bias with which its probability is at most 1/n in every row.

    Args:
        x: `[n, d]`, standardised.
        gold: `[n]` int64, right slots.
        k: `[n]` int64, numbers of options.
        n_slots: K, of the weights that are returned.
        penalties: values of C, at least one.
        bias: whether there is one; it has no penalty.
        tolerance: length of the whole gradient of the mean loss per row at which a fit may end, so that no entry is
            larger. Float32 products reach about 1e-7.
        max_iterations: after which a fit ends as it is.

    Raises:
        ConfigError: a C that is not above 0, or none.
        DataError: no rows, or a right slot that is not there.
    """
    n, d = x.shape
    if not penalties or not min(penalties) > 0:
        raise ConfigError(f"probe.exact.penalties must be numbers above 0, not {list(penalties)}")
    if not n or bool((gold >= k.clamp(max=n_slots)).any()):
        raise DataError(
            f"a linear probe needs rows whose right slot is one of their own and of {n_slots}; found {n} rows"
        )
    x = x.float()
    # Without a bias every slot that some row has has an optimum, and takes part.
    fitted = gold.unique() if bias else torch.arange(min(n_slots, int(k.max())))
    own, present = torch.searchsorted(fitted, gold), fitted[:, None] < k
    rows = TurnedRows(x, own, None if bool(present.all()) else present, len(fitted), bias=bias)
    left_out = [slot for slot in range(n_slots) if slot not in fitted.tolist()] if bias else []
    found = ExactFits(
        torch.zeros(len(penalties), d, n_slots),
        torch.zeros(len(penalties), n_slots),
        *(torch.zeros(len(penalties), dtype=kind) for kind in (torch.float64, torch.int64, torch.float64, torch.bool)),
    )
    strengths = 1 / (n * torch.tensor(penalties, dtype=torch.float64))
    start = torch.zeros(1, len(fitted) - 1, rows.n_directions + bias)
    for group in strengths.argsort(descending=True, stable=True).split(max(1, _AT_ONCE // (n * len(fitted)))):
        ridge = strengths[group].float()[:, None, None].repeat(1, 1, start.shape[-1])
        ridge[..., rows.n_directions :] = 0
        start = start.repeat(len(group), 1, 1)
        solved = _solve(rows, ridge, start, tolerance, max_iterations)
        # The weakest penalty of a group is where the next group starts.
        start = solved.solution[-1:]
        weight, biases = rows.weights(solved.solution)
        logits = rows.none + logits_of(x, weight, biases)
        found.weight[group[:, None], :, fitted] = weight.mT
        found.bias[group[:, None], fitted] = biases
        found.bias[group[:, None], left_out] = (logits.amax(1).amin(1) - math.log(n))[:, None]
        found.gradients[group] = _largest(rows, x, logits, weight, strengths[group], bias)
        found.iterations[group], found.converged[group] = solved.iterations, solved.settled
        found.fit_losses[group] = cross_entropy(logits.mT, own).double().mean(1)
    return found


def _solve(rows: TurnedRows, ridge: Tensor, start: Tensor, tolerance: float, max_iterations: int) -> Solved:
    """All fits together with a Hessian that costs nothing; then those that take long, one by one with a better one."""
    patience = max(32, rows.n_directions // 9)
    together = min(patience, max_iterations)
    solved = minimise(rows, ridge, start, MeanHessian(rows), tolerance=tolerance, max_iterations=together)
    if together == max_iterations:
        return solved
    hessian, before = BlockHessian(rows, patience), None
    for at in (~solved.settled).nonzero()[:, 0].tolist():
        own, strength = solved.solution[at : at + 1], ridge[at : at + 1]
        if before is not None and rows.objective(strength, before) < rows.objective(strength, own):
            own = before
        alone = minimise(
            rows, strength, own, hessian.restarted(),
            tolerance=tolerance, max_iterations=max_iterations - together, least=_LEAST,
        )  # fmt: skip
        before = alone.solution
        solved.solution[at], solved.settled[at] = alone.solution[0], alone.settled[0]
        solved.iterations[at] += alone.iterations[0]
    return solved


def logits_of(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`[P, K, n]` of `x` `[n, d]` with weights `[P, d, K]` and biases `[P, K]`."""
    n_fits, _, n_slots = weight.shape
    return (weight.mT.flatten(0, 1) @ x.T).view(n_fits, n_slots, len(x)).add_(bias[..., None])


def _largest(rows: TurnedRows, x: Tensor, logits: Tensor, weight: Tensor, strengths: Tensor, bias: bool) -> Tensor:
    """Largest entry `[P]` of the gradient of the mean loss with its penalty, in the features as they came."""
    wrong = residuals(logits, rows.right)[1]
    of_weights = (wrong.flatten(0, 1) @ x / len(x)).view(weight.mT.shape).double() + strengths[
        :, None, None
    ] * weight.mT
    largest = of_weights.abs().amax((1, 2))
    return torch.maximum(largest, wrong.double().mean(2).abs().amax(1)) if bias else largest
