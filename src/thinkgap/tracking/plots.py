"""matplotlib, loaded when something is drawn and set so that the same figure is the same file each time."""

from __future__ import annotations

from typing import Any


def load_pyplot() -> Any:
    """`matplotlib.pyplot` without a display."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "thinkgap"
    from matplotlib import pyplot

    return pyplot
