"""`comprehension.parquet`: what a model was asked about the instructions of its modes, and all that came back.

Holds exchanges as they were; how a reply reads is `comprehension_table`'s.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import StoreError
from thinkgap.nothinking.columns import RESPONSE
from thinkgap.nothinking.columns import SCHEMA as RESPONSES
from thinkgap.prompts.wordings import ComprehensionQuestion
from thinkgap.store.atomic import write_parquet
from thinkgap.types import Response, Thinking

COMPREHENSION_FILE = "comprehension.parquet"
_QUESTION = tuple(field.name for field in dataclasses.fields(ComprehensionQuestion))
_TYPES = {"version": pa.int32(), "closed": pa.bool_()}
SCHEMA = pa.schema(
    [
        *(pa.field(name, _TYPES.get(name, pa.string()), nullable=False) for name in ("model", *_QUESTION)),
        *(RESPONSES.field(name) for name in (*RESPONSE, "channels")),
    ]
)
"""The model, the fields of `ComprehensionQuestion`, and those of `Response` as in `responses.parquet`."""


@dataclass(frozen=True)
class Exchange:
    """One question about a mode's instructions and what came back."""

    model: str
    """What tables call the model."""
    question: ComprehensionQuestion
    response: Response

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies this row."""
        return (self.model, self.question.mode, self.question.space, self.question.wording)


def write_exchanges(path: Path, exchanges: Iterable[Exchange]) -> None:
    """Write `path`, replacing it whole, sorted by key; equal exchanges in any order give equal bytes.

    Raises:
        StoreError: a text that cannot be stored, or the disk is full or cannot be written; `path` is then as it was.
    """
    rows = [to_dict(one) for one in sorted(exchanges, key=lambda one: one.key)]
    try:
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise StoreError(f"the comprehension check cannot be stored: {error}") from None
    write_parquet(path, table)


def read_exchanges(path: Path) -> list[Exchange]:
    """Read a file of exchanges, in its order.

    Raises:
        StoreError: no such file, a damaged one, or one that does not hold what `write_exchanges` writes.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; run with evaluation.comprehension.enabled=true") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the run again") from None
    if not table.schema.equals(SCHEMA):
        raise StoreError(f"{path} has other columns: it was written by another version of thinkgap; start a new run")
    return [_to_exchange(row) for row in table.to_pylist()]


def to_dict(one: Exchange) -> dict[str, Any]:
    """The exchange as a row of the file."""
    asked = {name: getattr(one.question, name) for name in _QUESTION}
    came = {name: getattr(one.response, attribute) for name, attribute in RESPONSE.items()}
    return {
        "model": one.model,
        **asked,
        "thinking": one.question.thinking.value,
        **came,
        "channels": list(one.response.channels.items()),
    }


def _to_exchange(row: dict[str, Any]) -> Exchange:
    asked = {name: row[name] for name in _QUESTION}
    came = {attribute: row[name] for name, attribute in RESPONSE.items()}
    return Exchange(
        row["model"],
        ComprehensionQuestion(**{**asked, "thinking": Thinking(row["thinking"])}),
        Response(**came, channels=dict(row["channels"])),
    )
