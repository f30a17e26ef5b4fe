"""The rows of a block of places as a bank reads them: all states in one tensor, standardised by the fit split alone.

Knows parts and places; nothing of heads and of how they are fitted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from probes.heads import Place
from probes.linear_probe import Standard
from probes.part import Part
from thinkgap.errors import DataError

_ROWS = 512
"""Rows read at a time, so that only a small piece of a block is ever there twice."""


@dataclass(frozen=True)
class BlockRows:
    """One part's rows at the `S` places of a block."""

    states: Tensor
    """`[S, n, d]`, float32, standardised; a place is contiguous, so that it is standardised and scored in one piece."""
    gold: Tensor
    """`[n]` int64."""
    k: Tensor
    """`[n]` int64."""

    def __len__(self) -> int:
        return len(self.gold)

    def to(self, device: torch.device) -> BlockRows:
        """The same on `device`; no copy if they are there."""
        return BlockRows(self.states.to(device), self.gold.to(device), self.k.to(device))


def read_rows(places: Sequence[Place], fit: Part, select: Part) -> tuple[BlockRows, BlockRows, list[Standard]]:
    """Fit rows, selection rows and the standard of each place, which is of the fit rows alone.

    Raises:
        DataError: a state that is not finite; see `Part.states`.
    """
    rows = [BlockRows(_raw(places, part), part.gold, part.k) for part in (fit, select)]
    standards = [Standard.of(states) for states in rows[0].states]
    for block in rows:
        for states, standard in zip(block.states, standards, strict=True):
            states.sub_(standard.mean).div_(standard.scale)
    return rows[0], rows[1], standards


def digest(fit: BlockRows, select: BlockRows, standards: Sequence[Standard]) -> str:
    """Tells one block's data from another's, by right slots, numbers of options, means and scales of both parts.

    The selection split counts too: the best epoch so far is the best on its rows alone.
    """
    # Of the standardised selection rows, which a mean and a scale tell apart as those of `standards` do the fit rows.
    chosen = [Standard.of(states) for states in select.states]
    found = hashlib.sha256()
    labels = [tensor for rows in (fit, select) for tensor in (rows.gold, rows.k)]
    for tensor in (*labels, *(tensor for one in (*standards, *chosen) for tensor in (one.mean, one.scale))):
        found.update(tensor.contiguous().numpy().tobytes())
    return found.hexdigest()


def _raw(places: Sequence[Place], part: Part) -> Tensor:
    """Float32 states `[S, n, d]`, each read once, the states of a condition together."""
    block: Tensor | None = None
    for condition, group in groupby(range(len(places)), key=lambda number: places[number].condition):
        numbers = list(group)
        names = [places[number].state for number in numbers]
        for start in range(0, len(part), _ROWS):
            chosen = range(start, min(start + _ROWS, len(part)))
            try:
                piece = part.chosen(chosen).states(condition, names)
            except DataError:
                part.states(condition, names)  # says the same of all rows, which is what a reader wants counted
                raise
            if block is None:
                block = torch.empty(len(places), len(part), piece.shape[-1])
            block[numbers, start : chosen.stop] = piece.transpose(0, 1)
    assert block is not None, "no place, or no row"
    return block
