"""Reads a JSONL file line by line, so that a broken line is one bad row with its number.

It knows JSON and nothing of questions.
"""

from __future__ import annotations

import json
from pathlib import Path

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError


def read_jsonl(file: Path) -> list[Row]:
    """One row per line that is not blank; a line that is no JSON object is a row that carries its `problem`."""
    try:
        lines = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from error
    return [json_row(line, number, file.parent) for number, line in enumerate(lines, start=1) if line.strip()]


def json_row(line: bytes, number: int, folder: Path) -> Row:
    """The row of one line; `number` is for its problem."""
    try:
        values = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        return Row({}, folder, problem=f"line {number} is not UTF-8: {error.reason} at byte {error.start}")
    except json.JSONDecodeError as error:
        return Row({}, folder, problem=f"line {number} is not JSON: {error.msg} at character {error.pos + 1}")
    except (ValueError, RecursionError) as error:
        return Row({}, folder, problem=f"line {number} is not usable JSON: {error}")
    if not isinstance(values, dict):
        return Row({}, folder, problem=f"line {number} is a JSON {type(values).__name__}, not an object")
    return Row(values, folder)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"key {twice!r:.80} stands twice")
    return values
