"""Side tables of a run: what one readout knows of an item beyond the columns that all records have.

Keyed as records are. `replies.parquet` holds generated texts, `likelihoods.parquet` the scores of option strings; what
their columns mean is in `docs/records.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_parquet

if TYPE_CHECKING:
    import pandas as pd

REPLIES = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("presentation", pa.string(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("prompt_sha256", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("n_tokens", pa.int32(), nullable=False),
        pa.field("finish", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("answer", pa.string()),
        pa.field("permissive", pa.string()),
        pa.field("first_token_id", pa.int32(), nullable=False),
        pa.field("first_token", pa.string(), nullable=False),
        pa.field("forced_slot", pa.int32(), nullable=False),
        pa.field("forced_difference", pa.float64(), nullable=False),
    ]
)
"""Columns of `replies.parquet`."""


def write_side(folder: Path, name: str, rows: Sequence[dict[str, object]], schema: pa.Schema) -> Path:
    """Write `folder/name.parquet`, rows sorted by condition, item and presentation.

    Raises:
        StoreError: the disk is full, or a value that its column cannot hold.
    """
    try:
        table = pa.Table.from_pylist(list(rows), schema=schema)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise StoreError(f"{name}.parquet cannot be stored: {error}") from None
    keys = [(key, "ascending") for key in ("condition", "item_id", "presentation")]
    path = folder / f"{name}.parquet"
    write_parquet(path, table.sort_by(keys))
    return path


def read_side(folder: Path, name: str) -> pd.DataFrame | None:
    """The side table of a run as a data frame; None if the run has none.

    Raises:
        StoreError: a damaged file.
    """
    path = folder / f"{name}.parquet"
    if not path.exists():
        return None
    try:
        return pq.read_table(path, page_checksum_verification=True).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the same command again") from None
