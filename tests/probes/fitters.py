"""Ways to get a probe, and parts with known contents, for the tests of controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from probes.heads import Rows, Setting, choose
from probes.linear_probe import LinearProbe, Standard, cross_entropy
from probes.part import Part

RARE = -8.0
"""Bias of a slot that is right in no fitted row: a penalised fit makes it rare and not impossible."""


def logistic(fit: Rows, select: Rows) -> LinearProbe:
    """scikit-learn's logistic regression for rows of one number of options; C by the selection rows."""
    (k,) = set(fit.k.tolist())
    standard = Standard.of(fit.states)
    x, y = standard(fit.states).numpy(), fit.gold.numpy()
    probes, settings = [], []
    for c in (1e-3, 1e-1):
        model = LogisticRegression(C=c, max_iter=200).fit(x, y)
        weight, bias = torch.zeros(x.shape[1], k), torch.full((k,), RARE)
        # With two classes scikit-learn has the weights of the second alone.
        slots = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        bias[model.classes_] = 0.0
        weight[:, slots] = torch.from_numpy(model.coef_.T).float()
        bias[slots] = torch.from_numpy(model.intercept_).float()
        probe = LinearProbe(standard, weight, bias)
        right = (probe.slots(select.states, select.k) == select.gold).float().mean()
        select_loss, fit_loss = (
            float(cross_entropy(probe.logits(rows.states, rows.k), rows.gold).mean()) for rows in (select, fit)
        )
        probes.append(probe)
        settings.append(Setting(f"C={c}", float(right), select_loss, fit_loss))
    return probes[choose(settings)]


def named(*bias: float, d: int = 1) -> LinearProbe:
    """A probe whose logits are `bias` whatever the state."""
    return LinearProbe(Standard(torch.zeros(d), torch.ones(d)), torch.zeros(d, len(bias)), torch.tensor(bias))


def reads(k: int) -> LinearProbe:
    """A probe whose logits are the state itself, of `k` numbers."""
    return LinearProbe(Standard(torch.zeros(k), torch.ones(k)), torch.eye(k), torch.zeros(k))


@dataclass
class FixedFitter:
    """Gives the same probe for all rows, and keeps what it was asked for."""

    probe: LinearProbe
    asked: list[tuple[Rows, Rows]] = field(default_factory=list)

    def __call__(self, fit: Rows, select: Rows, /) -> LinearProbe:
        """The probe."""
        self.asked.append((fit, select))
        return self.probe


def hand_part(
    role: str,
    gold: Sequence[int],
    k: Sequence[int],
    states: ArrayLike | None = None,
    *,
    items: Sequence[str] | None = None,
    presentations: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> Part:
    """Rows of one condition `direct` and one state `final_norm`; by default the state is the number of the row."""
    n = len(gold)
    stored = torch.as_tensor(np.arange(n)[:, None] if states is None else np.asarray(states)).float()

    def read(source: NDArray[np.int64], condition: str, names: Sequence[str]) -> Tensor:
        assert (condition, list(names)) == ("direct", ["final_norm"])
        return stored[torch.from_numpy(source)][:, None]

    ids = np.array([f"{role}-{row}" for row in range(n)] if items is None else items)
    return Part(
        role,
        ids,
        np.array(["identity"] * n if presentations is None else presentations),
        ids if groups is None else np.array(groups),
        torch.tensor(k, dtype=torch.int64),
        torch.tensor(gold, dtype=torch.int64),
        {"direct": np.zeros(n, np.int64)},
        ("final_norm",),
        read,
        np.arange(n),
    )


def copies(role: str, n: int, *, seed: int, copies: int = 5, d: int = 24, noise: float = 0.5, prefix: str = "") -> Part:
    """Questions with a direction of their own and a random slot of four, in noisy copies: a state names its question.

    Only memory of the question can be right, as nothing that questions share says anything of the slot.
    """
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n, d)).repeat(copies, axis=0)
    gold = rng.integers(4, size=n).repeat(copies)
    names = [f"{prefix or role}-{row // copies}" for row in range(n * copies)]
    shown = ["identity" if row % copies == 0 else f"seed_{row % copies}" for row in range(n * copies)]
    states = own + noise * rng.normal(size=own.shape)
    return hand_part(role, gold.tolist(), [4] * len(gold), states, items=names, presentations=shown)
