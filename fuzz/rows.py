"""Fuzz target: a data set's JSONL file becomes items and bad rows, and a bad row loses no good one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.data.jsonlines import json_row
    from thinkgap.data.registry import ADAPTERS
    from thinkgap.data.rows import parse_rows
    from thinkgap.store.items import write_items

_GOOD = b'{"id": "good one", "question": "Is 2 even?", "answer": true}'
_NAMES = ("jsonl", "scienceqa", "ai2d", "mmbench", "mmlu", "mmlu_pro", "boolq", "gsm8k", "math", "strategyqa", "mmmu")
_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-rows-"))
_NOWHERE = Path("/nonexistent-folder-of-pictures")


def check(data: bytes) -> None:
    """The first byte chooses the adapter, the rest are lines."""
    if not data:
        return
    adapter = ADAPTERS[_NAMES[data[0] % len(_NAMES)]]
    lines = [line for line in data[1:].split(b"\n") if line.strip()]
    good = [_GOOD] if adapter.name == "jsonl" else []
    rows = [json_row(line, number, _NOWHERE) for number, line in enumerate([*good, *lines], start=1)]
    parsed = parse_rows(rows, adapter, "test")
    assert len(parsed.items) + len(parsed.bad) + parsed.n_filtered.total() == len(rows) == parsed.n_rows
    if good:
        assert parsed.items
        assert parsed.items[0].id == "good one"
    for bad in parsed.bad:
        assert bad.reason
        f"{bad.id}: {bad.reason}".encode()
    write_items(_FOLDER, {"fuzz": parsed.items})


if __name__ == "__main__":
    fuzz("rows", check)
