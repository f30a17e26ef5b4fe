"""Our own schema, in JSON Lines or Parquet: `docs/own_responses.md` gives the columns.

It checks which columns there are; values are checked when a row is built.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError, nearest
from thinkgap.importers.found import OPTIONAL, REQUIRED, Contents, Found
from thinkgap.importers.text import as_utf8, json_lines

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH = 256
"""Rows at a time, so that a bomb is noticed before it is large."""
_LARGEST = 4 << 30
"""Bytes of a file's columns, unpacked."""


def read_jsonl(data: bytes, path: Path, given: Iterable[str]) -> Contents:
    """Rows of a JSON Lines file.

    Args:
        data: its bytes.
        path: for messages.
        given: columns that the file need not have, because they were given for all rows.

    Raises:
        DataError: a column that no row has, or bytes that are no text.
    """
    text, notes = as_utf8(data, path)
    rows = json_lines(text, path.parent)
    columns = dict.fromkeys(key for found in rows for key in found.row.values)
    # Without one object the rows' own problems say more.
    unused = _check(list(columns), path, given) if columns else []
    return Contents(rows, (*notes, *unused))


def read_parquet(data: bytes, path: Path, given: Iterable[str]) -> Contents:
    """Rows of a Parquet file; see `read_jsonl`.

    Raises:
        DataError: a missing column, or a file that is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        unused = _check(file.schema_arrow.names, path, given)
        wanted = [name for name in file.schema_arrow.names if name in (*REQUIRED, *OPTIONAL)]
        values = _values(file, wanted)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise DataError(f"{path} is no readable Parquet file: {error}") from error
    if not values:
        raise DataError(f"{path} has no rows")
    rows = [Found(f"row {number}", Row(row, path.parent)) for number, row in enumerate(values, start=1)]
    return Contents(rows, tuple(unused))


def _values(file: pq.ParquetFile, columns: list[str]) -> list[dict[str, Any]]:
    """Rows as Python values; a text that is no UTF-8 holds marks, which make its row a bad one later.

    Raises:
        OSError: far more text than a file of responses holds: a few kilobytes can claim terabytes.
    """
    import pyarrow as pa

    values: list[dict[str, Any]] = []
    size = 0
    for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
        batch = _plain(batch)
        size += batch.nbytes
        if size > _LARGEST:
            raise OSError(f"it would be more than {_LARGEST:,} bytes unpacked")
        try:
            values += batch.to_pylist()
        except UnicodeDecodeError:
            as_bytes = pa.schema([field.with_type(_as_binary(field.type)) for field in batch.schema])
            values += [_decoded(row) for row in batch.cast(as_bytes).to_pylist()]
    return values


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Columns with a dictionary written out: as Python values they are as large as that."""
    import pyarrow as pa

    columns = [
        column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _as_binary(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.binary() if pa.types.is_string(kind) else pa.large_binary()
    return pa.list_(_as_binary(kind.value_type)) if pa.types.is_list(kind) else kind


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return {name: _decoded(one) for name, one in value.items()} if isinstance(value, dict) else value


def _check(columns: list[str], path: Path, given: Iterable[str]) -> list[str]:
    """Notes on columns that are not used."""
    for name in REQUIRED:
        if name not in columns and name not in given:
            option = " (or give --space)" if name == "space" else ""
            raise DataError(
                f"{path} has no column {name!r}{option}{nearest(name, columns)} (columns found: {', '.join(columns)})"
            )
    known = (*REQUIRED, *OPTIONAL)
    unused = [name for name in columns if name not in known]
    notes = []
    for name in unused:
        near = nearest(name, known)
        notes.append(f"column {name!r} is not used{near if 'did you mean' in near else ''}")
    return notes
