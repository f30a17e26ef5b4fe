"""Records as a data frame, the rows of one readout in it, and rows of two of them joined by item.

What every sheet begins with. Computes no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.errors import StoreError
from thinkgap.metrics import PairedDifference
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import by_condition
from thinkgap.store.records import KEY

if TYPE_CHECKING:
    import pandas as pd

NATIVE, GENERATION, ALIGNED = "native", "generation", "aligned"
"""Readouts: the label at the next token, the answer that the reply states, the label after the reply."""

OTHER = "_reference"
"""What the names of the other side's columns end in where rows are paired."""

_ROW = ["item_id", "presentation"]


def frame_of(records: pa.Table) -> pd.DataFrame:
    """All columns of the records of a run."""
    return records.to_pandas()


def rows_of(
    frame: pd.DataFrame, readout: str, condition: str | None = None, presentation: str | None = IDENTITY
) -> pd.DataFrame:
    """Rows of one readout; None for a condition or a presentation takes all of them."""
    chosen = frame["readout"] == readout
    if condition is not None:
        chosen &= frame["condition"] == condition
    if presentation is not None:
        chosen &= frame["presentation"] == presentation
    return where(frame, chosen)


def where(frame: pd.DataFrame, chosen: Any) -> pd.DataFrame:
    """The rows of `frame` for which `chosen` holds."""
    return cast("pd.DataFrame", frame[chosen])


def has(frame: pd.DataFrame, readout: str) -> bool:
    """Whether a run has records of a readout."""
    return bool((frame["readout"] == readout).any())


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
    own = part.filter([*_ROW, "group_id", *columns])
    return own.merge(base.filter([*_ROW, *columns]), on=_ROW, suffixes=("", OTHER), validate="one_to_one")


def accuracy_difference(first: pd.DataFrame, second: pd.DataFrame) -> PairedDifference | None:
    """Accuracy of `second` minus that of `first` on the rows that both have; None if there are none."""
    both = paired(second, first, ["correct"])
    if not len(both):
        return None
    return metrics.paired_difference(values(both, f"correct{OTHER}"), values(both, "correct"), groups_of(both))


def groups_of(frame: pd.DataFrame) -> NDArray[Any]:
    """Group of each row, shape [n], for the functions of `metrics`."""
    return np.asarray(frame["group_id"])


def values(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column as numbers, shape [n]."""
    return np.asarray(frame[column], dtype=np.float64)
