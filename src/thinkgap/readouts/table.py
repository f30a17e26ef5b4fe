"""From the records of a run to its table: one row per condition, then per number of options and condition.

The same functions serve the run itself and `python -m analysis.table`, so both print the same text. Knows records and
metrics; how a table is laid out is `readouts.table_text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thinkgap import metrics
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.metrics.intervals import MISSING
from thinkgap.presentation_names import is_order
from thinkgap.store.records import KEY, RecordFacts, facts_of, read_run, to_table
from thinkgap.types import Record

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "direct"
"""Condition that differences are taken to unless the caller names another."""

_COLUMNS = [*KEY, "group_id", "k", "gold_slot", "pred_slot", "correct", "tied", "label_mass"]


@dataclass(frozen=True)
class Row:
    """Figures of one condition, over all records or over those with `k` options. Shares are in [0, 1]."""

    condition: str
    k: int | None
    """Number of options; None over all."""
    n: int
    """Records: an item counts once per presentation."""
    n_groups: int
    """Groups among them; below `n`, intervals are clustered."""
    accuracy: Estimate
    difference: PairedDifference | None
    """To the reference, on the rows that both have; None for the reference itself and where there is no pair."""
    only_here: int
    """Rows of this condition without a partner under the reference: not in `difference`."""
    only_reference: int
    """Rows of the reference without a partner here."""
    first_slot: Estimate
    gold_first: Estimate
    mean_reciprocal_k: float
    label_mass: Estimate
    """Mean full-vocabulary probability of all labels together (study A, table 3: answer mass)."""
    tied: int
    """Records whose two most probable labels were exactly equal."""


@dataclass(frozen=True)
class Table:
    """The figures of one run and readout."""

    title: str
    readout: str
    reference: str
    rows: tuple[Row, ...]
    """Over all records, in the order of conditions."""
    rows_by_k: tuple[Row, ...]
    """By number of options, then condition."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Items that were not asked: reason -> number."""

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """Every row, those over all records first."""
        return (*self.rows, *self.rows_by_k)


def make_table(
    records: Sequence[Record] | pa.Table,
    conditions: Sequence[str] | None = None,
    *,
    reference: str = REFERENCE,
    title: str = "",
    excluded: Mapping[str, int] | None = None,
) -> Table:
    """Figures of the records of one run and one readout, over identity and the other orders of the options.

    Args:
        records: Records, or a table with their columns.
        conditions: Order of the rows; conditions without records get a row without figures. None is the reference,
            then the others as they first appear. Conditions missing here follow in that order.
        reference: Condition to take paired differences to.
        title: Heading.
        excluded: Items that were not asked: reason -> number.

    Raises:
        StoreError: No records, more than one readout, or a key that occurs twice.
    """
    frame = counted(records)
    readouts = frame["readout"].unique().tolist()
    if len(readouts) != 1:
        found = f"records of the readouts {', '.join(map(str, readouts))}" if readouts else "no records"
        raise StoreError(f"a table needs records of exactly one readout; there are {found}")
    repeated = frame.duplicated(list(KEY))
    if repeated.any():
        key = tuple(frame.loc[repeated, list(KEY)].iloc[0])
        raise StoreError(f"records for {key} occur twice; merge the shards of a run before making its table")
    present = frame["condition"].unique().tolist()
    wanted = conditions or [name for name in (reference,) if name in present]
    order = list(dict.fromkeys([*wanted, *present]))
    parts = [(int(str(k)), part) for k, part in frame.groupby("k", sort=True)]
    by_k = [row for k, part in parts for row in condition_rows(part, order, reference, k)]
    return Table(
        title=title,
        readout=str(readouts[0]),
        reference=reference,
        rows=tuple(condition_rows(frame, order, reference)),
        rows_by_k=tuple(by_k),
        excluded=dict(excluded or {}),
    )


def tables_of_run(run_dir: Path | str) -> list[Table]:
    """The tables of a finished run, one per readout, from its records.parquet alone.

    Raises:
        StoreError: The folder holds no finished run.
    """
    stored = read_run(run_dir)
    facts: RecordFacts = facts_of(stored)
    readouts = stored.column("readout").to_numpy()
    return [
        make_table(
            stored.filter(pa.array(readouts == readout)),
            facts.conditions,
            reference=facts.reference or REFERENCE,
            title=facts.title,
            excluded=facts.excluded,
        )
        for readout in dict.fromkeys(readouts)
    ]


def counted(records: Sequence[Record] | pa.Table) -> pd.DataFrame:
    """The records that count in the tables of conditions: the source's order and other orders of whole items."""
    table = to_table(records) if isinstance(records, Sequence) else records
    frame = table.select(_COLUMNS).to_pandas()
    # Other letters and controls are measured beside the orders, and have tables of their own.
    frame = frame.loc[[is_order(name) for name in frame["presentation"]]].reset_index(drop=True)
    # Integers instead of texts: pairing and grouping sort them many times.
    frame["row"] = frame.groupby(["item_id", "presentation"], sort=False).ngroup()
    frame["group"] = frame.groupby("group_id", sort=False).ngroup()
    return frame


def condition_rows(
    frame: pd.DataFrame, order: Sequence[str], reference: str = REFERENCE, k: int | None = None
) -> list[Row]:
    """A row for each condition.

    Args:
        frame: rows of one readout, as `counted` gives them.
        order: of the conditions.
        reference: condition to take paired differences to.
        k: number of options of these rows, for the rows to say so; None is any.
    """
    parts = {str(name): part for name, part in frame.groupby("condition", sort=False)}
    base = parts.get(reference)
    return [
        _row(name, k, part, None if name == reference else base)
        for name in order
        if (part := parts.get(name, frame.iloc[:0])) is not None and (len(part) or k is None)
    ]


def _row(condition: str, k: int | None, part: pd.DataFrame, base: pd.DataFrame | None) -> Row:
    groups = part["group"].to_numpy()
    mass = part["label_mass"].to_numpy()
    difference, only_here, only_reference = _paired(part, base)
    return Row(
        condition=condition,
        k=k,
        n=len(part),
        n_groups=len(np.unique(groups)),
        accuracy=metrics.rate(part["correct"].to_numpy(), groups),
        difference=difference,
        only_here=only_here,
        only_reference=only_reference,
        first_slot=metrics.first_slot_rate(part["pred_slot"].to_numpy(), groups),
        gold_first=metrics.gold_first_rate(part["gold_slot"].to_numpy(), groups),
        mean_reciprocal_k=metrics.mean_reciprocal_k(part["k"].to_numpy()),
        # A mean over some of the rows would pass for one over all of them.
        label_mass=MISSING if np.isnan(mass).any() else metrics.mean(mass, groups),
        tied=int(part["tied"].to_numpy().sum()),
    )


def _paired(part: pd.DataFrame, base: pd.DataFrame | None) -> tuple[PairedDifference | None, int, int]:
    """The difference on rows with one item and presentation in both, and the numbers of rows left on each side."""
    if base is None:
        return None, 0, 0
    _, here, there = np.intersect1d(
        part["row"].to_numpy(), base["row"].to_numpy(), assume_unique=True, return_indices=True
    )
    left, right = len(part) - len(here), len(base) - len(there)
    if not len(here):
        return None, left, right
    first, second = base["correct"].to_numpy()[there], part["correct"].to_numpy()[here]
    return metrics.paired_difference(first, second, part["group"].to_numpy()[here]), left, right
