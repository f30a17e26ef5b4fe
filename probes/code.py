"""Digest of the sources of this package: results of two versions must not be mixed. Knows files alone."""

from __future__ import annotations

import hashlib
from pathlib import Path


def probes_digest() -> str:
    """16 hexadecimal digits over the names and contents of all files."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
