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
from thinkgap.metrics import PairedDifference

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = "identity"
"""The presentation in the source's order, under which readouts are compared with each other."""


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


def joined(first: pd.DataFrame, second: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Rows of the same item and presentation: `group_id`, and each of `columns` as COLUMN_first and COLUMN_second."""
    key = ["item_id", "presentation"]
    left, right = first.filter([*key, "group_id", *columns]), second.filter([*key, *columns])
    return left.merge(right, on=key, suffixes=("_first", "_second"), validate="one_to_one")


def accuracy_difference(first: pd.DataFrame, second: pd.DataFrame) -> PairedDifference | None:
    """Accuracy of `second` minus that of `first` on the rows that both have; None if there are none."""
    both = joined(first, second, ["correct"])
    if not len(both):
        return None
    return metrics.paired_difference(values(both, "correct_first"), values(both, "correct_second"), groups_of(both))


def groups_of(frame: pd.DataFrame) -> NDArray[Any]:
    """Group of each row, shape [n], for the functions of `metrics`."""
    return np.asarray(frame["group_id"])


def values(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column as numbers, shape [n]."""
    return np.asarray(frame[column], dtype=np.float64)
