"""Rows of one role taken from runs, with their states found by prompt and never by place.

Knows rows and runs; who gets which item is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.part import Part
from probes.runs import Run
from thinkgap.errors import StoreError


@dataclass(frozen=True)
class RunReader:
    """States of `N` rows of some runs, copied from the memory maps when they are asked for."""

    runs: tuple[Run, ...]
    run_of: NDArray[np.int64]
    """`[N]` number of each row's run."""
    row_of: NDArray[np.int64]
    """`[N]` number of each row in its run."""

    def __call__(self, rows: NDArray[np.int64], condition: str, names: Sequence[str]) -> Tensor:
        """States `[n, S, d]` of `n` rows, in the stored number type."""
        pieces, places = [], []
        for number, run in enumerate(self.runs):
            at = np.flatnonzero(self.run_of[rows] == number)
            prompts = run.prompts[condition][self.row_of[rows[at]]].astype(str)
            pieces.append(run.features.states(prompts.tolist(), names))
            places.append(at)
        order = np.argsort(np.concatenate(places))
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)[torch.from_numpy(order)]


def take_part(
    role: str,
    runs: Sequence[Run],
    items: Sequence[Collection[str]],
    shown: Callable[[str], bool],
    conditions: Sequence[str],
    names: Sequence[str],
) -> Part:
    """The rows of some items of some runs.

    Args:
        role: `fit`, `select` or `test`.
        runs: in the order in which their rows stand.
        items: of each run, the ids of its items that are meant.
        shown: whether a presentation of that name is meant.
        conditions: in their order.
        names: of the states that can be read, from the first layer to the last.
    """
    taken = [
        np.flatnonzero(run.rows["item_id"].isin(list(own)) & run.rows["presentation"].map(shown).astype(bool))
        for run, own in zip(runs, items, strict=True)
    ]
    rows = pd.concat([run.rows.iloc[places] for run, places in zip(runs, taken, strict=True)])
    run_of = np.repeat(np.arange(len(runs)), [len(places) for places in taken])
    reader = RunReader(tuple(runs), run_of, np.concatenate(taken))
    return Part(
        role,
        rows["item_id"].to_numpy(str),
        rows["presentation"].to_numpy(str),
        rows["group_id"].to_numpy(str),
        torch.from_numpy(rows["k"].to_numpy(np.int64)),
        torch.from_numpy(rows["gold_slot"].to_numpy(np.int64)),
        {name: _native(reader, name) for name in conditions},
        tuple(names),
        reader,
        np.arange(len(rows)),
    )


def reader_of(part: Part) -> RunReader:
    """The reader of a part that `take_part` made."""
    assert isinstance(part.reader, RunReader)
    return part.reader


def read_from(part: Part, runs: Sequence[Run]) -> Part:
    """The same rows of a part as other runs of the same prompts have them.

    Args:
        part: of `take_part`.
        runs: one for each of its runs, in their order.

    Raises:
        StoreError: a row that a run does not have, or has with another right slot.
    """
    reader = reader_of(part)
    row_of = np.zeros_like(reader.row_of)
    for number, (old, new) in enumerate(zip(reader.runs, runs, strict=True)):
        at = np.flatnonzero(reader.run_of == number)
        key = ["item_id", "presentation"]
        wanted = old.rows.iloc[reader.row_of[at]]
        found = new.rows.set_index(key).index.get_indexer(wanted.set_index(key).index)
        same = found >= 0
        same[same] = new.rows["gold_slot"].to_numpy()[found[same]] == wanted["gold_slot"].to_numpy()[same]
        if not same.all():
            first = wanted.iloc[int(np.argmin(same))]
            raise StoreError(
                f"{new.folder} shows not the rows of {old.folder}: item {first['item_id']} ({first['presentation']}) "
                "is missing or has another order"
            )
        row_of[at] = found
    own = RunReader(tuple(runs), reader.run_of, row_of)
    return replace(part, native={name: _native(own, name)[part.source] for name in part.conditions}, reader=own)


def _native(reader: RunReader, condition: str) -> NDArray[np.int64]:
    """`[N]` slots that the model's own readout predicts."""
    slots = np.zeros_like(reader.row_of)
    for number, run in enumerate(reader.runs):
        at = reader.run_of == number
        slots[at] = run.native[condition][reader.row_of[at]]
    return slots
