"""Which format a file has, by its content; suffixes lie and are not asked.

It knows what sets formats apart and nothing of what their rows mean.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Literal, get_args

from thinkgap.errors import DataError
from thinkgap.importers.found import REQUIRED
from thinkgap.importers.text import as_utf8

Format = Literal["jsonl", "parquet", "lm_eval", "inspect", "vlmeval"]
FORMATS: tuple[Format, ...] = get_args(Format)

LM_EVAL_KEYS = ("doc", "target", "arguments", "resps")
SHEET_COLUMNS = ("index", "question", "answer", "prediction")
_LOOKED_AT = 20
_ROWS = "write its rows as JSON Lines or Parquet"
_REFUSED = {
    b"\x1f\x8b": "is compressed with gzip: unpack it",
    b"\xfd7zXZ": "is compressed with xz: unpack it",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd: unpack it",
    b"\x93NUMPY": f"is a NumPy array: {_ROWS}",
    **{
        bytes([0x80, version]): f"is a pickle, which can run any program when it is read: {_ROWS}"
        for version in range(2, 6)
    },
    b"\xd0\xcf\x11\xe0": "is a sheet of old Excel (.xls), or a locked one: save it as .xlsx without a password",
}


def detect(data: bytes, path: Path) -> Format:
    """The format of a file.

    Args:
        data: its bytes, not empty.
        path: for messages.

    Raises:
        DataError: it is of no format that can be read, with what it seems to be.
    """
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data, path)
    for magic, what in _REFUSED.items():
        if data.startswith(magic):
            raise DataError(f"{path} {what}")
    text, _ = as_utf8(data, path)
    if not text.strip():
        raise DataError(f"{path} is empty: it holds no response")
    start = text.lstrip()[:1]
    if start == b"[":
        raise DataError(f"{path} is a JSON array: write one object per line (JSON Lines)")
    if start == b"{":
        return _json(text, path)
    header = text.lstrip(b"\n").partition(b"\n")[0].decode("utf-8", "replace")
    names = [name.strip().strip('"').lower() for name in header.split("\t")]
    if len(names) > 1:
        return "vlmeval"
    if "," in header:
        raise DataError(f"{path} is a table with commas: save it with tabs (.tsv), or as .xlsx")
    raise DataError(
        f"{path} is neither JSON Lines, Parquet, a sheet (.tsv, .xlsx) nor an .eval log; it begins with {header[:60]!r}"
    )


def _zipped(data: bytes, path: Path) -> Format:
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError(f"{path} is a damaged zip file ({error}): copy it again") from None
    if "xl/workbook.xml" in names:
        return "vlmeval"
    if "header.json" in names or "_journal/start.json" in names:
        return "inspect"
    if any(name.endswith(("data.pkl", ".npy")) for name in names):
        raise DataError(f"{path} is a file of PyTorch or NumPy, which may hold a pickle: {_ROWS}")
    raise DataError(f"{path} is a zip file, but no .eval log and no .xlsx sheet: unpack it and give one file")


def _json(text: bytes, path: Path) -> Format:
    """By the keys of the first objects; a file of one object over many lines is told by that object."""
    objects = []
    for line in text.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        if (found := _object(line)) is not None:
            objects.append(found)
    if not objects and (whole := _object(text)) is not None:
        objects.append(whole)
    keys = {key for found in objects for key in found}
    if set(LM_EVAL_KEYS) <= keys:
        return "lm_eval"
    if not keys & set(REQUIRED):
        if {"results", "configs"} <= keys:
            raise DataError(
                f"{path} is lm-evaluation-harness's file of results: it has no replies; give the samples_*.jsonl "
                "beside it (written with --log_samples)"
            )
        if {"eval", "version"} <= keys:
            raise DataError(
                f"{path} is an inspect log as JSON: convert it "
                f"(inspect log convert --to eval --output-dir FOLDER {path.name})"
            )
    return "jsonl"


def _object(text: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
