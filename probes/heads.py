"""What a solver is asked for and what it gives back: the same words for AdamW and for the exact solver.

A block is a fixed set of (condition, state) pairs that are fitted together. Blocks do not depend on how many processes
share them out, so no figure does. Knows no solver and no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from probes.linear_probe import LinearProbe
from probes.part import Part


class Place(NamedTuple):
    """Where a probe reads."""

    condition: str
    state: str


@dataclass(frozen=True)
class Setting:
    """One head of the bank at a place: what distinguishes it from its neighbours, and how it did."""

    name: str
    """`C=0.1`, or `lr=0.001 wd=0.1`."""
    select_accuracy: float
    """On the selection split, in [0, 1]."""
    select_loss: float
    """Mean cross-entropy on the selection split, in nats."""
    fit_loss: float
    """Mean cross-entropy on the fit split at the end of the fit, without any penalty, in nats."""
    epoch: int | None = None
    """Epoch whose weights were taken, from 1 (AdamW); None for the exact solver."""
    gradient: float | None = None
    """Largest entry of the gradient of the mean loss per row at the end (exact solver); None for AdamW."""
    iterations: int | None = None
    """Of the exact solver."""


@dataclass(frozen=True)
class Fitted:
    """The chosen probe of one place, and all settings that were tried there."""

    place: Place
    probe: LinearProbe
    chosen: int
    """Number of the chosen setting: highest selection accuracy, then lowest selection loss, then the first."""
    settings: tuple[Setting, ...]

    @property
    def setting(self) -> Setting:
        """The chosen one."""
        return self.settings[self.chosen]


def choose(settings: Sequence[Setting]) -> int:
    """Number of the setting with the highest selection accuracy; of equal ones the lowest loss, then the first."""
    order = sorted(range(len(settings)), key=lambda at: (-settings[at].select_accuracy, settings[at].select_loss, at))
    return order[0]


def blocks(conditions: Sequence[str], states: Sequence[str], n_rows: int, d: int, bytes_: int) -> list[list[Place]]:
    """All places in blocks, each of one condition, whose float32 states of `n_rows` fit into `bytes_`.

    A block holds at least one place. It depends on the data and the budget alone, not on the number of processes.
    """
    size = max(1, bytes_ // max(1, 4 * n_rows * d))
    places = [[Place(condition, state) for state in states] for condition in conditions]
    return [own[start : start + size] for own in places for start in range(0, len(own), size)]


def surest(settings: Sequence[Setting]) -> int:
    """Number of the setting with the lowest selection loss, the first of equal ones: for figures made of losses."""
    return min(range(len(settings)), key=lambda at: (settings[at].select_loss, at))


class Rows(NamedTuple):
    """What one probe is fitted or tested on."""

    states: Tensor
    """`[n, d]`, raw."""
    gold: Tensor
    """`[n]` int64 slots."""
    k: Tensor
    """`[n]` int64 numbers of options."""


class Fitter(Protocol):
    """A way to get one probe from its rows; `probes.exact.fit_selected` with its settings bound is one."""

    def __call__(self, fit: Rows, select: Rows, /) -> LinearProbe:
        """Fit on `fit` and choose settings on `select`."""
        ...


def rows_at(part: Part, condition: str, state: str) -> Rows:
    """All rows of a part at one place."""
    return Rows(part.state(condition, state), part.gold, part.k)
