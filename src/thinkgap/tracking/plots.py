"""matplotlib, loaded when something is drawn and set so that the same figure is the same file each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def load_pyplot() -> Any:
    """`matplotlib.pyplot` without a display."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "thinkgap"
    from matplotlib import pyplot

    return pyplot


@contextmanager
def plain_style() -> Iterator[Any]:
    """`matplotlib.pyplot` with matplotlib's own settings inside, whatever this process or its user has set."""
    pyplot = load_pyplot()
    with pyplot.style.context(["default", {"svg.hashsalt": "thinkgap"}]):
        yield pyplot
