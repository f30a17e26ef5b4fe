"""The folder of one run: which settings it belongs to, its shards, and their merge into records.parquet.

A run may be killed at any point, and several processes may write shards at once; nothing here talks to another
process. Knows record keys and files, and touches only the names listed at `RunFolder`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.store.atomic import disk_errors, parquet_bytes, remove_temporaries, write_bytes, write_parquet, write_text
from thinkgap.store.fingerprint import JSON, check_fingerprint
from thinkgap.store.records import KEY, RECORDS_FILE, SCHEMA, RecordFacts, facts_of, read_table, to_table, with_facts
from thinkgap.types import Record

log = logging.getLogger(__name__)

_LOCK_FILE = ".thinkgap.lock"
_SHARD = re.compile(r"part-r\d{3,}-(\d{6,})\.parquet(?:\.sha256)?")


class RunFolder:
    """`fingerprint.json`, `shards/part-r*-*.parquet` (each with a `.sha256` beside it) and `records.parquet`.

    Everything else in the folder (Hydra's files, logs, W&B) is left alone.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.shards = self.path / "shards"
        self._next = 0

    @property
    def records_path(self) -> Path:
        """Where the merged records are."""
        return self.path / RECORDS_FILE

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out of the folder inside the block; the lock goes with the process that holds it.

        Raises:
            StoreError: Another process is writing into the folder.
        """
        from filelock import FileLock, Timeout

        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / _LOCK_FILE, timeout=0)
        try:
            with disk_errors(self.path):
                lock.acquire()
        except Timeout:
            raise StoreError(
                f"another process is writing into {self.path}; wait for it, or give another hydra.run.dir=..."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def open(self, fingerprint: Mapping[str, JSON]) -> bool:
        """Create the folder, or take up the run that is in it.

        Args:
            fingerprint: Everything that the records depend on, as JSON; two runs with equal fingerprints must give
                equal records.

        Returns:
            Whether the folder already held records or shards of this run.

        Raises:
            StoreError: The folder holds records of other settings; the message names the fields that differ.
        """
        with disk_errors(self.path):
            self.shards.mkdir(parents=True, exist_ok=True)
        indices = [int(match[1]) for name in self._names() if (match := _SHARD.fullmatch(name))]
        # Numbers are never used twice, not even those of damaged shards: while this process removes one, another
        # process that saw it a moment ago must not remove its successor.
        self._next = max(indices, default=-1) + 1
        holds = bool(indices) or self.records_path.exists()
        check_fingerprint(self.path, fingerprint, holds)
        return holds

    @property
    def next_shard(self) -> int:
        """Number of the next shard; what `join` takes."""
        return self._next

    def join(self, next_shard: int) -> None:
        """Write shards beside another process of the same run, which has opened the folder.

        Args:
            next_shard: Its number of the next shard; those of this process count on from there under its own rank.
        """
        self._next = next_shard

    def write_shard(self, records: Sequence[Record], rank: int = 0) -> Path:
        """Write `records` as the next shard of process `rank`; the shard is there whole or not at all.

        Raises:
            StoreError: The disk is full, or a value that cannot be stored.
        """
        path = self.shards / f"part-r{rank:03d}-{self._next:06d}.parquet"
        data = parquet_bytes(to_table(records))
        with disk_errors(self.path):
            self.shards.mkdir(parents=True, exist_ok=True)
        # The digest first: a kill in between leaves a digest without a shard, which nothing reads.
        write_text(_digest_file(path), hashlib.sha256(data).hexdigest())
        write_bytes(path, data)
        self._next += 1
        return path

    def finished_keys(self) -> set[tuple[str, str, str, str]]:
        """Keys (`Record.key`) of all rows on disk; damaged shards are removed with a warning and do not count."""
        keys: set[tuple[str, str, str, str]] = set()
        for table in self._tables(KEY):
            keys.update(zip(*(table.column(name).to_pylist() for name in KEY), strict=True))
        return keys

    @property
    def has_shards(self) -> bool:
        """Whether anything waits to be merged."""
        return bool(self._shard_paths())

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """Columns of all rows on disk, merged or not, in no particular order; see `finished_keys`."""
        return pa.concat_tables([table.replace_schema_metadata(None) for table in self._tables(columns)])

    def finished_items(self, conditions: Sequence[str], readout: str | None = None) -> set[tuple[str, str]]:
        """The (item_id, presentation) pairs for which every one of `conditions` has its row on disk.

        Args:
            conditions: Names that must all be there.
            readout: Readout that must be there for each; None asks for every readout that the folder holds.
        """
        rows: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for item_id, presentation, condition, name in self.finished_keys():
            rows.setdefault((item_id, presentation), set()).add((condition, name))
        readouts = {name for found in rows.values() for _, name in found} if readout is None else {readout}
        needed = {(condition, name) for condition in conditions for name in readouts}
        return {pair for pair, found in rows.items() if needed <= found}

    def merge(self, condition_order: Sequence[str], facts: RecordFacts | None = None) -> Path:
        """Merge shards, and records merged before, into records.parquet; then remove the shards.

        Rows are sorted by condition (in the given order, others after it by name), item_id, presentation and readout,
        so the file does not depend on how often the run was killed or over how many processes it was spread. Call it
        from one process, when no other writes any more. Merging again changes nothing.

        Args:
            condition_order: Condition names as the run lists them.
            facts: What the table needs beside the rows; its `conditions` are replaced by `condition_order`.

        Returns:
            Path of records.parquet.

        Raises:
            StoreError: No rows at all, or two rows with one key and different content.
        """
        given = facts or RecordFacts()
        kept = replace(given, conditions=tuple(condition_order), excluded=dict(given.excluded))
        tables = list(self._tables(SCHEMA.names))
        if not tables:
            raise StoreError(f"{self.path} holds no shards to merge: no record was written")
        shards = self._shard_paths()
        if shards or facts_of(tables[0]) != kept:
            table = _sorted(
                _unique(pa.concat_tables([t.replace_schema_metadata(None) for t in tables])), kept.conditions
            )
            write_parquet(self.records_path, with_facts(table.combine_chunks(), kept))
        for path in shards:
            path.unlink(missing_ok=True)
            _digest_file(path).unlink(missing_ok=True)
        self._tidy()
        return self.records_path

    def _names(self) -> list[str]:
        return sorted(path.name for path in self.shards.iterdir()) if self.shards.is_dir() else []

    def _shard_paths(self) -> list[Path]:
        return [self.shards / n for n in self._names() if _SHARD.fullmatch(n) and n.endswith(".parquet")]

    def _tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """records.parquet, then every intact shard; damaged shards are removed."""
        if self.records_path.exists():
            yield read_table(self.records_path, columns)
        for path in self._shard_paths():
            try:
                data, digest = path.read_bytes(), _digest_file(path).read_text(encoding="ascii")
            except (FileNotFoundError, UnicodeDecodeError):
                data, digest = b"", "missing"
            if hashlib.sha256(data).hexdigest() == digest.strip():
                yield read_table(pa.py_buffer(data), columns)
                continue
            log.warning("shard %s is damaged (its sha256 does not match): removed, its items are computed again", path)
            path.unlink(missing_ok=True)
            _digest_file(path).unlink(missing_ok=True)

    def _tidy(self) -> None:
        remove_temporaries(self.path, RECORDS_FILE)
        for name in self._names():
            if _SHARD.fullmatch(name) or name.startswith(".part-r"):
                (self.shards / name).unlink(missing_ok=True)
        if self.shards.is_dir() and not self._names():
            self.shards.rmdir()


def _digest_file(shard: Path) -> Path:
    return shard.with_name(shard.name + ".sha256")


def _unique(table: pa.Table) -> pa.Table:
    """`table` without repeated rows; two different rows with one key are an error."""
    frame = table.select(KEY).to_pandas()
    repeated = frame.duplicated(keep=False).to_numpy()
    if not repeated.any():
        return table
    seen: dict[tuple[str, ...], str] = {}
    for row in table.filter(pa.array(repeated)).to_pylist():
        key = tuple(row[name] for name in KEY)
        # repr and not ==, so that NaN equals itself.
        if seen.setdefault(key, repr(row)) != repr(row):
            raise StoreError(
                f"two different records for (item_id, presentation, condition, readout) = {key}: items were computed "
                "twice with different results; start again in a new folder with hydra.run.dir=..."
            )
    return table.filter(pa.array(~frame.duplicated(keep="first").to_numpy()))


def _sorted(table: pa.Table, conditions: Sequence[str]) -> pa.Table:
    names = table.column("condition").to_pylist()
    order = [*conditions, *sorted(set(names) - set(conditions))]
    rank = {name: place for place, name in enumerate(order)}
    ranked = table.append_column("rank", pa.array([rank[name] for name in names], pa.int32()))
    keys = ("rank", "item_id", "presentation", "readout")
    return ranked.sort_by([(name, "ascending") for name in keys]).drop_columns("rank")
