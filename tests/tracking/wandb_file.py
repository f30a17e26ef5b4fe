"""Reads the `.wandb` file of an offline run, to see what W&B would upload.

wandb 0.31 has no reader in Python. The file is a log in LevelDB's format (7 bytes of header, then blocks of 32 KiB of
chunks with checksum, length and type) of protobuf records.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wandb
from wandb.proto import wandb_internal_pb2 as pb

_BLOCK = 32 * 1024
_HEADER = 7


def records(file: Path) -> Iterator[Any]:
    """The protobuf records in `file`."""
    data = file.read_bytes()
    assert data[:4] == b":W&B"
    place, parts = _HEADER, b""
    while place + _HEADER <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER:
            place += left
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        if kind == 0:  # padding up to the next block
            place += left
            continue
        parts += data[place + _HEADER : place + _HEADER + length]
        place += _HEADER + length
        if kind in (1, 4):  # whole, or last part
            record = pb.Record()  # pyright: ignore[reportAttributeAccessIssue]
            record.ParseFromString(parts)
            yield record
            parts = b""


def read(folder: Path) -> dict[str, Any]:
    """Name, group, job type, tags, config, summary, tables and exit code of the only run in `folder`."""
    wandb.teardown()  # its service writes the last records some milliseconds after finish() returns
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    found: dict[str, Any] = {"config": {}, "summary": {}, "history": {}, "exit_code": None, "raw": file.read_bytes()}
    for record in records(file):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            found |= {"id": run.run_id, "name": run.display_name, "group": run.run_group, "project": run.project}
            found |= {"job_type": run.job_type, "tags": list(run.tags)}
            _update(found["config"], run.config.update)
        elif kind == "config":
            _update(found["config"], record.config.update)
        elif kind == "summary":
            _update(found["summary"], record.summary.update)
        elif kind == "history":
            _update(found["history"], record.history.item)
        elif kind == "exit":
            found["exit_code"] = record.exit.exit_code
    return found


def _update(target: dict[str, Any], items: Any) -> None:
    for item in items:
        target[item.key or ".".join(item.nested_key)] = json.loads(item.value_json)
