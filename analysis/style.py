"""The house style of figures: one column of a two-column paper, 8 pt, vector text, colours for all readers.

Notebooks call `new_figure()` for each figure; code draws inside `house_style()`. Knows no run. Runs keep their own
plots (`tracking.plots`, `probes.heat_map`), which are for screens.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thinkgap.errors import ConfigError
from thinkgap.store.atomic import disk_errors, write_bytes
from thinkgap.tracking.plots import load_pyplot

COLUMN, PAGE = 3.35, 7.0
"""Widths in inches: one column, and both with the gap between them."""
POINTS = 8
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's eight colours (2008), dark ones first, so that few series need no light one on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "oo", "**")
"""What tells series apart in grey print."""
_FORMATS = ("pdf", "svg", "png")


def use() -> Any:
    """Set matplotlib's defaults for all figures to come; returns `matplotlib.pyplot`."""
    pyplot = load_pyplot()
    pyplot.rcParams.update(settings())
    return pyplot


def settings() -> dict[str, Any]:
    """The matplotlib settings of the style."""
    from cycler import cycler

    return {
        "figure.figsize": (COLUMN, 2.2),
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,
        "savefig.dpi": 300,
        "font.size": POINTS,
        "axes.titlesize": POINTS,
        "axes.labelsize": POINTS,
        "xtick.labelsize": POINTS - 1,
        "ytick.labelsize": POINTS - 1,
        "legend.fontsize": POINTS - 1,
        "legend.frameon": False,
        "axes.prop_cycle": cycler(color=list(PALETTE)),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "errorbar.capsize": 2,
        # Type 42 keeps text as text: conferences refuse Type 3 fonts, and readers can search it.
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "thinkgap",  # the same figure, the same ids
    }


@contextmanager
def house_style() -> Iterator[None]:
    """Figures that are drawn inside have the style; what comes after is as it was."""
    pyplot = load_pyplot()
    with pyplot.rc_context(settings()):
        yield


def new_figure(height: float = 2.2, panels: int = 1, width: float = COLUMN) -> tuple[Any, Any]:
    """A figure of that size in inches, with its axes, or an array of `panels` side by side."""
    return use().subplots(1, panels, figsize=(width, height))


def with_unit(name: str, unit: str = "", n: int | None = None) -> str:
    """A label with what a reader needs: `accuracy (%), n = 40`."""
    text = f"{name} ({unit})" if unit else name
    return text if n is None else f"{text}, n = {n:,}"


def error_bars(estimates: Sequence[Any], scale: float = 100.0) -> tuple[list[float], list[list[float]]]:
    """Values and the lengths of their error bars below and above, as `errorbar` and `bar` take them.

    Args:
        estimates: figures with their intervals (`metrics.Estimate`); one without an interval has a bar of length 0.
        scale: of the axis; 100 for percent.
    """
    values = [scale * one.value for one in estimates]
    below = [scale * (one.value - one.low) if one.low == one.low else 0.0 for one in estimates]
    above = [scale * (one.high - one.value) if one.high == one.high else 0.0 for one in estimates]
    return values, [below, above]


def save(figure: Any, path: Path | str) -> Path:
    """Write a figure whole, in the format of its ending; equal figures give equal bytes.

    Raises:
        ConfigError: another ending than `.pdf`, `.svg` (vector) or `.png`.
        StoreError: the disk is full, or the folder cannot be written.
    """
    path = Path(path)
    kind = path.suffix.removeprefix(".")
    if kind not in _FORMATS:
        raise ConfigError(f"{path}: figures are saved as .pdf or .svg, which keep text as text, or as .png")
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[kind]
    sink = io.BytesIO()
    figure.savefig(sink, format=kind, metadata=undated)
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, sink.getvalue())
    return path


class Shown:
    """A figure as a notebook shows it: the last line of a cell is `Shown(figure)`."""

    def __init__(self, figure: Any) -> None:
        self._figure = figure

    def __repr__(self) -> str:
        return "<figure>"

    def _repr_png_(self) -> bytes:
        sink = io.BytesIO()
        self._figure.savefig(sink, format="png", dpi=150, metadata={"Software": None})
        return sink.getvalue()
