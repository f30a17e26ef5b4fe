"""Charts of the letter sheets: bars, one series to a condition. Computes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from thinkgap.metrics import Estimate
from thinkgap.metrics.factorial import FACTORS
from thinkgap.readouts.sheet import Cell, Chart, Sheet


def letter_charts(sheets: Sequence[Sheet]) -> list[Chart]:
    """Charts of what `readouts.letters.letter_sheets` gave; what depends on k gets one for each k."""
    charts: list[Chart] = []
    for sheet in sheets:
        if sheet.name == "label_sets":
            charts += [
                _bars("label_sets_first_slot", "First-slot rate by label set", "set", "first_slot", sheet),
                _bars("label_sets_first_label", "First-label rate by label set", "set", "first_label", sheet),
            ]
        elif sheet.name == "label_tokens":
            charts.append(_bars("label_tokens", "Probability of each letter", "letter", "probability", sheet))
        elif sheet.name == "factorial":
            charts += [_shares(k, sheet) for k in _values(sheet, "k")]
        elif sheet.name == "factorial_effects":
            charts += [
                _bars(
                    f"factorial_{name}s_k{k}",
                    f"Effects of {name}s, k = {k}",
                    "level",
                    "effect",
                    sheet,
                    k=k,
                    factor=name,
                )
                for k in _values(sheet, "k")
                for name in _values(sheet, "factor")
            ]
    return charts


def _bars(name: str, title: str, x: str, y: str, sheet: Sheet, **where: Cell) -> Chart:
    return Chart(name, title, "bar", x, y, "condition", tuple(_points(sheet, x, y, **where)))


def _shares(k: Cell, sheet: Sheet) -> Chart:
    points = tuple(
        (factor, share, condition)
        for factor in FACTORS
        for _, share, condition in _points(sheet, "k", f"{factor}_share", k=k)
    )
    return Chart(f"factorial_shares_k{k}", f"Shares of squares, k = {k}", "bar", "factor", "share", "condition", points)


def _points(sheet: Sheet, x: str, y: str, **where: Cell) -> list[tuple[float | str, float, str]]:
    """(x, y, condition) of the rows whose other columns have the given values; figures that are missing have no bar."""
    names = [column.name for column in sheet.columns]
    points: list[tuple[float | str, float, str]] = []
    for row in sheet.rows:
        cells = dict(zip(names, row, strict=True))
        figure = cells[y]
        if any(cells[name] != value for name, value in where.items()):
            continue
        if isinstance(figure, Estimate) and not math.isnan(figure.value):
            points.append((str(cells[x]), figure.value, str(cells["condition"])))
    return points


def _values(sheet: Sheet, name: str) -> list[Cell]:
    place = [column.name for column in sheet.columns].index(name)
    return list(dict.fromkeys(row[place] for row in sheet.rows))
