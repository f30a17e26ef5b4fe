"""`python -m fuzz.choose TARGET FOLDER`: copies to the kept inputs those that reach lines which no kept one reaches.

Small inputs come first, and no more than forty are kept. (libFuzzer's own `-merge` starts itself again, which a Python
module cannot be.) It does not know what a target checks.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.driver import CORPUS, kept

_MOST = 40
_LONGEST = 600
"""Bytes of an input."""


def lines_of(check: Callable[[bytes], None], data: bytes) -> set[tuple[str, int]]:
    """Files and lines of thinkgap that one input reaches."""
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if "thinkgap" not in name or "site-packages" in name:
            return None
        if event == "line":
            reached.add((name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check(data)
    finally:
        sys.settrace(before)
    return reached


def choose(target: str, folder: Path) -> int:
    """Copy inputs of `folder` and return how many; they are named after their digests."""
    check = importlib.import_module(f"fuzz.{target}").check
    reached: set[tuple[str, int]] = set()
    n = 0
    for _, data in kept(target):
        reached |= lines_of(check, data)
        n += 1
    copied = 0
    for file in sorted(folder.iterdir(), key=lambda one: (one.stat().st_size, one.name)):
        if n + copied >= _MOST or file.stat().st_size > _LONGEST:
            break
        data = file.read_bytes()
        found = lines_of(check, data)
        if found - reached:
            reached |= found
            (CORPUS / target / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            copied += 1
    return copied


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m fuzz.choose TARGET FOLDER")
    print(f"{choose(sys.argv[1], Path(sys.argv[2]))} inputs copied")
