"""A table of a study: our figures, the published ones, and their differences, cell by cell.

Every row stands three times: ours, the paper's, the difference. A row that only the paper has is one that no run has
measured, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.paper.ours import Ours, Run
from analysis.paper.specs import NO_FIGURES, SPECS, Column, Spec
from analysis.reference.blocks import KEYS, Published, measures
from analysis.reference.catalogue import catalogue
from analysis.reference.load import figures
from thinkgap.errors import DataError, nearest
from thinkgap.metrics import Estimate
from thinkgap.store.item_fields import natural

_MODES = ("think_on", "think_off", "cot", "soft", "strict", "prefix")
_CONDITIONS = ("direct", "let_me_think", "lets_think", "lets_solve", "lets_reason", "reasoning")
_VARIANTS = ("identity", "shuffle", "numeric")
_SCALE = {"percent": 100.0, "points": 100.0}
"""Ours are shares; the published ones are as printed."""
_STUDYS = frozenset(("qwen3_embedding_4b", "gpt_5_5", "gpt_5_5 and claude_opus"))
"""The study's main encoder and judge."""
_UNITS = {"percent": 1, "points": 1, "cosine": 3, "rank": 0, "count": 0}
"""Decimals of ours, by unit."""


@dataclass(frozen=True)
class Cell:
    """One figure, ours and the paper's; None where there is none."""

    ours: Estimate | None
    published: Published | None
    unit: str

    @property
    def scaled(self) -> tuple[float, float, float] | None:
        """Our value and interval in the published unit."""
        if self.ours is None:
            return None
        factor = _SCALE.get(self.unit, 1.0)
        return self.ours.value * factor, self.ours.low * factor, self.ours.high * factor

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in the published unit."""
        scaled = self.scaled
        return None if scaled is None or self.published is None else scaled[0] - self.published.value


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    n: int | None
    """Of our first figure."""
    runs: tuple[str, ...]
    """Folders of our runs behind it."""
    measured_by: tuple[str, ...] = ()
    """Encoders and judges of our figures."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a study as our runs fill it."""

    study: str
    id: str
    title: str
    spec: Spec
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    @property
    def measured(self) -> bool:
        """Whether any run has a figure of it."""
        return any(line.runs for line in self.lines)


def paper_table(study: str, table: str, runs: Sequence[Run]) -> PaperTable:
    """One table.

    Args:
        study: `prefix` or `inertia`.
        table: catalogue id.
        runs: finished runs.

    Raises:
        DataError: no such study or table, or one that has no layout here.
    """
    entries = {entry.id: entry for entry in catalogue(study)}
    if table not in entries:
        raise DataError(f"the {study} study has no {table!r}{nearest(table, entries)}")
    if table not in SPECS[study]:
        why = NO_FIGURES.get(table, "") if study == "inertia" else ""
        raise DataError(f"{study}.{table} has no table of figures here: {why or entries[table].needs}")
    spec, entry = SPECS[study][table], entries[table]
    ours = [one for run in runs for one in run.figures if one.study == study and one.table == table]
    published = [one for one in figures(study) if one.table == table]
    lines = tuple(_lines(spec, ours, published))
    used = {run for line in lines for run in line.runs}
    notes = [f"Needs: {entry.needs}."] if not used else []
    if entry.note:
        notes.append(f"Published: {entry.note}.")
    if spec.pooled:
        notes.append("The published figures are over all models of the study; ours are of one model each.")
    others = sorted({name for line in lines for name in line.measured_by} - _STUDYS)
    if others and not {"encoder", "judge"} & set(spec.rows):
        said = ", ".join(f"{one} (rules, no EIR)" if one == "rules" else one for one in others)
        notes.append(f"Ours are measured by {said}; the study's by Qwen3-Embedding-4B and GPT-5.5.")
    for run in runs:
        if str(run.folder) in used and run.departures:
            notes.append(f"{run.folder.name}: {'; '.join(run.departures)}.")
    return PaperTable(study, table, entry.title, spec, lines, tuple(notes))


def _measured_by(one: Ours) -> tuple[str, ...]:
    """Encoder or judge behind a figure."""
    return tuple(one.keys[name] for name in ("encoder", "judge") if one.keys.get(name))


def _lines(spec: Spec, ours: Sequence[Ours], published: Sequence[Published]) -> Iterator[Line]:
    rows: dict[tuple[str, ...], tuple[list[Ours], list[Published]]] = {}
    for one in ours:
        if any(_fits(column, one.measure, one.keys) for column in spec.columns):
            rows.setdefault(_row(spec, one.keys), ([], []))[0].append(one)
    for other in published:
        if any(_fits(column, other.measure, other.keys) for column in spec.columns):
            for row in _rows_of(spec, other, rows):
                rows.setdefault(row, ([], []))[1].append(other)
    for row in sorted(rows, key=lambda row: _order(spec, row)):
        own, theirs = rows[row]
        cells = [_cell(column, own, theirs) for column in spec.columns]
        sizes = [cell.ours.n for cell in cells if cell.ours is not None]
        folders = tuple(sorted({one.run for one in own}))
        judges = tuple(sorted({name for one in own for name in _measured_by(one)}))
        yield Line(row, tuple(cells), (sizes[0] or None) if sizes else None, folders, judges)


def _row(spec: Spec, keys: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(keys.get(name, "") for name in spec.rows)


def _rows_of(
    spec: Spec, published: Published, rows: Mapping[tuple[str, ...], tuple[list[Ours], list[Published]]]
) -> list[tuple[str, ...]]:
    """The rows in which a published figure stands: its own, or each of ours that differs from it in the model alone."""
    own = _row(spec, published.keys)
    if not spec.pooled:
        return [own]
    at = spec.rows.index("model")

    def rest(row: tuple[str, ...]) -> tuple[str, ...]:
        return (*row[:at], *row[at + 1 :])

    return [row for row, (ours, _) in rows.items() if ours and rest(row) == rest(own)] or [own]


def _fits(column: Column, measure: str, keys: Mapping[str, str]) -> bool:
    return measure == column.measure and all(keys.get(name, "") == value for name, value in column.keys.items())


def _cell(column: Column, ours: Sequence[Ours], published: Sequence[Published]) -> Cell:
    theirs = next((one for one in published if _fits(column, one.measure, one.keys)), None)
    own = [one for one in ours if _fits(column, one.measure, one.keys)]
    if column.measure == "etr" and own:
        # The study calls two rates ETR; ours is the one that the published figure is, else all channels.
        wanted = theirs.channels if theirs is not None and theirs.channels in ("all", "content") else "all"
        own = [one for one in own if one.keys.get("channels") == wanted] or own
    # Of several encoders or judges the study's own comes first, where it is no key of the row.
    own = sorted(own, key=lambda one: not _STUDYS.issuperset(_measured_by(one)))
    unit = theirs.unit if theirs is not None else _unit(column.measure)
    return Cell(own[0].estimate if own else None, theirs, unit)


def _unit(measure: str) -> str:
    return measures()[measure].unit


def _order(spec: Spec, row: tuple[str, ...]) -> tuple[object, ...]:
    known = {"mode": _MODES, "condition": _CONDITIONS, "variant": _VARIANTS}
    return tuple(
        (known[name].index(value) if name in known and value in known[name] else 99, natural([value]))
        for name, value in zip(spec.rows, row, strict=True)
    )


assert set(KEYS) >= {key for study in SPECS.values() for spec in study.values() for key in spec.rows}


def decimals(cell: Cell) -> int:
    """Decimals with which our figure is printed: those of the published one, or the unit's."""
    return cell.published.decimals if cell.published is not None else _UNITS.get(cell.unit, 4)
