"""The store of replies: each is written once, at once, under the digest of the request that it answers.

One SQLite file for each model, shared by runs and by processes. A reply was paid for, so it is on the disk before the
next request begins. Reads no meaning into a reply.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.backends.served.request import ServedRequest
from thinkgap.backends.served.sqlite_file import file_errors, open_file, text_digest
from thinkgap.store.atomic import write_text

log = logging.getLogger(__name__)

_VERSION = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    reply TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    seconds REAL NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Entry:
    """A reply to be stored."""

    request: ServedRequest
    reply: Mapping[str, Any]
    """The JSON object that came back, free of keys."""
    seconds: float
    """How long it took, with repeated tries and waiting between them."""


class ResponseStore:
    """The replies of one model. Open it with `ResponseStore.open`, as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, folder: Path | str, model: str) -> ResponseStore:
        """Open the file of `model` (its configured name) in `folder`, or begin it.

        What a killed or crashed writer left unfinished at the end is dropped by SQLite, and nothing else.

        Raises:
            StoreError: the folder cannot be written, the file is damaged, or another version of thinkgap wrote it.
        """
        path = Path(folder).expanduser() / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', model)}.sqlite"
        return cls(path, open_file(path, [_TABLE], _VERSION))

    def __enter__(self) -> ResponseStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was put is there whether it is closed or not."""
        self._connection.close()

    def __len__(self) -> int:
        with file_errors(self.path):
            return self._connection.execute("SELECT count(*) FROM replies").fetchone()[0]

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> dict[str, Any] | None:
        """The reply to the request with this key, as it came; None if there is none.

        A reply that no longer has its own digest is removed with a warning, so that it is asked for again.
        """
        with file_errors(self.path):
            row = self._connection.execute("SELECT reply, sha256 FROM replies WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            if text_digest(row[0]) == row[1]:
                return json.loads(row[0])
            log.warning("%s: the reply %s is damaged; it is removed and will be asked for again", self.path, key)
            self._connection.execute("DELETE FROM replies WHERE key = ?", (key,))
        return None

    def put(self, request: ServedRequest, reply: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Store a reply; it is on the disk when this returns.

        Args:
            request: what was asked.
            reply: the JSON object that came back, free of keys.
            seconds: how long it took, with repeated tries and waiting between them.

        Returns:
            The reply that is stored now: another process may have been faster, and the first one stays.

        Raises:
            StoreError: the disk is full, or the file cannot be written.
        """
        return self.put_all([Entry(request, reply, seconds)])[0]

    def put_all(self, entries: Sequence[Entry]) -> list[dict[str, Any]]:
        """Store replies together, which takes about as long as one alone: all of them are on the disk, or none.

        Returns:
            As `put`, for each in order.

        Raises:
            StoreError: see `put`.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with file_errors(self.path), self._transaction() as connection:
            connection.executemany(
                "INSERT INTO replies (key, request, reply, sha256, asked_at, seconds) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO NOTHING",
                [_row(entry, now) for entry in entries],
            )
        found = [self.get(entry.request.key) for entry in entries]
        assert None not in found, "replies were just written"
        return [one for one in found if one is not None]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk has ended it already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def rows(self) -> Iterator[dict[str, Any]]:
        """Everything stored, by key: `key`, `request`, `reply`, `asked_at` (UTC), `seconds`."""
        with file_errors(self.path):
            found = self._connection.execute("SELECT key, request, reply, asked_at, seconds FROM replies ORDER BY key")
            for key, request, reply, asked_at, seconds in found:
                yield {
                    "key": key,
                    "request": json.loads(request),
                    "reply": json.loads(reply),
                    "asked_at": asked_at,
                    "seconds": seconds,
                }

    def export(self, path: Path) -> int:
        """Write everything stored as JSON lines, by key, and return the number of lines."""
        lines = [json.dumps(row, sort_keys=True, ensure_ascii=True) + "\n" for row in self.rows()]
        write_text(path, "".join(lines))
        return len(lines)


def _row(entry: Entry, now: str) -> tuple[str, str, str, str, str, float]:
    asked, text = (json.dumps(value, sort_keys=True) for value in (entry.request.record(), entry.reply))
    return entry.request.key, asked, text, text_digest(text), now, entry.seconds
