"""A quasi-Newton method (L-BFGS) for many penalised fits to the same rows at once, each with its own steps.

Every product with the data serves all fits that are not yet done. Knows `TurnedRows` and nothing of slots and states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from probes.exact_hessian import Estimate, Inverse
from probes.exact_rows import TurnedRows

SETTLED = 5e-4
"""How far weights may still go, as a share of their length, when a fit ends: by the step to come and by its last steps.

A gradient says little of weights that the data hardly determine: with C=100, weights can be 10% from the optimum at a
gradient of 1e-5. The last steps are one and a sixth of all, so that a fit that creeps is watched for longer.
"""
_PAIRS = 30
"""Pairs of steps and gradient changes that are remembered."""
_SLOPE = 0.4
"""A step is taken when the slope along it is at most this share of what it was at its start."""
_TRIALS = 12
"""Step lengths that are tried before rounding errors are taken to have the say."""


@dataclass
class Pairs:
    """The last steps s of each fit and the changes y of its gradient, from which the inverse Hessian is estimated.

    The two-loop recursion of Nocedal (1980), with its loops as two triangular systems in the products s'y, so that many
    pairs cost four matrix products and not two passes over a list.
    """

    steps: Tensor
    """`[P, m, N]`"""
    changes: Tensor
    """`[P, m, N]`"""
    products: Tensor
    """`[P, m, m]`, float64: s_i'y_j for i <= j."""
    count: int = 0

    @classmethod
    def none(cls, n_fits: int, size: int) -> Pairs:
        """For `n_fits` fits of `size` numbers."""
        # Memory that is never read is never touched, so short fits do not pay for it.
        return cls(
            torch.empty(n_fits, _PAIRS, size),
            torch.empty(n_fits, _PAIRS, size),
            torch.zeros(n_fits, _PAIRS, _PAIRS, dtype=torch.float64),
        )

    def times(self, gradient: Tensor, precondition: Inverse) -> Tensor:
        """The estimated inverse Hessian times `gradient` `[P, J, D]`; `precondition` is its first estimate."""
        if not self.count:
            return precondition(gradient)
        steps, changes = self.steps[:, : self.count], self.changes[:, : self.count]
        products = self.products[:, : self.count, : self.count]
        flat = gradient.reshape(len(gradient), -1, 1)
        newest_first = torch.linalg.solve_triangular(products, (steps @ flat).double(), upper=True)
        inner = precondition((flat - changes.mT @ newest_first.float()).view_as(gradient)).reshape(flat.shape)
        diagonal = products.diagonal(dim1=1, dim2=2)[..., None]
        oldest_first = torch.linalg.solve_triangular(
            products.mT, diagonal * newest_first - (changes @ inner).double(), upper=False
        )
        return (inner + steps.mT @ oldest_first.float()).view_as(gradient)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Remember `[P, J, D]` and `[P, J, D]`; a fit whose pair shows no curvature remembers nothing."""
        if self.count == _PAIRS:
            self.count //= 2
            for held in (self.steps, self.changes):
                held[:, : self.count] = held[:, -self.count :].clone()
            self.products[:, : self.count, : self.count] = self.products[:, -self.count :, -self.count :].clone()
        step, change = step.flatten(1), change.flatten(1)
        curved = (step * change).sum(1) > 0
        at = self.count
        self.steps[:, at] = step * curved[:, None]
        self.changes[:, at] = change * curved[:, None]
        self.products[:, : at + 1, at] = (self.steps[:, : at + 1] @ self.changes[:, at, :, None])[..., 0].double()
        self.products[~curved, at, at] = 1.0
        self.count += 1

    def moved(self, n_steps: int) -> Tensor:
        """Sum of the last steps, `[P, N]`."""
        return self.steps[:, max(0, self.count - n_steps) : self.count].sum(1)

    def kept(self, fits: Tensor) -> Pairs:
        """Those of some fits."""
        found = Pairs.none(int(fits.sum()), self.steps.shape[-1])
        found.count = self.count
        for held, own in ((found.steps, self.steps), (found.changes, self.changes), (found.products, self.products)):
            held[:, : self.count] = own[fits, : self.count]
        return found


@dataclass
class _Fits:
    """Where the fits that are not done stand."""

    number: Tensor
    """`[P]`: which of all fits each is."""
    ridge: Tensor
    """`[P, 1, D]`"""
    solution: Tensor
    """`[P, J, D]`"""
    loss_gradient: Tensor
    """`[P, J, D]`, without the penalty's."""
    logits: Tensor
    """`[P, K, n]`"""
    probabilities: Tensor
    """`[P, K, n]`"""
    stuck: Tensor
    """`[P]` bool: no step length was found."""

    def kept(self, fits: Tensor) -> _Fits:
        """Some of them."""
        return _Fits(*(getattr(self, field.name)[fits] for field in fields(self)))


@dataclass(frozen=True)
class Solved:
    """All fits."""

    solution: Tensor
    """`[P, J, D]`"""
    iterations: Tensor
    """`[P]` int64"""
    settled: Tensor
    """`[P]` bool: both conditions of the end were met."""


def minimise(
    rows: TurnedRows,
    ridge: Tensor,
    start: Tensor,
    estimate: Estimate,
    *,
    tolerance: float,
    max_iterations: int,
    least: int = 0,
) -> Solved:
    """Minimise mean cross-entropy + sum of `ridge` * solution^2 / 2 for each of `P` ridges.

    A fit ends when the whole gradient is no longer than `tolerance`, which bounds its largest entry in any basis, and
    the weights have settled (`SETTLED`).

    Args:
        rows: the data.
        ridge: `[P, 1, D]`.
        start: `[P, J, D]`.
        estimate: of the Hessian.
        tolerance: of the gradient.
        max_iterations: after which a fit ends as it is.
        least: steps before a fit can have settled.
    """
    n_fits, n_weights = len(start), rows.n_directions
    logits = rows.none + rows.project(start)
    probabilities, residuals = rows.residuals(logits)
    none_stuck = torch.zeros(n_fits, dtype=torch.bool)
    fits = _Fits(torch.arange(n_fits), ridge, start, rows.gradient(residuals), logits, probabilities, none_stuck)
    pairs = Pairs.none(n_fits, start[0].numel())
    found = Solved(torch.empty_like(start), torch.zeros(n_fits, dtype=torch.int64), none_stuck.clone())
    for iteration in range(max_iterations + 1):
        gradient = torch.addcmul(fits.loss_gradient, fits.ridge, fits.solution)
        step = pairs.times(gradient, estimate(fits.probabilities, fits.ridge)).neg_()
        last = pairs.moved(iteration // 6 + (iteration > 0)).view_as(step)
        way = _length(step[..., :n_weights]) + _length(last[..., :n_weights])
        settled = (way <= SETTLED * _length(fits.solution[..., :n_weights])) & (_length(gradient) <= tolerance)
        settled &= iteration >= least
        # A gradient far below what is asked for that no step makes smaller is as good as float32 gets.
        settled |= fits.stuck & (_length(gradient) <= tolerance / 100)
        done = settled | fits.stuck | (iteration == max_iterations)
        if bool(done.any()):
            ended = fits.number[done]
            found.solution[ended], found.iterations[ended] = fits.solution[done], iteration
            found.settled[ended] = settled[done]
            if bool(done.all()):
                break
            fits, pairs, step, gradient = fits.kept(~done), pairs.kept(~done), step[~done], gradient[~done]
        _advance(rows, fits, pairs, step, gradient)
    return found


def _advance(rows: TurnedRows, fits: _Fits, pairs: Pairs, step: Tensor, gradient: Tensor) -> None:
    """Go along `step` `[P, J, D]` as far as it is worth, and remember what was learned of the curvature."""
    towards = rows.project(step)
    start_slope = (gradient * step).sum((1, 2))
    penalty_slope, penalty_bend = (fits.ridge * fits.solution * step).sum((1, 2)), (fits.ridge * step**2).sum((1, 2))
    # Newton's method in one dimension, which costs no product with the data, held between lengths that are too short
    # and too long.
    length = (-start_slope / (rows.bend(fits.probabilities, towards) + penalty_bend)).clamp(max=2.0)
    low, high = torch.zeros_like(length), torch.full_like(length, math.inf)
    for trials_left in reversed(range(_TRIALS)):
        logits = torch.addcmul(fits.logits, towards, length[:, None, None])
        probabilities, wrong = rows.residuals(logits)
        slope = (wrong * towards).sum((1, 2)) / len(rows) + penalty_slope + length * penalty_bend
        unfit = slope.abs() > _SLOPE * start_slope.abs()
        if not trials_left or not bool(unfit.any()):
            # A fit that found no length stays where it is and ends.
            fits.stuck = unfit
            taken = torch.where(unfit, 0.0, length)[:, None, None] * step
            loss_gradient = rows.gradient(wrong)
            pairs.add(taken, loss_gradient - fits.loss_gradient + fits.ridge * taken)
            fits.solution = fits.solution + taken
            fits.loss_gradient, fits.logits, fits.probabilities = loss_gradient, logits, probabilities
            return
        low, high = torch.where(slope < 0, length, low), torch.where(slope > 0, length, high)
        guess = length - slope / (rows.bend(probabilities, towards) + penalty_bend)
        between = torch.where(high.isinf(), 4 * length, torch.where(low > 0, (low + high) / 2, high / 10))
        guess = torch.where((guess > low) & (guess < high) & (guess < 4 * length), guess, between)
        length = torch.where(unfit, guess, length)


def _length(vectors: Tensor) -> Tensor:
    """Euclidean, `[P]` of `[P, J, D]`."""
    return vectors.flatten(1).norm(dim=1)
