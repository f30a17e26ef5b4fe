"""`responses.parquet`: a row per data set, item, mode and model, with what was asked, what came back, and its reading.

Every figure of the tables can be made again from it, and so can every reading. The meaning of each column is in
`docs/responses_table.md`; a test keeps the two in step. Computes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.audits import Copy
from thinkgap.nothinking.columns import COPY, ETR, KEY, LENGTH, QUESTION, READING, RESPONSE, SCHEMA
from thinkgap.nothinking.etr import EmptyThinking, TraceLength
from thinkgap.nothinking.reading import ResponseReading
from thinkgap.store.atomic import write_parquet
from thinkgap.types import Answered, AnswerSpace, Question, Response, ResponseStatus, Thinking

RESPONSES_FILE = "responses.parquet"
_ALLOWED = {
    "space": get_args(AnswerSpace),
    "status": get_args(ResponseStatus),
    "thinking": tuple(one.value for one in Thinking),
}
_TUPLES = ("labels", "options", "parts", "contents")


def to_table(rows: Iterable[Analysed]) -> pa.Table:
    """Rows as a table with `SCHEMA`, sorted by key.

    Raises:
        StoreError: a key that occurs twice, or a value that its column cannot hold.
    """
    ordered = sorted(rows, key=lambda row: row.key)
    check_unique([row.key for row in ordered])
    dicts = [_to_dict(row) for row in ordered]
    columns = []
    for field in SCHEMA:
        values = [one[field.name] for one in dicts]
        try:
            column = pa.array(values, type=field.type)
        except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
            raise StoreError(
                f"column {field.name!r} of the responses cannot be stored as {field.type}: {error}"
            ) from None
        if column.null_count and not field.nullable:
            raise StoreError(
                f"column {field.name!r} of the response {ordered[values.index(None)].key} is None, which it cannot be"
            )
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def write_responses(path: Path, rows: Iterable[Analysed]) -> None:
    """Write `path`, replacing it whole; equal rows in any order give equal bytes.

    Raises:
        StoreError: as `to_table`, or the disk is full or cannot be written; `path` is then as it was.
    """
    write_parquet(path, to_table(rows))


def read_responses(path: Path) -> pa.Table:
    """Read a file of responses and check it: page checksums, columns, missing values, keys and their order, statuses.

    Raises:
        StoreError: no such file, a damaged one, or one that does not hold what `write_responses` writes.
    """
    table = read_columns(path, SCHEMA)
    for name, allowed in _ALLOWED.items():
        unknown = set(table.column(name).unique().to_pylist()) - set(allowed)
        if unknown:
            raise StoreError(f"{path}: column {name!r} holds {sorted(unknown)}; known: {', '.join(allowed)}")
    keys = checked_keys(path, table, KEY)
    for key, status, answer in zip(
        keys, table.column("status").to_pylist(), table.column("answer").to_pylist(), strict=True
    ):
        if (status == "ok") != (answer is not None):
            raise StoreError(f"{path}: the row {key} has status {status!r} and answer {answer!r}, which contradict")
    return table


def read_columns(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of `schema` of a file that belongs to a run, page checksums, types and missing values checked.

    Raises:
        StoreError: no such file, a damaged one, or other columns.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            present, table = file.schema_arrow, file.read()
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; analyse responses first, or give another file") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); make it again from the responses") from None
    for field in schema:
        if field.name not in present.names or present.field(field.name).type != field.type:
            raise StoreError(
                f"{path} has no column {field.name!r} of type {field.type}: it was written by another version of "
                "thinkgap; make it again from the responses"
            )
        if not field.nullable and table.column(field.name).null_count:
            raise StoreError(f"{path}: column {field.name!r} has missing values, which it cannot have")
    return table.select(schema.names).cast(schema)


def checked_keys(path: Path, table: pa.Table, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The key of each row.

    Raises:
        StoreError: one that occurs twice, or rows that are not in their order.
    """
    keys = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    check_unique(keys, names, f"{path}: ")
    if keys != sorted(keys):
        raise StoreError(f"{path} is not sorted by {', '.join(names)}: it was changed after it was written")
    return keys


def to_analysed(table: pa.Table) -> list[Analysed]:
    """Rows of a table with `SCHEMA` as they were written, in its order."""
    return [_to_row(one) for one in table.to_pylist()]


def check_unique(keys: Sequence[tuple[str, ...]], names: Sequence[str] = KEY, where: str = "") -> None:
    """Require that no key occurs twice.

    Raises:
        StoreError: it does.
    """
    if len(set(keys)) < len(keys):
        key = Counter(keys).most_common(1)[0][0]
        raise StoreError(
            f"{where}two responses have the key {dict(zip(names, key, strict=True))}: give each its own mode or model "
            "name, or keep one of them"
        )


def _to_dict(row: Analysed) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mode": row.answered.mode,
        "model": row.model,
        "thinking": row.answered.thinking.value,
        "open_box": row.answered.open_box,
    }
    for names, source in (
        (QUESTION, row.answered.question),
        (RESPONSE, row.answered.response),
        (READING, row.reading),
        (ETR, row.etr),
        (LENGTH, row.length),
        (COPY, row.copy),
    ):
        found |= {name: None if source is None else getattr(source, attribute) for name, attribute in names.items()}
    start, end = row.reading.span or (None, None)
    return found | {
        "channels": list(row.answered.response.channels.items()),
        "span_start": start,
        "span_end": end,
    }


def _to_row(one: Mapping[str, Any]) -> Analysed:
    def fields(names: Mapping[str, str]) -> dict[str, Any]:
        return {attribute: one[name] for name, attribute in names.items()}

    asked = fields(QUESTION)
    question = Question(**{**asked, **{name: tuple(one[name]) for name in _TUPLES}})
    response = Response(**fields(RESPONSE), channels=dict(one["channels"]))
    span = None if one["span_start"] is None else (one["span_start"], one["span_end"])
    return Analysed(
        Answered(question, one["mode"], Thinking(one["thinking"]), response, one["open_box"]),
        one["model"],
        ResponseReading(**fields(READING), span=span),
        EmptyThinking(**fields(ETR)),
        TraceLength(**fields(LENGTH)),
        None if one["copy_components"] is None else Copy(**fields(COPY)),
    )
