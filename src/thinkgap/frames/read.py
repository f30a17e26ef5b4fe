"""One file of a run as a checked Arrow table, and tables as data frames. Knows no run and no meaning of a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.frames.columns import CATEGORIES, Part

if TYPE_CHECKING:
    import pandas as pd


def check_file(path: Path, part: Part, version: str) -> None:
    """Nothing, if the file's footer can be read and tells the columns of this version; reads no row.

    Args:
        path: an existing file.
        part: what it should hold.
        version: of the thinkgap that wrote it, for the message.

    Raises:
        StoreError: a damaged file, or one that another version wrote.
    """
    try:
        present = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    for field in part.schema:
        if field.name not in present.names:
            problem = f"has no column {field.name!r}"
        elif (kind := present.field(field.name).type) != field.type:
            problem = f"holds {field.name!r} as {kind}, not {field.type}"
        else:
            continue
        raise StoreError(
            f"{path} {problem}: it was written by {version}, whose columns differ from those of this one; read it with "
            "that version, or make the run again"
        )


def read_part(path: Path, part: Part) -> pa.Table:
    """The columns of `part` in its order, page checksums verified; texts of few values as dictionaries.

    Raises:
        StoreError: a damaged file, or a missing value where there can be none.
    """
    names = part.schema.names
    categories = [field.name for field in part.schema if field.name in CATEGORIES]
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=categories) as file:
            table = file.read(columns=names).select(names)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    for field in part.schema:
        if not field.nullable and table.column(field.name).null_count:
            raise StoreError(f"{path}: column {field.name!r} has missing values, which it cannot have; make it again")
    return encoded(table, part.schema)


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """`table` with the columns of `schema`, text columns of few values as dictionaries."""
    fields, columns = [], []
    for field in schema:
        column = table.column(field.name)
        if field.name in CATEGORIES and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        columns.append(column)
        fields.append(pa.field(field.name, column.type, nullable=field.nullable))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def with_run(table: pa.Table, run: str) -> pa.Table:
    """`table` with a first column that names the run."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), pa.array([run]))
    return table.add_column(0, "run", column)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Lists stay Arrow lists (fast, and `series.list[0]` takes an entry), maps become dicts, numbers and truth values
    that may be missing take pandas' nullable types, texts of few values become categories.
    """
    import pandas as pd

    optional = {pa.bool_(): pd.BooleanDtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}

    def kind(arrow: pa.DataType) -> Any:
        return pd.ArrowDtype(arrow) if pa.types.is_list(arrow) else None

    # Other runs have other values, and so other dictionaries.
    frame = table.unify_dictionaries().to_pandas(types_mapper=kind)
    for field in table.schema:
        column = table.column(field.name)
        if pa.types.is_map(field.type):
            frame[field.name] = pd.Series([dict(pairs) for pairs in column.to_pylist()], dtype=object)
        elif field.nullable and field.type in optional:
            frame[field.name] = column.to_pandas(types_mapper=optional.get)
    return cast("pd.DataFrame", frame)


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError(f"{path} is damaged ({error}); delete it and start the same command again")
