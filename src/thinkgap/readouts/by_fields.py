"""The native readout by fields of the items: `by_subject`, `by_subject_k`, ... by condition within each value."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet
from thinkgap.readouts.table import REFERENCE, condition_rows, counted
from thinkgap.store.item_fields import field_values, natural, sheet_name
from thinkgap.store.items import ITEMS_FILE

_NOTE = (
    "Over the same rows as the table of conditions. Difference: to {reference}, on the rows that both have, with the "
    "interval of the mean difference within rows. Intervals allow for items that share a "
    "group; of few rows they are wide."
)


def by_fields_sheet(
    records: pa.Table, items: pa.Table, by: Sequence[str], conditions: Sequence[str], reference: str = REFERENCE
) -> Sheet:
    """A row for each combination of values that occurs and each condition.

    Args:
        records: those of the native readout.
        items: rows of `items.parquet`.
        by: fields of the items.
        conditions: in the run's order.
        reference: condition that differences are taken to.

    Raises:
        ConfigError: a field that no item has.
        StoreError: a record of an item that is not known.
    """
    # A run of the native readout has one data set, so the id is enough.
    values = {item: found for (_, item), found in field_values(items, by).items()}
    frame = counted(records)
    if lacking := set(frame["item_id"]) - values.keys():
        raise StoreError(f"{ITEMS_FILE} lacks item {min(lacking)}; start the same command again")
    keys = [values[item] for item in frame["item_id"]]
    found: list[tuple[Cell, ...]] = []
    for key in sorted(set(keys), key=natural):
        part = frame.loc[[one == key for one in keys]].reset_index(drop=True)
        for row in condition_rows(part, conditions, reference):
            itself = row.condition == reference
            difference: Estimate | Missing = Missing("the reference itself" if itself else "no pair")
            if row.difference is not None:
                difference = row.difference.difference
            found.append(
                (
                    *key,
                    row.condition,
                    row.n,
                    row.accuracy,
                    difference,
                    row.first_slot,
                    row.gold_first,
                    row.mean_reciprocal_k,
                    row.label_mass,
                )
            )
    return Sheet(
        sheet_name(by),
        f"By {', '.join(by)}",
        (
            *(Column(name, name, "text") for name in by),
            Column("condition", "condition", "text"),
            Column("n", "n", "count"),
            Column("accuracy", "accuracy %", "percent"),
            Column("difference", f"difference to {reference}", "points"),
            Column("first_slot", "first slot %", "percent"),
            Column("gold_first", "gold first %", "percent"),
            Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
            Column("label_mass", "label mass", "mass"),
        ),
        tuple(found),
        (_NOTE.format(reference=reference),),
    )
