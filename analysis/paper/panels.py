"""Panels of figures: lines with intervals, grouped bars, heat maps with their numbers. Knows no study and no run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.style import HATCHES, MARKERS, PALETTE

Point = tuple[float, float, float, int] | None
"""Value, ends of its interval (NaN without one), and n; None where there is no figure."""


def lines(axis: Any, ticks: Sequence[str], series: Mapping[str, Sequence[Point]], *, label: str, title: str) -> None:
    """Each series over the ticks with its intervals; gaps where there is no figure."""
    for place, (name, points) in enumerate(series.items()):
        at = [x + (place - (len(series) - 1) / 2) * 0.08 for x, one in enumerate(points) if one is not None]
        there = [one for one in points if one is not None]
        if there:
            axis.errorbar(
                at,
                [one[0] for one in there],
                yerr=_errors(there),
                marker=MARKERS[place % len(MARKERS)],
                color=PALETTE[place % len(PALETTE)],
                elinewidth=0.7,
                capsize=1.5,
                label=_named(name, there),
            )
    _dress(axis, ticks, label, title)


def bars(axis: Any, ticks: Sequence[str], series: Mapping[str, Sequence[Point]], *, label: str, title: str) -> None:
    """A group of bars at each tick, a bar for each series, with intervals."""
    width = 0.8 / max(1, len(series))
    for place, (name, points) in enumerate(series.items()):
        there = [(x, one) for x, one in enumerate(points) if one is not None]
        if there:
            own = [one for _, one in there]
            axis.bar(
                [x + (place - (len(series) - 1) / 2) * width for x, _ in there],
                [one[0] for one in own],
                width,
                yerr=_errors(own),
                color=PALETTE[place % len(PALETTE)],
                hatch=HATCHES[place % len(HATCHES)],
                edgecolor="white",
                linewidth=0.3,
                error_kw={"elinewidth": 0.7, "capsize": 1.5},
                label=_named(name, own),
            )
    axis.axhline(0, color="black", linewidth=0.5)
    _dress(axis, ticks, label, title)


def heat(
    axis: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    table: Sequence[Sequence[float | None]],
    *,
    title: str,
    centred: bool = False,
) -> None:
    """Numbers on colours, missing ones blank.

    Args:
        axis: where.
        rows: names, from above.
        columns: names.
        table: by row.
        title: what the numbers are, with the unit.
        centred: whether 0 is the middle of the colours.
    """
    values = [[math.nan if one is None else one for one in row] for row in table]
    known = [one for row in values for one in row if not math.isnan(one)]
    top = max((abs(one) for one in known), default=1.0) or 1.0
    low = -top if centred else min(0.0, *known, 0.0)
    image = axis.imshow(values, cmap="RdBu" if centred else "Blues", vmin=low, vmax=top, aspect="auto")
    for y, row in enumerate(values):
        for x, one in enumerate(row):
            if not math.isnan(one):
                red, green, blue, _ = image.cmap(image.norm(one))
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
                text = f"{one:.2f}" if top <= 1.5 else f"{one:.1f}"
                axis.text(x, y, text, ha="center", va="center", color="white" if dark else "black", fontsize=7)
    axis.set_xticks(range(len(columns)), columns, rotation=30 if max(map(len, columns), default=0) > 6 else 0)
    axis.set_yticks(range(len(rows)), rows)
    axis.set_title(title)


def _errors(points: Sequence[tuple[float, float, float, int]]) -> list[list[float]]:
    """Lengths of the error bars, 0 where there is no interval."""
    below = [0.0 if math.isnan(one[1]) else max(0.0, one[0] - one[1]) for one in points]
    above = [0.0 if math.isnan(one[2]) else max(0.0, one[2] - one[0]) for one in points]
    return [below, above]


def _named(name: str, points: Sequence[tuple[float, float, float, int]]) -> str:
    sizes = sorted({one[3] for one in points})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"{name} (n = {n})"


def _dress(axis: Any, ticks: Sequence[str], label: str, title: str) -> None:
    axis.set_xticks(range(len(ticks)), ticks, rotation=30 if max(map(len, ticks), default=0) > 6 else 0)
    axis.set_xlim(-0.6, len(ticks) - 0.4)
    axis.set_ylabel(label)
    axis.set_title(title)
