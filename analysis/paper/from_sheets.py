"""Figures of printed tables under the keys of the studies: which column is which figure, and of what.

Takes `sources` for what the columns are. Knows no run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.paper.sources import NAMES, SPACE, VARIANTS, Source
from thinkgap.metrics import Estimate
from thinkgap.nothinking.rated import ALL
from thinkgap.nothinking.tables import EQUAL, POOLED
from thinkgap.readouts.sheet import Cell, Sheet

Key = tuple[tuple[str, str], ...]
"""Values of some of `KEYS`, sorted."""


@dataclass(frozen=True)
class Ours:
    """One of our figures."""

    table: str
    """Catalogue id of the table that it belongs to."""
    study: str
    keys: Mapping[str, str]
    measure: str
    estimate: Estimate
    """Shares are in [0, 1]."""
    run: str
    """Folder of the run."""


def of_sheets(
    sheets: Sequence[Sheet], sources: Mapping[str, Source], study: str, folder: Path, fixed: Mapping[str, str]
) -> Iterator[Ours]:
    """The figures of `sheets` that `sources` name.

    Args:
        sheets: printed tables.
        sources: by name of the table.
        study: `prefix` or `inertia`.
        folder: where they come from.
        fixed: keys that no column has.
    """
    for sheet in sheets:
        source = sources.get(sheet.name)
        if sheet.name.startswith("nothinking_judged_") and "lengths" not in sheet.name:
            judge = sheet.name.removeprefix("nothinking_judged_")
            source = Source(("D.4",), SPACE, {"paraphrase_only": ("paraphrase_only", {"judge": judge})})
        if source is not None:
            yield from _of_sheet(sheet, source, study, folder, fixed)


def _of_sheet(sheet: Sheet, source: Source, study: str, folder: Path, fixed: Mapping[str, str]) -> Iterator[Ours]:
    places = {column.name: place for place, column in enumerate(sheet.columns)}
    equally = {
        _identity(row, places, source) for row in sheet.rows if "average" in places and row[places["average"]] == EQUAL
    }
    for row in sheet.rows:
        # Where data sets can count equally they do, as in the studies' families.
        if "average" in places and row[places["average"]] != EQUAL and _identity(row, places, source) in equally:
            continue
        if not all(_is(row, places, name, value) for name, value in source.where.items()):
            continue
        own = {key: NAMES.get(str(row[places[name]]), str(row[places[name]])) for name, key in source.keys.items()}
        if "layer" in own:
            own["layer"] = own["layer"].removeprefix("layer_")  # states of probes are called so
        if own.get("model") == ALL:
            own["model"] = ""  # the studies name no model there
        if source.pair is not None:
            own["judge"] = " and ".join(str(row[places[name]]) for name in source.pair)
        if own.get("dataset") == POOLED:
            own["dataset"] = ""
        if "variant" in own:
            own["variant"] = VARIANTS.get(own["variant"], own["variant"])
        for name, place in places.items():
            named = _measure(name, source)
            estimate = _estimate(row[place], row, places)
            if named is None or estimate is None:
                continue
            measure, more = named
            for table in source.tables:
                yield Ours(table, study, {**fixed, **own, **more}, measure, estimate, str(folder))


def _is(row: Sequence[Cell], places: Mapping[str, int], name: str, value: str) -> bool:
    """Whether a row is one that `Source.where` names."""
    wanted = [str(row[places[value.removeprefix("@")]])] if value.startswith("@") else value.split("|")
    return str(row[places[name]]) in wanted


def _identity(row: Sequence[Cell], places: Mapping[str, int], source: Source) -> tuple[str, ...]:
    return tuple(str(row[places[name]]) for name in source.keys)


def _measure(column: str, source: Source) -> tuple[str, dict[str, str]] | None:
    if column in source.measures and not column.endswith("_"):
        measure, more = source.measures[column]
        return measure, dict(more)
    for start, (measure, more) in source.measures.items():
        if start.endswith("_") and column.startswith(start) and not column.endswith("_difference"):
            rest = column.removeprefix(start)
            return measure, {key: rest if value == "*" else value for key, value in more.items()}
    return None


def _estimate(cell: Cell, row: Sequence[Cell], places: Mapping[str, int]) -> Estimate | None:
    if isinstance(cell, Estimate):
        return cell if cell.n else None
    if isinstance(cell, bool | str) or not isinstance(cell, int | float) or math.isnan(cell):
        return None
    n = row[places["n"]] if "n" in places else 0
    return Estimate(float(cell), math.nan, math.nan, int(n) if isinstance(n, int) else 0)
