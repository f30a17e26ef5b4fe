"""Our own schema, in JSON Lines or Parquet: `docs/own_responses.md` gives the columns.

It checks which columns there are; values are checked when a row is built.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError, nearest
from thinkgap.importers.found import OPTIONAL, REQUIRED, Contents, Found
from thinkgap.importers.text import as_utf8, json_lines


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
        values: list[dict[str, Any]] = file.read(columns=wanted).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is no readable Parquet file: {error}") from error
    if not values:
        raise DataError(f"{path} has no rows")
    rows = [Found(f"row {number}", Row(row, path.parent)) for number, row in enumerate(values, start=1)]
    return Contents(rows, tuple(unused))


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
