"""Paths with `~` for a home folder. It does not know what stands there."""

from __future__ import annotations

from pathlib import Path


def expanded(path: str | Path) -> Path:
    """`path` with `~` and `~NAME` replaced; as it is where there is no such home, so that it is simply not found."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def is_there(path: str | Path) -> bool:
    """Whether there is a file or folder of that name; a name that is too long for one is none."""
    try:
        return expanded(path).exists()
    except OSError:
        return False
