"""`Record` as columns: the schema of records.parquet, and the way there and back without loss.

Knows the columns and nothing of how a record came about or what is computed from it. The meaning and unit of each
column is in `docs/records.md`; a test keeps the two and `Record` in step.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.types import Record

RECORDS_FILE = "records.parquet"
KEY = ("item_id", "presentation", "condition", "readout")
"""Columns that identify a row within a run, in the order of `Record.key`."""

_SLOTS = pa.list_(pa.int32())
# float64 holds every reading exactly: tables recomputed from disk are the same to the last digit.
SCHEMA = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("presentation", pa.string(), nullable=False),
        pa.field("condition", pa.string(), nullable=False),
        pa.field("readout", pa.string(), nullable=False),
        pa.field("group_id", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("order", _SLOTS, nullable=False),
        pa.field("labels", pa.list_(pa.string()), nullable=False),
        pa.field("gold_slot", pa.int32(), nullable=False),
        pa.field("gold_content", pa.int32(), nullable=False),
        pa.field("pred_slot", pa.int32(), nullable=False),
        pa.field("pred_content", pa.int32(), nullable=False),
        pa.field("correct", pa.bool_(), nullable=False),
        pa.field("tied", pa.bool_(), nullable=False),
        pa.field("label_logprobs", pa.list_(pa.float64()), nullable=False),
        pa.field("label_mass", pa.float64(), nullable=False),
        pa.field("label_token_ids", pa.list_(_SLOTS), nullable=False),
        pa.field("top_token_id", pa.int32(), nullable=False),
        pa.field("top_token", pa.string(), nullable=False),
        pa.field("top_logprob", pa.float64(), nullable=False),
        pa.field("entropy", pa.float64(), nullable=False),
        pa.field("gold_rank", pa.int32(), nullable=False),
        pa.field("reasoning_mass", pa.float64(), nullable=False),
        pa.field("reasoning_mass_strict", pa.float64(), nullable=False),
        pa.field("top_ids", pa.list_(pa.int32()), nullable=False),
        pa.field("top_tokens", pa.list_(pa.string()), nullable=False),
        pa.field("top_logprobs", pa.list_(pa.float64()), nullable=False),
        pa.field("lens_label_logprobs", pa.list_(pa.list_(pa.float64())), nullable=False),
        pa.field("lens_label_mass", pa.list_(pa.float64()), nullable=False),
        pa.field("n_tokens", pa.int32(), nullable=False),
        pa.field("n_image_tokens", pa.int32(), nullable=False),
        pa.field("prompt_sha256", pa.string(), nullable=False),
    ]
)
FACTS_KEY = b"thinkgap"
"""Key of the Parquet file's metadata under which `RecordFacts` stands as JSON."""


@dataclasses.dataclass(frozen=True)
class RecordFacts:
    """What a table needs and no row says; stored inside records.parquet."""

    conditions: tuple[str, ...] = ()
    """Conditions in the order in which the run lists them."""
    title: str = ""
    """Heading of the run's table."""
    reference: str = ""
    """Condition that differences are taken to; empty if the run named none."""
    excluded: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Items that were not asked: reason -> number."""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What the further tables need to know of the run, as JSON data; see `readouts.report`."""


def to_table(records: Sequence[Record]) -> pa.Table:
    """Records as a table with `SCHEMA`, in the order given.

    Raises:
        StoreError: A value that its column cannot hold (None, text in a number); the message names the column.
    """
    columns = []
    for field in SCHEMA:
        values = [getattr(record, field.name) for record in records]
        try:
            column = pa.array(values, type=field.type)
        except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
            raise StoreError(
                f"column {field.name!r} of the records cannot be stored as {field.type}: {error}"
            ) from None
        if column.null_count:
            key = records[values.index(None)].key
            raise StoreError(f"column {field.name!r} of the record {key} is None: records have no missing values")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def to_records(table: pa.Table) -> list[Record]:
    """Rows of `table` as records; lists become tuples again."""
    columns: dict[str, list[Any]] = {name: table.column(name).to_pylist() for name in SCHEMA.names}
    for field in SCHEMA:
        if pa.types.is_list(field.type):
            columns[field.name] = [_tuples(value) for value in columns[field.name]]
    names = [field.name for field in dataclasses.fields(Record)]
    return [Record(*values) for values in zip(*(columns[name] for name in names), strict=True)]


def _tuples(value: Any) -> Any:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value


def read_table(source: Path | pa.Buffer, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one Parquet file of records, checking page checksums and columns.

    Args:
        source: File, or its bytes.
        columns: Names to read; None is all of `SCHEMA`.

    Raises:
        StoreError: A damaged file, or columns that another version wrote.
    """
    wanted = list(columns or SCHEMA.names)
    where = str(source) if isinstance(source, Path) else "a shard"
    try:
        with pq.ParquetFile(cast(Any, source), page_checksum_verification=True) as file:
            present = file.schema_arrow
            missing = [name for name in wanted if name not in present.names]
            if missing:
                raise StoreError(
                    f"{where} has no column {', '.join(missing)}: it was written by another version of thinkgap; "
                    "start a new folder with hydra.run.dir=..."
                )
            table = file.read(columns=wanted)
    except FileNotFoundError:
        raise StoreError(f"{where} does not exist") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{where} is damaged ({error}); delete it and start the same command again") from None
    metadata = {FACTS_KEY: present.metadata[FACTS_KEY]} if FACTS_KEY in (present.metadata or {}) else None
    schema = pa.schema([SCHEMA.field(name) for name in wanted], metadata=metadata)
    return pa.Table.from_arrays([table.column(name).cast(SCHEMA.field(name).type) for name in wanted], schema=schema)


def with_facts(table: pa.Table, facts: RecordFacts) -> pa.Table:
    """`table` carrying `facts`."""
    text = json.dumps(dataclasses.asdict(facts), sort_keys=True, ensure_ascii=False)
    return table.replace_schema_metadata({FACTS_KEY: text.encode()})


def facts_of(table: pa.Table) -> RecordFacts:
    """The facts that `with_facts` stored; empty ones if there are none."""
    text = (table.schema.metadata or {}).get(FACTS_KEY)
    if text is None:
        return RecordFacts()
    stored = json.loads(text)
    return RecordFacts(**{**stored, "conditions": tuple(stored.get("conditions", ()))})


def read_run(run_dir: Path | str) -> pa.Table:
    """The merged records of a finished run as a table, with its `facts_of`.

    Raises:
        StoreError: No such folder, no records in it, an unfinished run, or a damaged file.
    """
    folder = Path(run_dir)
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder; give the folder of a run (hydra.run.dir)")
    if (folder / RECORDS_FILE).is_file():
        return read_table(folder / RECORDS_FILE)
    shards = len(list(folder.glob("shards/*.parquet")))
    if shards:
        raise StoreError(
            f"{folder} holds an unfinished run ({shards} shards, no {RECORDS_FILE}): start the same command with "
            f"hydra.run.dir={folder} to resume it"
        )
    raise StoreError(f"{folder} holds no records ({RECORDS_FILE} is missing); give the folder of a finished run")


def read_records(run_dir: Path | str) -> list[Record]:
    """The merged records of a finished run, in stored order; raises as `read_run`."""
    return to_records(read_run(run_dir))
