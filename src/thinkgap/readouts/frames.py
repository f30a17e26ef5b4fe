"""Rows of a run as a data frame: which of them a sheet takes, and how rows of two conditions are paired.

Knows the key of a record; nothing of figures or of how a sheet looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkgap.errors import StoreError
from thinkgap.readouts.sheet import by_condition
from thinkgap.store.records import KEY

if TYPE_CHECKING:
    import pandas as pd

OTHER = "_reference"
"""What the names of the reference's columns end in where rows are paired."""

_ROW = ["item_id", "presentation"]


def parts_of(
    frame: pd.DataFrame, readout: str, conditions: Sequence[str], presentation: str | None = None
) -> dict[str, pd.DataFrame]:
    """Rows of one readout by condition, in the run's order; conditions without rows are not there.

    Args:
        frame: records of one run.
        readout: whose rows.
        conditions: the run's order; others follow as they come.
        presentation: how the items were shown; None takes every way.

    Raises:
        StoreError: a key that occurs twice.
    """
    kept = frame["readout"].to_numpy() == readout
    if presentation is not None:
        kept &= frame["presentation"].to_numpy() == presentation
    rows = frame.loc[kept]
    repeated = rows.duplicated(list(KEY))
    if repeated.any():
        key = tuple(rows.loc[repeated, list(KEY)].iloc[0])
        raise StoreError(f"records for {key} occur twice; merge the shards of a run before making its sheets")
    parts = {str(name): part for name, part in rows.groupby("condition", sort=False)}
    return {name: parts[name] for name in by_condition(conditions, list(parts))}


def paired(part: pd.DataFrame, base: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Rows with one item and presentation in both: `columns` of `part`, those of `base` ending in `OTHER`, `group_id`.

    Rows that one side lacks are left out.
    """
    own = part[[*_ROW, "group_id", *columns]]
    return own.merge(base[[*_ROW, *columns]], on=_ROW, suffixes=("", OTHER), validate="one_to_one")
