"""The rows of exact fits, turned so that X'X is diagonal: logits, residuals, gradients, curvature of many fits at once.

A solution is `[P, J, D]` for `P` fits: slots are told apart by `J = K - 1` contrasts (softmax does not see what all
slots share, and the penalty makes it zero), features by `D` directions, the last of which is the bias. Knows no way of
fitting.
"""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK = 128
"""Columns of X'X computed at a time: only blocks on and above its diagonal are."""


_TINY = 1e-30
_NOTHING = 1e-18
"""Probability below which a slot's counts as 0. Their products would be denormal numbers, which are slow: fits of
separable rows take twice the time with them."""


class TurnedRows:
    """`n` rows of `d` standardised features, times the eigenvectors of X'X.

    Rounding errors of a column are then as small as the column, so that float32 products resolve directions in which
    the states hardly vary. And the approximate Hessian of `probes.exact_hessian.MeanHessian` is diagonal.

    Args:
        x: `[n, d]`, float32; centred columns make the bias nearly independent of the weights, nothing else needs them.
        gold: `[n]` int64, below K.
        present: `[K, n]` bool: slots that a row has; None if every row has all.
        n_slots: K, at least 2.
        bias: whether there is one.
    """

    def __init__(self, x: Tensor, gold: Tensor, present: Tensor | None, n_slots: int, *, bias: bool) -> None:
        n = len(x)
        self.basis = eigenvectors(x)
        """`[d, r]`, orthonormal; r is the smaller of n and d."""
        self.n_directions = self.basis.shape[1]
        """r, the directions that a penalty is on."""
        self.across = torch.empty(self.n_directions + bias, n)
        """`[D, n]`; the product of weights with this layout is twice as fast as with the other one."""
        torch.mm(self.basis.T, x.T, out=self.across[: self.n_directions])
        self.across[self.n_directions :] = 1.0
        self.along = self.across.T.contiguous()
        """`[n, D]`, the same numbers, for gradients."""
        self.moments = torch.linalg.vector_norm(self.across, dim=1).square() / n
        """`[D]`: mean square of each column."""
        # An orthonormal basis of the slots' differences.
        shared = torch.cat([torch.ones(n_slots, 1), torch.eye(n_slots)[:, 1:]], 1)
        self.contrasts = torch.linalg.qr(shared)[0][:, 1:].contiguous()
        self.right = torch.zeros(n_slots, n).scatter_(0, gold[None], 1.0)
        """`[K, n]`: 1 at the right slot, else 0."""
        self.none = torch.zeros(n_slots, n)
        """`[K, n]`: logits of a solution of zeros."""
        if present is not None:
            self.none.masked_fill_(~present, float("-inf"))

    def __len__(self) -> int:
        return self.across.shape[1]

    def project(self, solution: Tensor) -> Tensor:
        """What a solution `[P, J, D]` adds to the logits `[P, K, n]`."""
        return self.contrasts @ (solution.flatten(0, 1) @ self.across).unflatten(0, solution.shape[:2])

    def residuals(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """See `residuals`."""
        return residuals(logits, self.right)

    def gradient(self, residuals: Tensor) -> Tensor:
        """Of the mean cross-entropy, `[P, J, D]`, of residuals `[P, K, n]`."""
        contrasts = self.contrasts.T @ residuals
        return (contrasts.flatten(0, 1) @ self.along / len(self)).unflatten(0, contrasts.shape[:2])

    def bend(self, probabilities: Tensor, towards: Tensor) -> Tensor:
        """Second derivative `[P]` of the mean cross-entropy when the logits move along `towards` `[P, K, n]`."""
        mean = (probabilities * towards).sum(1, keepdim=True)
        return ((probabilities * (towards - mean).square_()).sum((1, 2)) / len(self)).clamp_min(_TINY)

    def curvature(self, probabilities: Tensor) -> Tensor:
        """Mean over rows of diag(p) - pp', in contrasts: `[P, J, J]` at probabilities `[P, K, n]`."""
        mean = -(probabilities @ probabilities.mT) / len(self)
        mean.diagonal(dim1=1, dim2=2).add_(probabilities.mean(2))
        return self.contrasts.T @ mean @ self.contrasts

    def objective(self, ridge: Tensor, solution: Tensor) -> Tensor:
        """Mean cross-entropy plus penalty, `[P]`, float64."""
        logits = (self.none + self.project(solution)).double()
        right = (logits * self.right).nansum(1)
        return (logits.logsumexp(1) - right).mean(1) + (ridge.double() * solution.double() ** 2).sum((1, 2)) / 2

    def weights(self, solution: Tensor) -> tuple[Tensor, Tensor]:
        """Weights `[P, d, K]` on the features as they came, and biases `[P, K]`, whose sums over slots are 0."""
        slots = self.contrasts @ solution
        weight = self.basis @ slots[..., : self.n_directions].mT
        if slots.shape[-1] == self.n_directions:
            return weight, torch.zeros_like(slots[..., 0])
        return weight, slots[..., -1]


def residuals(logits: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities `[P, K, n]` of logits, and the same minus `right` `[K, n]`, which is 1 at the right slot, else 0.

    The right slot's residual is minus the sum of the others': 1 - p loses all digits where a fit is sure.
    """
    probabilities = torch.threshold_(logits.softmax(1), _NOTHING, 0.0)
    wrong = torch.addcmul(probabilities, probabilities, right, value=-1)
    return probabilities, torch.addcmul(wrong, wrong.sum(1, keepdim=True), right, value=-1)


def eigenvectors(x: Tensor) -> Tensor:
    """Of X'X for `x` `[n, d]`: `[d, r]`, orthonormal, r the smaller of n and d; they span the rows of X.

    Any orthonormal basis gives the same fit; this one makes it short.
    """
    n, d = x.shape
    if n < d:
        return torch.linalg.svd(x.double(), full_matrices=False)[2].T.float()
    return torch.linalg.eigh(upper_gram(x).double(), UPLO="U")[1].float()


def upper_gram(x: Tensor, out: Tensor | None = None) -> Tensor:
    """X'X `[d, d]` of `x` `[n, d]`, on and above the diagonal; what is below it is left as it comes."""
    d = x.shape[1]
    gram = torch.empty(d, d) if out is None else out
    for start in range(0, d, _BLOCK):
        gram[start : start + _BLOCK, start:] = x[:, start : start + _BLOCK].T @ x[:, start:]
    return gram
