"""`items.parquet` of a run: what was asked about, a row per data set and item, so that tables can group by any field.

Holds texts and digests of images, never images. Records and responses refer to it by data set and item id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_parquet
from thinkgap.types import Item

ITEMS_FILE = "items.parquet"
_TEXTS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        *(
            pa.field(name, pa.string(), nullable=False)
            for name in ("dataset", "item_id", "group_id", "split", "subject", "space", "question", "context")
        ),
        pa.field("choices", _TEXTS, nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("gold", pa.int32()),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("images", _TEXTS, nullable=False),
        pa.field("meta", pa.map_(pa.string(), pa.string()), nullable=False),
    ]
)
"""`k` is the number of options, `gold` the content index of the right one, `images` SHA-256 digests of encoded bytes,
`meta` the further fields of the data set (area, level, type, grade, ...)."""


def write_items(folder: Path, items: Mapping[str, Sequence[Item]]) -> None:
    """Write `folder/items.parquet`, rows sorted by data set and item.

    Args:
        folder: of the run.
        items: data set -> its items as the source gives them.

    Raises:
        StoreError: the disk is full or cannot be written, or a text that is no Unicode.
    """
    rows = sorted(
        (_row(dataset, item) for dataset, own in items.items() for item in own),
        key=lambda row: (row["dataset"], row["item_id"]),
    )
    try:
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise StoreError(f"{ITEMS_FILE} cannot be stored: {error}") from None
    write_parquet(folder / ITEMS_FILE, table)


def read_items(folder: Path) -> pa.Table | None:
    """The items of a run; None if it has no such file (responses that came from somewhere else).

    Raises:
        StoreError: a damaged file, or one of other columns.
    """
    path = folder / ITEMS_FILE
    if not path.exists():
        return None
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the same command again") from None
    if not table.schema.equals(SCHEMA):
        raise StoreError(f"{path} was written by another version of thinkgap; start the same command again")
    return table


def copy_items(folder: Path, runs: Sequence[Path]) -> None:
    """Write the items of other runs, each once, into a folder; nothing where a run has none.

    Raises:
        StoreError: a damaged file, or two runs that call different items by one id.
    """
    tables = [table for run in runs if (table := read_items(run)) is not None]
    if len(tables) < len(runs):
        return
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in (row for table in tables for row in table.to_pylist()):
        if rows.setdefault((row["dataset"], row["item_id"]), row) != row:
            raise StoreError(
                f"item {row['item_id']} of {row['dataset']} is not the same in all of these runs; read them apart"
            )
    table = pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=SCHEMA)
    write_parquet(folder / ITEMS_FILE, table)


def _row(dataset: str, item: Item) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "item_id": item.id,
        "group_id": item.group_id,
        "split": item.split,
        "subject": item.subject,
        "space": item.answer_space,
        "question": item.question,
        "context": item.context,
        "choices": list(item.choices),
        "k": len(item.choices),
        "gold": item.gold,
        "answer": item.answer,
        "images": [image.sha256 for image in item.images],
        "meta": list(item.meta.items()),
    }
