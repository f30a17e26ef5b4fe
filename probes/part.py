"""The rows of one role (fit, select or test) and their states: the same items and presentations under every condition.

Solvers, controls and tables see a `Part` and nothing else of a run. Knows no model, no file format and no probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thinkgap.errors import DataError


class StateReader(Protocol):
    """Where states are read from."""

    def __call__(self, rows: NDArray[np.int64], condition: str, names: Sequence[str], /) -> Tensor:
        """States `[n, S, d]` of `n` rows, in the stored number type."""
        ...


@dataclass(frozen=True)
class Part:
    """`n` rows; a row is an item in one presentation, and is there under every condition."""

    role: str
    """`fit`, `select` or `test`."""
    item_id: NDArray[Any]
    """`[n]` strings."""
    presentation: NDArray[Any]
    """`[n]` strings."""
    group_id: NDArray[Any]
    """`[n]` strings; rows of one group never stand in two roles."""
    k: Tensor
    """`[n]` int64: number of options."""
    gold: Tensor
    """`[n]` int64: slot of the right content in this presentation."""
    native: Mapping[str, NDArray[np.int64]]
    """Condition -> `[n]` slot that the model's own readout predicts."""
    names: tuple[str, ...]
    """States that are there, from the first layer to the last."""
    reader: StateReader
    source: NDArray[np.int64]
    """`[n]` numbers by which `reader` knows the rows."""

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def conditions(self) -> tuple[str, ...]:
        """In the run's order, Direct first."""
        return tuple(self.native)

    @property
    def n_questions(self) -> int:
        """Different items."""
        return len(set(self.item_id.tolist()))

    def states(self, condition: str, names: Sequence[str]) -> Tensor:
        """Float32 states `[n, S, d]`.

        Raises:
            DataError: a state that is not finite, with its item, condition and layer.
        """
        states = self.reader(self.source, condition, names).float()
        bad = ~torch.isfinite(states).all(-1)
        if bool(bad.any()):
            row, state = bad.nonzero()[0].tolist()
            raise DataError(
                f"state {names[state]} of item {self.item_id[row]} ({self.presentation[row]}), condition {condition}, "
                f"is not finite ({int(bad.any(-1).sum())} of {len(self)} {self.role} rows have such states): compute "
                "it in a wider type (model.dtype=float32, evaluation.capture.dtype=float32), or leave that state out "
                "with probe.states=[...]"
            )
        return states

    def state(self, condition: str, name: str) -> Tensor:
        """Float32 states `[n, d]` of one name; see `states`."""
        return self.states(condition, [name])[:, 0]

    def chosen(self, rows: NDArray[Any] | Sequence[int]) -> Part:
        """Some of the rows, by number or by a mask `[n]`."""
        places = np.arange(len(self))[np.asarray(rows if len(rows) else np.zeros(0, np.int64))]
        picked = torch.from_numpy(places)
        return replace(
            self,
            item_id=self.item_id[places],
            presentation=self.presentation[places],
            group_id=self.group_id[places],
            k=self.k[picked],
            gold=self.gold[picked],
            native={name: slots[places] for name, slots in self.native.items()},
            source=self.source[places],
        )

    def shown(self, presentation: str) -> Part:
        """The rows of one presentation."""
        return self.chosen(self.presentation == presentation)
