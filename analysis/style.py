"""One look for all figures: narrow enough for a column of two-column papers, vector, safe for colour-blind readers.

Colours are those of Okabe and Ito (2008); each series also has its own marker or hatch, so that grey prints suffice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.store.atomic import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN = 3.35
"""Inches: one column of a two-column paper."""
PAGE = 6.9
"""Inches: both columns."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "oo", "**")
ENDINGS = (".pdf", ".svg")
_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,  # text stays text, as journals ask
    "svg.fonttype": "none",
    "svg.hashsalt": "thinkgap",  # the same figure, the same bytes
}


@contextmanager
def house_style() -> Iterator[None]:
    """Figures that are drawn inside look alike; opens no window."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):  # pyright: ignore[reportArgumentType]
        yield


def write_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `folder/name.pdf` and `.svg`, each replacing what was there whole; equal figures give equal bytes.

    Raises:
        StoreError: the disk is full or cannot be written.
    """
    found = []
    for ending in ENDINGS:
        held = io.BytesIO()
        nothing = {"CreationDate": None} if ending == ".pdf" else {"Date": None}
        figure.savefig(held, format=ending[1:], metadata=nothing)
        write_bytes(folder / f"{name}{ending}", held.getvalue())
        found.append(folder / f"{name}{ending}")
    return found
