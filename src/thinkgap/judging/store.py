"""The store of judgements: each under what it depends on, so that a run with more traces asks about new ones only.

Replies are kept by request (`backends.served.cache`), and a request changes with whatever shares a batch; a judgement
is kept by its own pair of texts. Reads no meaning into either.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.backends.served.sqlite_file import file_errors, open_file, text_digest
from thinkgap.types import Judgement

log = logging.getLogger(__name__)

_VERSION = 1
_TABLES = (
    "CREATE TABLE IF NOT EXISTS contexts (sha256 TEXT PRIMARY KEY, context TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS judgements (
        context TEXT NOT NULL,
        pair TEXT NOT NULL,
        judgement TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        judged_at TEXT NOT NULL,
        PRIMARY KEY (context, pair)
    ) WITHOUT ROWID""",
)


class JudgementStore:
    """The judgements of one judge. Open it with `JudgementStore.open`, as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, folder: Path | str, judge: str) -> JudgementStore:
        """Open the file of `judge` (its configured name) in `folder`, or begin it.

        Raises:
            StoreError: the folder cannot be written, the file is damaged, or another version of thinkgap wrote it.
        """
        path = Path(folder).expanduser() / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', judge)}.judgements.sqlite"
        return cls(path, open_file(path, _TABLES, _VERSION))

    def __enter__(self) -> JudgementStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __len__(self) -> int:
        with file_errors(self.path):
            return self._connection.execute("SELECT count(*) FROM judgements").fetchone()[0]

    def get(self, context: Mapping[str, Any], pairs: Iterable[str]) -> dict[str, Judgement]:
        """Judgements made under a context, by pair; those that are not here, or no longer have their digest, are left
        out.

        Args:
            context: all that they depend on beside the pair, as JSON data.
            pairs: digests of pairs.
        """
        found: dict[str, Judgement] = {}
        key = _digest(context)
        with file_errors(self.path):
            for pair in pairs:
                row = self._connection.execute(
                    "SELECT judgement, sha256 FROM judgements WHERE context = ? AND pair = ?", (key, pair)
                ).fetchone()
                if row is None:
                    continue
                if text_digest(row[0]) == row[1]:
                    found[pair] = Judgement(**json.loads(row[0]))
                    continue
                log.warning("%s: a judgement is damaged; it is removed and will be asked for again", self.path)
                self._connection.execute("DELETE FROM judgements WHERE context = ? AND pair = ?", (key, pair))
        return found

    def put(self, context: Mapping[str, Any], judged: Mapping[str, Judgement]) -> None:
        """Store judgements; they are on the disk when this returns. One that is there already stays.

        Args:
            context: all that they depend on beside the pair, as JSON data.
            judged: digest of a pair -> what was said of it.

        Raises:
            StoreError: the disk is full, or the file cannot be written.
        """
        key, now = _digest(context), datetime.now(UTC).isoformat(timespec="seconds")
        texts = {pair: json.dumps(asdict(one), sort_keys=True) for pair, one in judged.items()}
        with file_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute("INSERT OR IGNORE INTO contexts VALUES (?, ?)", (key, _text(context)))
                self._connection.executemany(
                    "INSERT OR IGNORE INTO judgements VALUES (?, ?, ?, ?, ?)",
                    [(key, pair, text, text_digest(text), now) for pair, text in texts.items()],
                )
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _text(context: Mapping[str, Any]) -> str:
    return json.dumps(context, sort_keys=True)


def _digest(context: Mapping[str, Any]) -> str:
    return text_digest(_text(context))
