"""Members of a zip file, also those packed with zstd, which Python's own `zipfile` reads only from 3.14 on.

It does not know what the members hold.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import BinaryIO

_ZSTD = 93
"""Compression method of the zip format's appendix (APPNOTE 4.4.5)."""
_LOCAL_HEADER = 30
LARGEST = 1 << 30
"""Bytes of one member, unpacked; more is a bomb and no log of a sample."""


def read_member(stream: BinaryIO, archive: zipfile.ZipFile, name: str) -> bytes:
    """The unpacked bytes of one member.

    Args:
        stream: the file that `archive` was opened from.
        archive: its directory.
        name: of the member; the last one, if a later write added it again.

    Raises:
        ValueError: damaged, packed in an unknown way, or far too large.
    """
    import pyarrow as pa

    info = archive.getinfo(name)
    # What the directory says binds both ways of unpacking: neither hands out more.
    if info.file_size > LARGEST:
        raise ValueError(f"{name} would be {info.file_size:,} bytes unpacked, more than {LARGEST:,}")
    try:
        if info.compress_type != _ZSTD:
            return archive.read(info)
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER)
        # The name and the extra field before the data may be longer here than in the directory.
        stream.seek(sum(struct.unpack_from("<HH", header, 26)), 1)
        packed = stream.read(info.compress_size)
        data = pa.Codec("zstd").decompress(packed, decompressed_size=info.file_size, asbytes=True)
    except (
        OSError,
        EOFError,
        zlib.error,
        struct.error,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        MemoryError,
        ValueError,
    ) as error:
        raise ValueError(f"{name} cannot be unpacked: {error}") from None
    if zlib.crc32(data) != info.CRC:
        raise ValueError(f"{name} is damaged (its checksum does not fit)")
    return data
