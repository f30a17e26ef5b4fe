"""Approximate Hessians of penalised fits, cheap to invert: what the first step of a quasi-Newton method is made with.

The Hessian is mean(A_i kron z_i z_i') plus the penalty, A_i = diag(p_i) - p_i p_i' in contrasts, i a row.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from probes.exact_rows import TurnedRows, upper_gram

_LEAST = 1e-9
"""Curvature below which a contrast counts as having this much: a step must stay finite where no row is in doubt."""
_NEGLIGIBLE = 1e-3
"""Share of the mean weight below which a row is left out of a weighted X'X."""
_JITTER = 1e-5
"""Added to a diagonal of ones, so that rounding errors leave a matrix positive definite."""


class Inverse(Protocol):
    """Times a gradient."""

    def __call__(self, gradient: Tensor, /) -> Tensor:
        """`[P, J, D]` of `[P, J, D]`."""
        ...


class Estimate(Protocol):
    """A way to approximate the Hessian at a point."""

    def __call__(self, probabilities: Tensor, ridge: Tensor, /) -> Inverse:
        """At probabilities `[P, K, n]` with the penalty's part `[P, 1, D]`."""
        ...


class MeanHessian:
    """mean(A_i) kron mean(z_i z_i'): as if a row's doubt had nothing to do with its state. Diagonal, up to J x J.

    The bound of Boehning (1992) has the largest possible A in place of the mean of A, far too much where fits are sure.
    """

    def __init__(self, rows: TurnedRows) -> None:
        self.rows = rows

    def __call__(self, probabilities: Tensor, ridge: Tensor, /) -> Inverse:
        """Of all fits at once; costs next to nothing, so it follows every step."""
        values, vectors = torch.linalg.eigh(self.rows.curvature(probabilities))
        bends = torch.addcmul(ridge, values.clamp_min(_LEAST)[..., None], self.rows.moments)
        return lambda gradient: vectors @ (vectors.mT @ gradient).div_(bends)


class BlockHessian:
    """mean(q_j'A_i q_j z_i z_i') for each eigenvector q_j of mean(A_i), and nothing between them.

    This knows which rows are in doubt, at the price of J weighted X'X. Which rows these are depends little on the
    penalty, so one computation serves several fits, and a fit that takes many steps gets its own.

    Args:
        rows: the data.
        patience: the number of these steps.
    """

    def __init__(self, rows: TurnedRows, patience: int) -> None:
        self.rows, self.patience, self.age = rows, patience, 0

    def restarted(self) -> BlockHessian:
        """For another fit."""
        self.age = 0
        return self

    def __call__(self, probabilities: Tensor, ridge: Tensor, /) -> Inverse:
        """Of one fit."""
        stale = not hasattr(self, "grams") or (self.age > 0 and self.age % self.patience == 0)
        if stale:
            self._weigh(probabilities[0])
        if stale or not self.age:
            self._factor(ridge[0, 0])
        self.age += 1
        return self._times

    def _weigh(self, probabilities: Tensor) -> None:
        rows = self.rows
        self.vectors = torch.linalg.eigh(rows.curvature(probabilities[None])[0])[1]
        slots = rows.contrasts @ self.vectors
        weights = slots.T.square() @ probabilities - (slots.T @ probabilities).square()
        size = rows.along.shape[1]
        self.grams = torch.empty(len(weights), size, size)
        for weight, gram in zip(weights, self.grams, strict=True):
            doubtful = weight > _NEGLIGIBLE * weight.mean()
            upper_gram(rows.along[doubtful].mul_((weight[doubtful] / len(rows)).sqrt_()[:, None]), out=gram)

    def _factor(self, ridge: Tensor) -> None:
        inverses, scales = [], []
        for gram in self.grams:
            diagonal = (gram.diagonal() + ridge).clamp_min_(_LEAST)
            # With a diagonal of ones the condition does not grow with the spectrum of the states.
            scale = diagonal.rsqrt()
            scaled = gram * scale * scale[:, None]
            scaled.diagonal().fill_(1 + _JITTER)
            inverses.append(torch.cholesky_inverse(torch.linalg.cholesky(scaled, upper=True), upper=True))
            scales.append(scale)
        self.inverses, self.scales = torch.stack(inverses), torch.stack(scales)

    def _times(self, gradient: Tensor, /) -> Tensor:
        turned = (self.vectors.T @ gradient[0]).mul_(self.scales)
        solved = (self.inverses @ turned[..., None])[..., 0].mul_(self.scales)
        return (self.vectors @ solved)[None]
