"""An SQLite file that several processes write, and that keeps what it was given although they are killed.

Opens it, and turns its errors into messages with a way out. Knows no table's meaning.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from thinkgap.errors import StoreError

_WAIT = 60.0
"""Seconds for which a writer waits for another one."""
_WAY_OUT = "choose another folder with paths.responses_dir=..."


def open_file(path: Path, tables: Sequence[str], version: int) -> sqlite3.Connection:
    """Open a file, or begin it.

    What a killed or crashed writer left unfinished at the end is dropped by SQLite, and nothing else. Each statement is
    a transaction of its own.

    Args:
        path: the file; its folder is made.
        tables: statements that create its tables.
        version: of their form.

    Raises:
        StoreError: the folder cannot be written, the file is damaged, or another version of thinkgap wrote it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made ({error.strerror}): {_WAY_OUT}") from error
    # SQLite does not wait for its turn while a new file is set up.
    with file_errors(path), FileLock(f"{path}.lock", timeout=_WAIT):
        # Replies are written by a thread of their own; one thread at a time uses the connection.
        connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, tables, version)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file as a message that says which, and what to do.

    Raises:
        StoreError: in place of errors of SQLite and of the disk.
    """
    try:
        yield
    except (sqlite3.OperationalError, Timeout, OSError) as error:
        raise StoreError(
            f"{path} cannot be used ({error}); free space or wait for other writers, or {_WAY_OUT}"
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged ({error}): move it away and start the same command again, or recover it with "
            "`sqlite3 FILE .recover`"
        ) from error


def text_digest(text: str) -> str:
    """SHA-256 of an ASCII text, such as JSON."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _prepare(connection: sqlite3.Connection, path: Path, tables: Sequence[str], version: int) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # With NORMAL, a power cut would take the last rows of a WAL file along. A reply takes seconds to come and may
    # cost money; syncing it takes milliseconds.
    connection.execute("PRAGMA synchronous = FULL")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, version):
        raise StoreError(f"{path} was written by another version of thinkgap (form {found}); {_WAY_OUT}")
    if found == 0:
        for table in tables:
            connection.execute(table)
        connection.execute(f"PRAGMA user_version = {version}")
