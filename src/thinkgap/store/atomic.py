"""Writing files so that a reader, or the next start, sees the whole file or none of it.

Each write goes to a temporary name in the same folder, is flushed to disk, and is then renamed. Knows nothing of what
the files hold.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

TEMPORARY = ".tmp"
"""Ending of a file that is being written; what a killed run left under it can be deleted."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn "disk full" and "read-only" inside the block into a StoreError that names `folder` and what is safe."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreError(
                f"no space left (or quota reached) while writing in {folder}: {error.strerror}. Shards and files "
                "written earlier are intact; free space and start the same command again to resume"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
            raise StoreError(
                f"cannot write in {folder}: {error.strerror}; choose another folder with hydra.run.dir=... (for "
                "finished cells: paths.cells_dir=...)"
            ) from error
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, replacing it whole.

    Raises:
        StoreError: The disk is full, or the folder cannot be written; `path` is then as it was.
    """
    # Several processes may write the same name at once; each has its own temporary file and the last rename wins.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    with disk_errors(path.parent):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with its line ends as given; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def parquet_bytes(table: pa.Table) -> bytes:
    """`table` as a Parquet file with zstd and page checksums; equal tables give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue().to_pybytes()


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write `table` as Parquet; see `write_bytes` and `parquet_bytes`."""
    write_bytes(path, parquet_bytes(table))


def remove_temporaries(folder: Path, name: str, age: float = 0.0) -> None:
    """Delete what killed writers of `folder/name` left behind.

    Args:
        folder: Where they wrote.
        name: File name, or a glob pattern of names.
        age: Seconds since the last change; 0 only when no writer of that name can be at work.
    """
    for leftover in folder.glob(f".{name}.*{TEMPORARY}"):
        remove_older(leftover, age)


def remove_older(path: Path, age: float) -> None:
    """Delete `path` if it was last changed `age` seconds ago or earlier; another process may be faster."""
    with contextlib.suppress(FileNotFoundError):
        if age <= 0 or time.time() - path.stat().st_mtime >= age:
            path.unlink()


def _sync_folder(folder: Path) -> None:
    # Makes the rename itself durable. Some file systems and Windows cannot sync a folder; the file is whole anyway.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
