"""What probes are fitted to in the benchmark of solvers: made-up hidden states, or those of a captured run.

States of a place are made or read when they are asked for. Knows no solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from thinkgap.errors import StoreError
from thinkgap.store.features import features_of_run


@dataclass(frozen=True)
class Place:
    """Rows at one condition and layer; every row has the same number of options."""

    name: str
    x: NDArray[np.float32]
    """`[n, d]`, standardised."""
    gold: NDArray[np.int64]
    """`[n]`"""
    x_test: NDArray[np.float32]
    """`[n_test, d]`, standardised by the statistics of `x`."""
    gold_test: NDArray[np.int64]
    n_slots: int


@dataclass(frozen=True)
class Places:
    """All places of a data set."""

    facts: dict[str, object]
    """What the result file says of the data."""
    names: tuple[str, ...]
    """Those of one condition together, from the first layer to the last."""
    depth: int
    """Places of one condition."""
    load: Callable[[int], Place]
    """The place of a number."""


@dataclass(frozen=True)
class Shape:
    """Size of made-up data."""

    layers: int = 30
    conditions: int = 6
    n: int = 5000
    n_test: int = 2000
    d: int = 576
    n_slots: int = 5
    power: float = 1.5
    """The i-th eigenvalue of the states' covariance is as i to minus this power. In SmolLM2-135M's states of 5,000
    simple facts it falls with the power 1.65 from the 10th to the 100th, and faster after that."""
    informative: int = 64
    """Directions in which the slots' means differ."""
    strength: float = 0.3
    """Standard deviation of the means at the last layer, in standard deviations of a direction; 0 at the first."""


def made_up(shape: Shape) -> Places:
    """Gaussian states with a power law of eigenvalues, and a signal that grows with depth."""

    def load(number: int) -> Place:
        layer = number % shape.layers
        draw = np.random.default_rng([0, number])
        values = np.arange(1, shape.d + 1) ** -shape.power
        axes = np.linalg.qr(draw.normal(size=(shape.d, shape.d)))[0]
        gold = draw.integers(0, shape.n_slots, shape.n + shape.n_test)
        means = np.zeros((shape.n_slots, shape.d))
        chosen = draw.permutation(shape.d)[: shape.informative]
        means[:, chosen] = draw.normal(size=(shape.n_slots, len(chosen)))
        means *= shape.strength * layer / max(1, shape.layers - 1)
        states = (draw.normal(size=(len(gold), shape.d)) + means[gold]) * np.sqrt(values)
        return _place(names[number], (states @ axes.T).astype(np.float32), gold, shape.n, shape.n_slots)

    names = tuple(f"condition_{c} layer_{layer}" for c in range(shape.conditions) for layer in range(shape.layers))
    return Places({"data": "made up", **vars(shape)}, names, shape.layers, load)


def captured(run: Path) -> Places:
    """States of a finished run, rows of its commonest number of options, five groups of seven to fit and two to test.

    Rows with two options are left out: scikit-learn fits one vector for them, under another penalty.

    Raises:
        StoreError: no such run, or one without states of items with three options or more.
    """
    held = features_of_run(run)
    rows = held.rows.to_pandas()
    sizes = Counter(k for k in rows["k"].tolist() if k > 2)
    if not sizes:
        raise StoreError(f"{run} has no items with three options or more: give another run")
    n_slots = sizes.most_common(1)[0][0]
    conditions = list(dict.fromkeys(rows["condition"]))
    groups = sorted(set(rows["group_id"]))
    fit_groups = {group for number, group in enumerate(groups) if number % 7 < 5}
    names = tuple(f"{condition} {state}" for condition in conditions for state in held.names)

    def load(number: int) -> Place:
        condition, state = divmod(number, len(held.names))
        mask = ((rows["condition"] == conditions[condition]) & (rows["k"] == n_slots)).to_numpy()
        fits = rows["group_id"].isin(fit_groups).to_numpy() & mask
        order = np.concatenate([fits.nonzero()[0], (mask & ~fits).nonzero()[0]])
        states = held.states[torch.from_numpy(order), state].float().numpy()
        return _place(names[number], states, rows["gold_slot"].to_numpy(np.int64)[order], int(fits.sum()), n_slots)

    first = load(0)
    facts = {"data": "captured", "n": len(first.x), "n_test": len(first.x_test), "d": first.x.shape[1]}
    return Places(
        {**facts, "n_slots": n_slots, "states": len(held.names), "conditions": len(conditions)},
        names,
        len(held.names),
        load,
    )


def _place(name: str, states: NDArray[np.float32], gold: NDArray[np.int64], n: int, n_slots: int) -> Place:
    mean, deviation = states[:n].mean(0), states[:n].std(0)
    states = (states - mean) / np.where(deviation > 0, deviation, 1)
    return Place(name, states[:n], gold[:n], states[n:], gold[n:], n_slots)
