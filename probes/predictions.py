"""`predictions.parquet`: what every probe says of every test row, from which all tables of probes can be made again.

Knows the columns, the file and what must hold between rows; nothing of how a probe came about or of any figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_parquet

PREDICTIONS_FILE = "predictions.parquet"
STUDY, BEST, LAYER, UNEMBEDDING = "study", "best", "layer", "unembedding"
"""Roles of a probe: at `probe.state`, on every condition; at the state chosen on the selection split, and at every
state, both on the condition that it was trained on; and the model's own label rows as a fixed probe."""

Array = NDArray[Any]


class Probed(NamedTuple):
    """One probe, read under one condition."""

    condition: str
    """That is read."""
    trained_on: str
    """Condition of the probe, or of the label rows."""
    role: str
    """`study`, `best`, `layer` or `unembedding`."""
    state: str


_ROW = ("item_id", "presentation")
KEY = (*Probed._fields, *_ROW)
"""Columns that identify a row, in the order in which the file is sorted."""
_TEXT, _SLOT = pa.string(), pa.int32()
_COLUMNS = {
    **dict.fromkeys(KEY, _TEXT),
    "group_id": _TEXT,
    "k": _SLOT,
    "gold_slot": _SLOT,
    "pred_slot": _SLOT,
    "correct": pa.bool_(),
    "gold_logprob": pa.float32(),
    "native_slot": _SLOT,
    "native_correct": pa.bool_(),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])
"""`gold_logprob` is the probe's natural log probability of the right slot, over the slots that the item has; minus
infinity where the probe has no such slot. `native_*` is the model's own readout under the condition that is read."""


@dataclass(frozen=True)
class Predictions:
    """All predictions on the same `n` rows, sorted by item and presentation."""

    item_id: Array
    """`[n]` strings."""
    presentation: Array
    """`[n]` strings."""
    group_id: Array
    """`[n]` strings."""
    k: NDArray[np.int64]
    """`[n]`"""
    gold: NDArray[np.int64]
    """`[n]` slots of the right answer."""
    native: dict[str, NDArray[np.int64]]
    """Condition -> `[n]` slots of the model's own readout."""
    probes: dict[Probed, NDArray[np.int64]]
    """`[n]` slots of each probe, by name of condition, probe, role and state."""

    def __len__(self) -> int:
        return len(self.item_id)

    def right(self, slots: Array) -> NDArray[np.bool_]:
        """Which of `slots` `[n]` hold the right answer."""
        return slots == self.gold

    def shown(self, presentation: str) -> Predictions:
        """The rows of one presentation."""
        return self.where(self.presentation == presentation)

    def where(self, rows: NDArray[np.bool_]) -> Predictions:
        """The rows for which the mask `[n]` holds."""
        return Predictions(
            self.item_id[rows],
            self.presentation[rows],
            self.group_id[rows],
            self.k[rows],
            self.gold[rows],
            {name: slots[rows] for name, slots in self.native.items()},
            {one: slots[rows] for one, slots in self.probes.items()},
        )


def write_predictions(folder: Path, tables: Sequence[pa.Table]) -> Path:
    """Check, sort and write rows in place of what was there; the file is there whole or not at all.

    Args:
        folder: of the run.
        tables: rows with `SCHEMA` in any order, such as those of several processes; the bytes do not depend on it.

    Raises:
        StoreError: rows that contradict each other or are missing, or a folder that cannot be written.
    """
    path = folder / PREDICTIONS_FILE
    table = _sorted(pa.concat_tables([table.cast(SCHEMA) for table in tables]))
    predictions_of(table, str(path))
    write_parquet(path, table)
    return path


def read_predictions(folder: Path) -> Predictions:
    """The predictions of a finished run.

    Raises:
        StoreError: the file is missing, damaged, of another version, or its rows contradict each other.
    """
    path = folder / PREDICTIONS_FILE
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist: give the folder of a finished run of probe=linear") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the same command again") from None
    if table.schema.names != SCHEMA.names:
        raise StoreError(
            f"{path} has the columns {', '.join(table.schema.names)}, which another version of thinkgap wrote: "
            "start a new folder with hydra.run.dir=..."
        )
    return predictions_of(table, str(path))


def predictions_of(table: pa.Table, where: str = "the predictions") -> Predictions:
    """Rows with `SCHEMA`, in any order, as predictions.

    Args:
        table: the rows.
        where: what messages call them.

    Raises:
        StoreError: no rows, a row that is there twice or is missing for some probe, rows of one item that differ in
            what the item is or what the model says, or a prediction that cannot be one; with its key.
    """
    if not len(table):
        raise StoreError(f"{where}: no rows; no probe was tested")
    table = _sorted(table)
    codes = {name: _codes(table, name) for name in KEY}
    first = np.zeros(len(table), dtype=bool)
    first[0] = True
    for name in Probed._fields:
        first[1:] |= codes[name][1:] != codes[name][:-1]
    starts = np.flatnonzero(first)
    probed = [Probed(*(table.column(name)[int(at)].as_py() for name in Probed._fields)) for at in starts]
    sizes = np.diff(starts, append=len(table))
    n = int(sizes[0])
    if (sizes != n).any():
        odd = int(np.flatnonzero(sizes != n)[0])
        raise StoreError(
            f"{where}: {n} rows of {_said(probed[0])}, but {sizes[odd]} of {_said(probed[odd])}; every probe reads "
            "the same test rows: delete the file and start the same command again"
        )
    found = _Checked(table, probed, n, where)
    found.refuse(codes["item_id"], codes["presentation"])
    item, shown, group = (np.asarray(table.column(name)[:n].to_pylist(), np.str_) for name in (*_ROW, "group_id"))
    k, gold, slots, native = (found.numbers(name) for name in ("k", "gold_slot", "pred_slot", "native_slot"))
    return Predictions(
        item,
        shown,
        group,
        k[0],
        gold[0],
        {one.condition: own for one, own in zip(probed, native, strict=True)},
        dict(zip(probed, slots, strict=True)),
    )


def _sorted(table: pa.Table) -> pa.Table:
    # In one chunk each, or the bytes of the file would tell in how many parts the rows came.
    return table.sort_by([(name, "ascending") for name in KEY]).combine_chunks()


def _codes(table: pa.Table, name: str) -> NDArray[np.int64]:
    """A text column as integers, equal for equal texts."""
    array = cast(Any, table.column(name).combine_chunks())
    return array.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _said(one: Probed) -> str:
    return f"the {one.role} probe of {one.trained_on} at {one.state} under {one.condition}"


@dataclass(frozen=True)
class _Checked:
    """Sorted rows, `n` to each probe."""

    table: pa.Table
    probed: Sequence[Probed]
    n: int
    where: str

    def numbers(self, name: str) -> Array:
        """A column as `[probed, n]`."""
        return self.table.column(name).to_numpy().astype(np.int64).reshape(-1, self.n)

    def refuse(self, items: NDArray[np.int64], shown: NDArray[np.int64]) -> None:
        """Raise for the first row that breaks a rule; `items` and `shown` are the coded keys of all rows."""
        items, shown = items.reshape(-1, self.n), shown.reshape(-1, self.n)
        twice = np.zeros(items.shape, dtype=bool)
        twice[:, 1:] = (items[:, 1:] == items[:, :-1]) & (shown[:, 1:] == shown[:, :-1])
        self._no(twice, "is there twice")
        self._no((items != items[0]) | (shown != shown[0]), "is not there for every probe")
        groups = _codes(self.table, "group_id").reshape(-1, self.n)
        k, gold, slot, native = (self.numbers(name) for name in ("k", "gold_slot", "pred_slot", "native_slot"))
        for name, values in (("group_id", groups), ("k", k), ("gold_slot", gold)):
            self._no(values != values[0], f"has another {name} than elsewhere")
        by_condition: dict[str, Array] = {}
        base = np.stack(
            [by_condition.setdefault(one.condition, own) for one, own in zip(self.probed, native, strict=True)]
        )
        self._no(native != base, "has another native_slot than elsewhere under that condition")
        for name, slots in (("gold_slot", gold), ("pred_slot", slot), ("native_slot", native)):
            self._no((slots < 0) | (slots >= k), f"has a {name} that the item lacks")
        self._no(self.numbers("correct") != (slot == gold), "is called right or wrong against its slots")
        self._no(self.numbers("native_correct") != (native == gold), "has a native_correct against its slots")
        logprob = self.table.column("gold_logprob").to_numpy().reshape(-1, self.n)
        # Rounding may put a certain answer above 0 by the spacing of float32.
        self._no(~(logprob <= 1e-6), "has a gold_logprob that is no log probability")

    def _no(self, broken: Array, what: str) -> None:
        if broken.any():
            number, row = (int(place) for place in np.argwhere(broken)[0])
            at = number * self.n + row
            item, presentation = (self.table.column(name)[at].as_py() for name in _ROW)
            raise StoreError(
                f"{self.where}: item {item!r} ({presentation}) of {_said(self.probed[number])} {what}; delete "
                "the file and start the same command again"
            )
