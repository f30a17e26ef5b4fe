"""Fuzz target: a file of responses in any format, or none, is read or refused with a reason, never anything else."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.errors import ThinkgapError
    from thinkgap.importers import FORMATS, load_responses
    from thinkgap.responses.answered import read_answered

_FILE = Path(tempfile.mkdtemp(prefix="fuzz-importers-")) / "samples_task_2025-01-01T00-00-00.jsonl"
_GOOD = b'{"id": "good one", "question": "1 + 1?", "gold": "2", "space": "open", "response": "2"}\n'


def check(data: bytes) -> None:
    """The first byte chooses the format (or that it is told by the content), the rest is the file."""
    if not data:
        return
    formats = (*FORMATS, "auto")
    kind = formats[data[0] % len(formats)]
    good = data[0] >= 128 and kind == "jsonl" and b"\0" not in data  # many zero bytes are UTF-16
    _FILE.write_bytes((_GOOD if good else b"") + data[1:])
    try:
        found = load_responses(_FILE, kind)
    except ThinkgapError as error:
        if good or not str(error):
            raise AssertionError("a bad row loses no good one, and a refusal has a reason") from error
        return
    if good:
        assert found.answered[0].question.item_id == "good one"
    assert len({one.question.item_id + one.mode for one in found.answered}) > 0
    for bad in found.bad:
        f"{bad.id}: {bad.reason}".encode()
    for one in found.answered[:5]:
        read_answered(one)


if __name__ == "__main__":
    fuzz("importers", check)
