"""Progress bars with rate and time left, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(
    iterable: Iterable[T] | None = None,
    *,
    total: int | None = None,
    initial: int = 0,
    description: str = "",
    unit: str = "item",
    enabled: bool = True,
) -> tqdm[T]:
    """A bar over `iterable`, or one to `update(n)` by hand.

    Args:
        iterable: What to go through; None for updates by hand.
        total: Number of units in all.
        initial: Units done before, by a run that is resumed; they do not count towards the rate.
        description: Text before the bar.
        unit: What is counted.
        enabled: False (`trainer.progress=false`) shows nothing; True shows the bar if stderr is a terminal.
    """
    bar: tqdm[Any] = tqdm(
        iterable,
        total=total,
        initial=initial,
        desc=description or None,
        unit=unit,
        # None is tqdm's "off unless this is a terminal": log files stay free of bars.
        disable=None if enabled else True,
        # A terminal that does not tell its width (0) would get empty bars.
        ncols=None if _terminal_width() else 80,
        dynamic_ncols=bool(_terminal_width()),
    )
    return bar


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 0
