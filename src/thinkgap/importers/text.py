"""Bytes of a text file to UTF-8 lines, and JSON lines to rows; what is no text is refused with the way out.

It does not know what the lines mean.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from thinkgap.data.jsonlines import json_row
from thinkgap.errors import DataError
from thinkgap.importers.found import Found

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_SAVE = "save it as UTF-8"
_ZERO_SHARE = 5
"""Of UTF-16 in Latin script every second byte is zero; a stray one makes its line a bad row, and no more."""


def read_file(path: Path) -> bytes:
    """The bytes of a file that is there and not empty.

    Raises:
        DataError: it is missing, a folder, unreadable or empty.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder: give one file of responses")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if not data.strip():
        raise DataError(f"{path} is empty: it holds no response")
    return data


def as_utf8(data: bytes, path: Path) -> tuple[bytes, tuple[str, ...]]:
    """`data` in UTF-8 without a byte order mark, and notes on what was done.

    A file that says by its mark that it is UTF-16 or UTF-32 is read as such. Bytes that are not UTF-8 stay: the line
    that holds them is a bad row, and so is one with a zero byte.

    Raises:
        DataError: text of two bytes a character without a mark, or text that breaks off.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode("utf-8"), (f"the file is {encoding}; it was read as such",)
            except UnicodeError as error:
                where = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
                raise DataError(f"{path} begins as {encoding} and is not{where}: {_SAVE}") from None
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.count(b"\0") * _ZERO_SHARE > len(data):
        line, column = place(data, data.index(b"\0"))
        raise DataError(
            f"{path}, line {line}, byte {column}: a zero byte; it is UTF-16 without its mark, or no text: {_SAVE}"
        )
    return data, ()


def place(data: bytes, position: int) -> tuple[int, int]:
    """Line and byte within the line, both from 1."""
    return data.count(b"\n", 0, position) + 1, position - data.rfind(b"\n", 0, position)


def json_lines(data: bytes, folder: Path) -> list[Found]:
    """One row per line that is not blank; what is no JSON object is a row with its problem.

    A byte order mark in front of a line is what joining two files leaves; it is no part of the line.
    """
    lines = (line.removeprefix(codecs.BOM_UTF8) for line in data.split(b"\n"))
    return [
        Found(f"line {number}", json_row(line, number, folder))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
