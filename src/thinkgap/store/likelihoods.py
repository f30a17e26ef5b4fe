"""Log-likelihoods of option strings as a file beside the records, from which every normalisation can be made again.

Knows the columns and the file; nothing of how a likelihood is read, or of what answer it gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_parquet

LIKELIHOODS_FILE = "likelihoods.parquet"


@dataclass(frozen=True)
class OptionScores:
    """The option strings of one presentation under one condition; every tuple has an entry per slot."""

    item_id: str
    presentation: str
    condition: str
    option_logprobs: tuple[float, ...]
    """Log-likelihood of the string after the prompt, in nats."""
    premise_logprobs: tuple[float, ...]
    """The same after the condition's premise, which says nothing of the item."""
    n_tokens: tuple[int, ...]
    n_bytes: tuple[int, ...]
    """Length of the string in UTF-8, without the blank that joins it to the prompt."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies this row within a run."""
        return (self.item_id, self.presentation, self.condition)


_COLUMNS = {
    "item_id": pa.string(),
    "presentation": pa.string(),
    "condition": pa.string(),
    "option_logprobs": pa.list_(pa.float64()),
    "premise_logprobs": pa.list_(pa.float64()),
    "n_tokens": pa.list_(pa.int32()),
    "n_bytes": pa.list_(pa.int32()),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])


def write_likelihoods(folder: Path, scores: Sequence[OptionScores]) -> Path:
    """Write all rows of a run, sorted by key, in place of what was there; the file is there whole or not at all.

    Raises:
        StoreError: The disk is full, or the folder cannot be written.
    """
    ordered = sorted(scores, key=lambda one: one.key)
    columns = [pa.array([getattr(one, name) for one in ordered], type=kind) for name, kind in _COLUMNS.items()]
    path = folder / LIKELIHOODS_FILE
    write_parquet(path, pa.Table.from_arrays(columns, schema=SCHEMA))
    return path


def read_likelihoods(folder: Path) -> list[OptionScores]:
    """All rows of a run, sorted by key.

    Raises:
        StoreError: The file is missing, damaged, or of another version.
    """
    path = folder / LIKELIHOODS_FILE
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except FileNotFoundError:
        raise StoreError(
            f"{path} does not exist: run with evaluation.likelihood.enabled=true, or give the folder of such a run"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the same command again") from None
    if table.schema.names != SCHEMA.names:
        raise StoreError(
            f"{path} has the columns {', '.join(table.schema.names)}, which another version of thinkgap wrote: "
            "start a new folder with hydra.run.dir=..."
        )
    return [OptionScores(**{name: _hashable(value) for name, value in row.items()}) for row in table.to_pylist()]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
