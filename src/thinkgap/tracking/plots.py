"""matplotlib, where it is at hand: the project does not require it, and draws nothing without it."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def svg_pyplot() -> Any | None:
    """`matplotlib.pyplot` set to draw SVG files that are the same each time, or None."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "thinkgap"
    return importlib.import_module("matplotlib.pyplot")
