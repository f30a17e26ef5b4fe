r"""A study's table as Markdown, LaTeX (booktabs) and CSV. Figures are printed in the paper's unit and decimals."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

from analysis.paper.tables import Cell, Line, PaperTable, decimals
from thinkgap import spreadsheet
from thinkgap.printable import printable
from thinkgap.readouts.table_text import grid

NOT_RUN = "not run"
NOT_PRINTED = "-"
_SIGNED = ("points",)
_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "Δ": r"$\Delta$",
    "–": "--",
}


def to_markdown(table: PaperTable) -> str:
    """Heading, grid and notes."""
    names = [one.replace("_", " ") for one in table.spec.rows]
    headings = [*names, "n", "", *(column.heading for column in table.spec.columns)]
    lines = [row for line in table.lines for row in _three(line)]
    blocks = [f"### {table.study} study, {_called(table.id)}: {table.title}"]
    if lines:
        blocks.append(grid(headings, [[printable(text) for text in row] for row in lines], left=len(names)))
    else:
        blocks.append("No figure of it is published as text, and no run has one.")
    blocks.append("\n".join(f"- {note}" for note in (*_legend(table), *table.notes)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def to_latex(table: PaperTable) -> str:
    """A `table` environment with booktabs rules, ours and the paper's in rows of their own."""
    names = [one.replace("_", " ") for one in table.spec.rows]
    headings = [*names, "$n$", "", *(_escaped(column.heading) for column in table.spec.columns)]
    body = []
    for place, line in enumerate(table.lines):
        body += ([r"\addlinespace"] if place else []) + [
            " & ".join(map(_escaped, row)) + r" \\" for row in _three(line, intervals=False)
        ]
    columns = "l" * len(names) + "r" + "l" + "r" * len(table.spec.columns)
    notes = " ".join(_escaped(note) for note in (*_legend(table), *table.notes))
    return "\n".join(
        (
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering\small",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(headings) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_escaped(table.title)}. {notes}}}",
            rf"\label{{tab:{table.study}-{table.id.replace('.', '-')}}}",
            r"\end{table}",
            "",
        )
    )


def to_csv(table: PaperTable) -> str:
    """One row per figure: keys, column, ours with interval and n, the paper's as printed, the difference, the unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*table.spec.rows, "column", "measure", "unit", "ours", "low", "high", "n", "published", "difference", "source"]
    )
    for line in table.lines:
        for column, cell in zip(table.spec.columns, line.cells, strict=True):
            scaled = cell.scaled or (math.nan,) * 3
            writer.writerow(
                [
                    *map(spreadsheet.cell, line.keys),
                    column.heading,
                    column.measure,
                    cell.unit,
                    *("" if math.isnan(value) else repr(value) for value in scaled),
                    "" if cell.ours is None else cell.ours.n,
                    "" if cell.published is None else cell.published.printed,
                    "" if cell.difference is None else repr(cell.difference),
                    "" if cell.published is None else cell.published.source,
                ]
            )
    return out.getvalue()


def _three(line: Line, *, intervals: bool = True) -> list[list[str]]:
    """The rows of a line: ours, the paper's, the difference; only those that say something."""
    ours = [_ours(cell, intervals) if line.runs else NOT_RUN for cell in line.cells]
    rows = [[*line.keys, "" if line.n is None else f"{line.n:,}", "ours", *ours]]
    blank = [""] * (len(line.keys) + 1)
    if any(cell.published is not None for cell in line.cells):
        rows.append([*blank, "paper", *(_published(cell) for cell in line.cells)])
    if any(cell.difference is not None for cell in line.cells):
        rows.append([*blank, "difference", *(_difference(cell) for cell in line.cells)])
    return rows


def _ours(cell: Cell, intervals: bool) -> str:
    scaled = cell.scaled
    if scaled is None:
        return NOT_RUN if cell.published is not None else NOT_PRINTED
    value, low, high = scaled
    if math.isnan(value):
        return "n/a"
    text = _number(value, cell)
    return text if math.isnan(low) or not intervals else f"{text} [{_number(low, cell)}, {_number(high, cell)}]"


def _published(cell: Cell) -> str:
    return NOT_PRINTED if cell.published is None else cell.published.printed


def _difference(cell: Cell) -> str:
    if cell.difference is None:
        return NOT_PRINTED
    if cell.unit == "probability":
        return f"{cell.difference:+.1e}"
    return f"{cell.difference:+.{decimals(cell)}f}"


def _number(value: float, cell: Cell) -> str:
    if cell.unit == "probability":
        return f"{value:.2e}" if abs(value) < 1e-3 else f"{value:.3f}"
    if cell.unit in ("count", "rank"):
        return f"{value:,.0f}"
    if cell.unit in _SIGNED and round(value, decimals(cell)):
        return f"{value:+.{decimals(cell)}f}"
    return f"{value:z.{decimals(cell)}f}"


def _legend(table: PaperTable) -> list[str]:
    if not table.lines:
        return []
    units = dict.fromkeys(cell.unit for line in table.lines for cell in line.cells)
    return [
        f"In {', '.join(unit for unit in units if unit)}; brackets hold 95 % intervals; n: of our first column. "
        f"{NOT_RUN}: no run has it; {NOT_PRINTED}: not published, or no figure."
    ]


def _called(table: str) -> str:
    return table if table.startswith(("table", "figure", "text")) else f"table {table}"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in printable(text))


def file_name(table: PaperTable) -> str:
    """Of its files, without ending: `prefix.table2`, `inertia.I.4`."""
    return f"{table.study}.{table.id}"


def in_short(tables: Sequence[PaperTable]) -> str:
    """Which tables the runs fill, and which not."""
    filled = [file_name(one) for one in tables if one.measured]
    empty = [file_name(one) for one in tables if not one.measured]
    return f"filled by these runs: {', '.join(filled) or 'none'}; not run: {', '.join(empty) or 'none'}"
