"""A `Table` as aligned Markdown, as CSV, and as plain dicts.

The Markdown lines up in a monospace terminal and can be pasted as it is. Computes nothing: a figure that is not there
is shown as n/a with a numbered reason below the table.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence

from thinkgap.metrics import Estimate
from thinkgap.metrics.intervals import MISSING
from thinkgap.readouts.in_short import in_short, mass_text
from thinkgap.readouts.table import Row, Table
from thinkgap.spreadsheet import cell

# From the first backslash of a run only, or a long run would take time quadratic in its length.
_BAR = re.compile(r"(?<!\\)(\\*)\|")
_FEW_GROUPS = 30
"""Below this many groups, a note says that the clustered intervals are rough."""

_HEADER = ("n", "accuracy %", "{reference}", "p", "b/c", "first slot %", "gold first %", "mean(1/k) %", "label mass")


def to_markdown(table: Table) -> str:
    """The whole table as text: heading, rows over all, rows by number of options, notes, one sentence."""
    notes = Notes()
    header = [name.format(reference=f"difference to {table.reference}") for name in _HEADER]
    overall = [[row.condition, *_cells(row, table, notes)] for row in table.rows]
    ks = list(dict.fromkeys(row.k for row in table.rows_by_k))
    title = f"{table.title} ({table.readout} readout)" if table.title else f"{table.readout} readout"
    blocks = [f"### {title}", grid(["condition", *header], overall, left=1)]
    if len(ks) > 1:
        rows = [[str(row.k), row.condition, *_cells(row, table, notes)] for row in table.rows_by_k]
        blocks += ["By number of options k:", grid(["k", "condition", *header], rows, left=2)]
    else:
        blocks.append(f"All items have k = {ks[0]} options.")
    blocks.append("\n".join(f"- {line}" for line in _general(table) + notes.lines()))
    if sentence := in_short(table):
        blocks.append(sentence)
    return "\n\n".join(blocks) + "\n"


def to_dicts(table: Table) -> list[dict[str, str | int | float | None]]:
    """One dict per row, all with the same keys: shares at full precision, None for no figure; `k` is None over all."""
    return [_flat(row, table) for row in table.all_rows]


def to_csv(rows: Sequence[Mapping[str, str | int | float | None]]) -> str:
    """Rows of `to_dicts` as CSV with a header; numbers at full precision, empty where there is no figure.

    A name that a spreadsheet would take for a formula has an apostrophe before it.
    """
    sink = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(map(cell, names))
    writer.writerows([cell(row.get(name, "")) for name in names] for row in rows)
    return sink.getvalue()


def _flat(row: Row, table: Table) -> dict[str, str | int | float | None]:
    pair = row.difference
    flat: dict[str, str | int | float | None] = {
        "readout": table.readout,
        "condition": row.condition,
        "k": row.k,
        "n": row.n,
        "n_groups": row.n_groups,
    }
    estimates = {"accuracy": row.accuracy, "difference": pair.difference if pair else MISSING}
    estimates |= {"first_slot": row.first_slot, "gold_first": row.gold_first, "label_mass": row.label_mass}
    for name, estimate in estimates.items():
        flat |= {name: _number(estimate.value), f"{name}_low": _number(estimate.low)}
        flat |= {f"{name}_high": _number(estimate.high)}
    return flat | {
        "mean_reciprocal_k": _number(row.mean_reciprocal_k),
        "pairs": pair.difference.n if pair else 0,
        "only_here": row.only_here,
        "only_reference": row.only_reference,
        "mcnemar_p": _number(pair.p_value) if pair else None,
        "b": pair.b if pair else None,
        "c": pair.c if pair else None,
        "tied": row.tied,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


class Notes:
    """Numbered reasons; the same reason keeps its number."""

    def __init__(self) -> None:
        self._reasons: dict[str, int] = {}

    def mark(self, reason: str) -> str:
        """The mark that stands in a cell."""
        return f"({self._reasons.setdefault(reason, len(self._reasons) + 1)})"

    def missing(self, reason: str) -> str:
        """What stands in the place of a figure."""
        return f"n/a {self.mark(reason)}"

    def lines(self) -> list[str]:
        """The reasons with their marks, for below the table."""
        return [f"({number}) {reason}" for reason, number in self._reasons.items()]


def _cells(row: Row, table: Table, notes: Notes) -> list[str]:
    if not row.n:
        return ["0", *[notes.missing("no records of this condition")] * 8]
    mass = row.label_mass
    return [
        str(row.n),
        _percent(row.accuracy, notes),
        *_difference(row, table, notes),
        _percent(row.first_slot, notes),
        f"{100 * row.gold_first.value:.1f}",
        f"{100 * row.mean_reciprocal_k:.1f}",
        mass_text(mass.value) if mass.n else notes.missing("label mass is missing in some records"),
    ]


def _difference(row: Row, table: Table, notes: Notes) -> list[str]:
    """Cells of the difference, its p, and the discordant counts."""
    if row.condition == table.reference:
        return ["-", "-", "-"]
    pair = row.difference
    if pair is None:
        where = "" if row.k is None else f" with k = {row.k}"
        return [notes.missing(f"no item is in both this condition and {table.reference}{where}")] * 3
    text = _percent(pair.difference, notes, sign="+")
    if row.only_here or row.only_reference:
        # Named by counts and not by condition, so that rows that miss the same number share one note.
        text += " " + notes.mark(
            f"over the rows that both conditions have; without a partner, and so dropped: {row.only_here} only in this "
            f"condition, {row.only_reference} only in {table.reference}"
        )
    p = "<0.001" if pair.p_value < 0.001 else f"{pair.p_value:.3f}"
    return [text, p, f"{pair.b}/{pair.c}"]


def _percent(estimate: Estimate, notes: Notes, sign: str = "") -> str:
    """`45.5 [43.1, 47.9]`; with `sign="+"`, every number carries its sign."""
    value, low, high = (_signed(100 * x, sign) for x in (estimate.value, estimate.low, estimate.high))
    if math.isnan(estimate.low):
        reason = "no interval: fewer than two groups, or all differences are equal, so their spread is unknown"
        return f"{value} [{notes.missing(reason)}]"
    return f"{value} [{low}, {high}]"


def _signed(percent: float, sign: str) -> str:
    text = f"{percent:{sign}.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _general(table: Table) -> list[str]:
    lines = [
        f"[low, high]: 95% intervals. Difference: points to {table.reference} on the same rows, p by McNemar's test; "
        f"b/c: rows right under {table.reference} and wrong here / wrong there and right here.",
        "Beside the first slot %: gold first % is what a perfect model would have, mean(1/k) % what guessing would.",
    ]
    clustered = max(table.rows, key=lambda row: row.n - row.n_groups)
    if clustered.n_groups < clustered.n:
        lines.append(
            f"n counts presentations; intervals are clustered ({clustered.n} rows in {clustered.n_groups} groups for "
            f"{clustered.condition}). McNemar's p takes rows as independent: where they differ, trust the interval."
        )
    few = [row for row in table.all_rows if row.n_groups < min(row.n, _FEW_GROUPS)]
    if few:
        least = min(few, key=lambda row: row.n_groups)
        where = least.condition if least.k is None else f"{least.condition} with k = {least.k}"
        lines.append(
            f"Some rows have fewer than {_FEW_GROUPS} groups (the fewest, {least.n_groups}: {where}). With so few "
            "groups, clustered intervals are rough: their coverage can be off 95% by several points."
        )
    tied = {row.condition: row.tied for row in table.rows if row.tied}
    if tied:
        detail = ", ".join(f"{name} {count}" for name, count in tied.items())
        lines.append(f"Exact ties between the two most probable labels, decided by a digest of the key: {detail}.")
    if table.excluded:
        detail = ", ".join(f"{count} {reason}" for reason, count in table.excluded.items())
        lines.append(f"Not asked, and in no figure: {sum(table.excluded.values())} items ({detail}).")
    return lines


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """Markdown table; the first `left` columns are flush left, the others flush right."""
    # A backslash right before a bar would escape the one that escapes the bar.
    cells = [[_BAR.sub(r"\1\1\\|", text) for text in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(row, widths, strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = "|".join(":" + "-" * (w + 1) if i < left else "-" * (w + 1) + ":" for i, w in enumerate(widths))
    return "\n".join([line(cells[0]), f"|{rule}|", *map(line, cells[1:])])
