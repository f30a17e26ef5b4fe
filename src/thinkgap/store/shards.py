"""The files of a cell folder: pairs `shard-<digest>.parquet` and `shard-<digest>.safetensors`, and what a pair holds.

A Parquet file is named by the digest of its bytes and holds the digest of its state file. So damage shows, and
processes that write at once never give one name to different content. The state file is written first: a shard is there
once its Parquet file is. Knows no prompt and no model.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from torch import Tensor

from thinkgap.errors import StoreError
from thinkgap.store.atomic import disk_errors, parquet_bytes, remove_older, remove_temporaries, write_bytes
from thinkgap.store.cell_rows import SCHEMA
from thinkgap.store.fingerprint import FINGERPRINT_FILE, JSON, check_fingerprint
from thinkgap.store.states import DTYPES, StateFile, state_bytes

log = logging.getLogger(__name__)

FACTS_KEY = b"thinkgap"
"""Key of the Parquet file's metadata under which the facts of a shard stand as JSON."""
LEFTOVER_AGE = 3600.0
"""Seconds after which a file that is no part of a shard is what a killed writer left, not what one is writing."""
_DIGITS = 24
_NAME = re.compile(rf"shard-[0-9a-f]{{{_DIGITS}}}\.parquet")
_STATES = ".safetensors"


@dataclass(frozen=True)
class CellContents:
    """What is kept of a cell beside its reading."""

    names: tuple[str, ...] = ()
    """Names of the states, in order (`Wanted.names`); none keeps no states."""
    dtype: str = "float16"
    """Number type of the states: float16, bfloat16 or float32."""
    lens: bool = False
    """Whether lens readings are kept, of the cells that have them."""
    top_k: int = 0
    """How many of the most probable tokens are kept."""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"states cannot be kept as {self.dtype}; known: {', '.join(DTYPES)}")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"state names {self.names} are not unique")

    def covers(self, wanted: CellContents) -> bool:
        """Whether cells with these contents have all that is wanted, states in the very number type."""
        states = set(wanted.names) <= set(self.names) and (not wanted.names or self.dtype == wanted.dtype)
        return states and self.lens >= wanted.lens and self.top_k >= wanted.top_k


@dataclass(frozen=True)
class Shard:
    """A shard whose Parquet file is intact; its state file is looked at only when asked."""

    path: Path
    n: int
    contents: CellContents
    d: int
    """Width of the states; 0 if there are none."""
    states_sha256: str

    def states(self) -> StateFile:
        """Its state file, after a look at the header.

        Raises:
            StoreError: It is missing, cut short, or not the one that was written.
        """
        file = StateFile.open(self.path.with_suffix(_STATES))
        if (file.dtype, file.shape) != (self.contents.dtype, (self.n, len(self.contents.names), self.d)):
            raise StoreError(f"{file.path} is damaged: {file.dtype} {list(file.shape)} are not the states of its shard")
        return file

    def gather(self, rows: Sequence[int], names: Sequence[str]) -> Tensor:
        """The states `[len(rows), len(names), d]` of some rows, copied from the memory map; raises as `states`."""
        return self.states().gather(rows, [self.contents.names.index(name) for name in names])

    def check_states(self) -> None:
        """Compare the whole state file with its digest; raises StoreError as `states`, and if a bit differs."""
        file = self.states()
        with file.path.open("rb") as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != self.states_sha256:
                raise StoreError(f"{file.path} is damaged: its sha256 does not match")


def context_digest(context: Mapping[str, JSON], schema: pa.Schema | None = None) -> str:
    """Digest of what cells depend on beside their prompt, and of the columns that this version writes.

    Args:
        context: What the folder belongs to.
        schema: The columns; None is those of cells.
    """
    # Through JSON and back: the digest is the same for the settings and for what fingerprint.json gives back.
    plain = json.loads(json.dumps(context))
    return hashlib.sha256(
        json.dumps([plain, str(SCHEMA if schema is None else schema)], sort_keys=True).encode()
    ).hexdigest()


def shard_paths(folder: Path) -> list[Path]:
    """The Parquet files of `folder`, sorted by name; none if there is no such folder."""
    return sorted(path for path in folder.glob("shard-*.parquet") if _NAME.fullmatch(path.name))


def open_folder(folder: Path, context: Mapping[str, JSON], what: str, way_out: str) -> list[Path]:
    """Begin a folder of shards or take it up, without what killed writers left an hour ago or earlier.

    Args:
        folder: The folder.
        context: What it belongs to.
        what: What its shards hold, for messages.
        way_out: What to do about a folder of another context.

    Returns:
        Its shards.

    Raises:
        StoreError: The folder belongs to another context, or it cannot be written.
    """
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    shards = shard_paths(folder)
    check_fingerprint(folder, context, bool(shards), what, way_out)
    with disk_errors(folder):
        remove_leftovers(folder)
    return shards


def tell_foreign(folder: Path, n: int) -> None:
    """Warn of `n` shards that are of another context than their folder."""
    if n:
        log.warning("%d shards in %s are of another context than the folder and are left alone", n, folder)


def write_shard(folder: Path, table: pa.Table, states: Tensor | None, contents: CellContents, context: str) -> Shard:
    """Write cells as a new shard, which is there whole or not at all.

    Args:
        folder: The cell folder.
        table: `n` rows as `cell_rows.to_table` gives them.
        states: `[n, S, d]` in the number type of `contents`; None without states.
        contents: What the cells hold.
        context: `context_digest` of the folder.

    Raises:
        StoreError: The disk is full, or the folder cannot be written; earlier shards are intact.
    """
    data = b"" if states is None else state_bytes(states)
    facts = {
        "context": context,
        "contents": asdict(contents),
        "d": 0 if states is None else states.shape[-1],
        "states_sha256": "" if states is None else hashlib.sha256(data).hexdigest(),
    }
    body = parquet_bytes(table.replace_schema_metadata({FACTS_KEY: json.dumps(facts, sort_keys=True).encode()}))
    path = folder / f"shard-{_named(body)}.parquet"
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if states is not None:
        write_bytes(path.with_suffix(_STATES), data)
    try:
        write_bytes(path, body)
    except BaseException:
        # A full disk should get its space back; but another process may have written the very same shard.
        if not path.exists():
            path.with_suffix(_STATES).unlink(missing_ok=True)
        raise
    return _shard(path, table.num_rows, facts)


def read_shard(path: Path, context: str, columns: Sequence[str]) -> tuple[Shard, pa.Table] | None:
    """A shard and some columns of its cells; None if it was written under another context.

    Raises:
        StoreError: The Parquet file is missing or not what its name says.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist") from None
    if path.stem != f"shard-{_named(data)}":
        raise StoreError(f"{path} is damaged: its sha256 does not match its name")
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        facts = json.loads((file.schema_arrow.metadata or {}).get(FACTS_KEY, b"{}"))
        if facts.get("context") != context:
            return None
        return _shard(path, cast(int, file.metadata.num_rows), facts), file.read(columns=list(columns))


def remove_shard(path: Path) -> None:
    """Delete both files of a shard; a kill in between leaves a state file that nobody reads."""
    path.unlink(missing_ok=True)
    path.with_suffix(_STATES).unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files, and state files without their Parquet file, that are older than `LEFTOVER_AGE`."""
    for name in ("shard-*", FINGERPRINT_FILE):
        remove_temporaries(folder, name, LEFTOVER_AGE)
    for states in folder.glob(f"shard-*{_STATES}"):
        if not states.with_suffix(".parquet").exists():
            remove_older(states, LEFTOVER_AGE)


def _named(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def _shard(path: Path, n: int, facts: Mapping[str, Any]) -> Shard:
    contents = CellContents(**facts["contents"] | {"names": tuple(facts["contents"]["names"])})
    return Shard(path, n, contents, facts["d"], facts["states_sha256"])
