"""`items.parquet` of a run: what was asked about, a row per data set and item, so that tables can group by any field.

Holds texts and digests of images, never images. Records and responses refer to it by data set and item id.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.printable import printable
from thinkgap.store.atomic import write_parquet
from thinkgap.types import Item

log = logging.getLogger(__name__)

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
_ASKED = ("question", "context", "choices", "gold", "answer", "images")
"""What makes an item the question that it is."""


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


def items_of_runs(runs: Sequence[Path]) -> pa.Table | None:
    """The items of several runs, each once, sorted as in a run; None if one of them has no such file.

    None, too, with a warning, if two runs call different questions by one name and id: nobody knows then which of them
    a response answers. Further fields that only one of the runs has are kept.

    Raises:
        StoreError: a damaged file.
    """
    tables = [read_items(run) for run in runs]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for table in tables:
        if table is None:
            return None
        for row in table.to_pylist():
            first = rows.setdefault((row["dataset"], row["item_id"]), row)
            if any(first[name] != row[name] for name in _ASKED):
                log.warning(
                    "item %s of %s is not the same in all of these runs, so %s is not carried along",
                    printable(row["item_id"]),
                    printable(row["dataset"]),
                    ITEMS_FILE,
                )
                return None
            first["meta"] = list({**dict(row["meta"]), **dict(first["meta"])}.items())
    return pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=SCHEMA)


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
