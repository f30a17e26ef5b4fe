"""The transfer matrix as a picture. Knows nothing of how it came about."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from probes.transfer import Transfer
from thinkgap.tracking.plots import plain_style

TRANSFER_FILE = "transfer.png"
_DARK = 0.5
"""Accuracy above which a cell is dark, and its figure white."""


def transfer_picture(table: Transfer, title: str) -> bytes | None:
    """Accuracies in percent as PNG, the native readout in a row of its own.

    None where no pair was tested.

    Args:
        table: the matrix.
        title: heading.
    """
    if np.isnan(table.accuracy).all():
        return None
    with plain_style() as pyplot:
        return _drawn(pyplot, table, title)


def _drawn(pyplot: Any, table: Transfer, title: str) -> bytes:
    matrix = [*table.accuracy.tolist(), table.native.tolist()]
    width, height = len(table.read), len(matrix)
    figure, axes = pyplot.subplots(figsize=(3.2 + 0.9 * width, 2.2 + 0.55 * height), layout="constrained")
    image = axes.imshow(100 * np.array(matrix), vmin=0, vmax=100, cmap="Blues", aspect="auto")
    for row, values in enumerate(matrix):
        for column, value in enumerate(values):
            text = "-" if math.isnan(value) else f"{100 * value:.1f}"
            color = "white" if value > _DARK else "black"
            axes.text(column, row, text, ha="center", va="center", color=color, fontsize=10)
    # The native readout is no probe: a line sets it apart.
    axes.axhline(height - 1.5, color="black", linewidth=2)
    axes.set_xticks(range(width), table.read, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(height), [*table.trained, "native readout"])
    axes.set_xlabel("read under")
    axes.set_ylabel("probe trained on")
    axes.set_title(title, fontsize=11)
    figure.colorbar(image, label="accuracy %")
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=150, metadata={"Software": None})
    pyplot.close(figure)
    return sink.getvalue()
