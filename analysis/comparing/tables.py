"""A comparison as text and as rows of one CSV file. Computes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.comparing.pairs import Compared
from thinkgap.printable import printable
from thinkgap.readouts.sheet import Cell, Column, Format, Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.readouts.table_text import to_csv

SHOWN = 20
"""Flips of each direction that are printed."""
_WIDTH = 60
_NO_ITEM = "no item is counted in both runs"
_KINDS: tuple[tuple[str, str, str, Format, Format], ...] = (
    ("rate", "rates", "Rates", "percent", "points"),
    ("mass", "label_mass", "Label mass", "mass", "points"),
    ("mean", "means", "Means", "number", "number"),
)
"""Kind, name of the sheet, its title, format of the figures, format of their differences."""


@dataclass(frozen=True)
class Comparison:
    """All that is known of two runs."""

    first: str
    """Folder of A."""
    second: str
    compared: Sequence[Compared]
    only_first: Sequence[tuple[str, str]]
    """Figures and places of A alone."""
    only_second: Sequence[tuple[str, str]]
    settings: Sequence[tuple[str, str, str]]
    prompts: Sequence[tuple[str, str, int, float]]


def text_of(comparison: Comparison) -> str:
    """What is printed: figures, flips of accuracies, prompts, settings."""
    blocks = [f"A: {printable(comparison.first)}\nB: {printable(comparison.second)}\n"]
    blocks += [sheet_markdown(sheet) for sheet in figure_sheets(comparison.compared)]
    blocks += [
        "\n".join(lines) + "\n" for lines in (list(_notes(comparison)), list(_flips(comparison.compared))) if lines
    ]
    if comparison.prompts:
        blocks.append(sheet_markdown(prompts_sheet(comparison.prompts)))
    if comparison.settings:
        blocks.append(sheet_markdown(settings_sheet(comparison.settings)))
    else:
        blocks.append("No setting, library or fact of the model differs.\n")
    return "\n".join(blocks)


def csv_of(comparison: Comparison) -> str:
    """One file: the column `table` says which rows are figures, flips (one item each), prompts and settings."""
    rows = [{"table": "figures", **row} for sheet in figure_sheets(comparison.compared) for row in sheet_dicts(sheet)]
    for one in comparison.compared:
        for direction, items in (("1 to 0", one.lost), ("0 to 1", one.gained)):
            rows += [
                {"table": "flips", "figure": one.figure, "place": one.place, "flip": direction, "item_id": item}
                for item in items
            ]
    rows += [{"table": "prompts", **row} for row in sheet_dicts(prompts_sheet(comparison.prompts))]
    rows += [
        {"table": "settings", "setting": name, "a_value": first, "b_value": second}
        for name, first, second in comparison.settings
    ]
    return to_csv(rows)


def figure_sheets(compared: Sequence[Compared]) -> list[Sheet]:
    """A sheet for rates, for label masses and for means, those without rows left out."""
    return [
        _figures(rows, name, title, figure, difference)
        for kind, name, title, figure, difference in _KINDS
        if (rows := [one for one in compared if one.kind == kind])
    ]


def prompts_sheet(prompts: Sequence[tuple[str, str, int, float]]) -> Sheet:
    """How many prompts are the same."""
    return Sheet(
        "prompts",
        "Prompts that are the same in both runs",
        (
            Column("compared_by", "compared by", "text"),
            Column("place", "place", "text"),
            Column("n", "n", "count"),
            Column("same", "same %", "percent"),
        ),
        tuple(prompts),
    )


def settings_sheet(settings: Sequence[tuple[str, str, str]]) -> Sheet:
    """What differs, values cut."""
    columns = (Column("setting", "setting", "text"), Column("a", "A", "text"), Column("b", "B", "text"))
    return Sheet("settings", "What differs", columns, tuple((name, _cut(a), _cut(b)) for name, a, b in settings))


def difference_text(one: Compared) -> str:
    """A difference in points with its interval, for messages."""
    value, low, high = (100 * bound for bound in (one.difference.value, one.difference.low, one.difference.high))
    interval = "" if math.isnan(low) else f" [{low:+.1f}, {high:+.1f}]"
    return f"{one.figure}:{one.place} {value:+.1f}{interval} points (n = {one.difference.n})"


def _figures(compared: Sequence[Compared], name: str, title: str, figure: Format, difference: Format) -> Sheet:
    rate = name == "rates"
    tests = (Column("p", "p", "p"), Column("b", "b", "count"), Column("c", "c", "count"))
    rows: list[tuple[Cell, ...]] = []
    for one in compared:
        there = one.difference.n > 0
        missing = Missing(_NO_ITEM)
        figures: tuple[Cell, ...] = (one.first, one.second, one.difference) if there else (missing, missing, missing)
        own: tuple[Cell, ...] = (one.p_value if there else missing, one.b, one.c) if rate else ()
        rows.append((one.figure, one.place, one.difference.n, *figures, *own, one.only_first, one.only_second))
    notes = ["B minus A on the items that both runs count, paired by item; intervals of 95 %, clustered by group_id."]
    if rate:
        notes.append("b: items with 1 in A and 0 in B, c: the reverse; p: McNemar.")
    return Sheet(
        name,
        f"{title}, B minus A",
        (
            Column("figure", "figure", "text"),
            Column("place", "place", "text"),
            Column("n", "n", "count"),
            Column("a", "A %" if figure == "percent" else "A", figure),
            Column("b_value", "B %" if figure == "percent" else "B", figure),
            Column("difference", "difference (points)" if difference == "points" else "difference", difference),
            *(tests if rate else ()),
            Column("only_a", "only in A", "count"),
            Column("only_b", "only in B", "count"),
        ),
        tuple(rows),
        tuple(notes),
    )


def _notes(comparison: Comparison) -> Iterator[str]:
    for name, keys in (("A", comparison.only_first), ("B", comparison.only_second)):
        if keys:
            listed = ", ".join(printable(":".join(key)) for key in keys[:SHOWN])
            more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
            yield f"- only in {name}: {listed}{more}"
    for one in comparison.compared:
        if one.other_gold and one.figure.startswith("accuracy"):
            yield (
                f"- {one.figure}:{printable(one.place)}: {one.other_gold} of {one.difference.n} items have another "
                "right answer in B; they are compared all the same"
            )


def _flips(compared: Sequence[Compared]) -> Iterator[str]:
    accuracies = [one for one in compared if one.figure.startswith(("accuracy", "probe_accuracy"))]
    flipped = [one for one in accuracies if one.lost or one.gained]
    if not flipped:
        yield "No answer that both runs have turned from right to wrong or from wrong to right."
        return
    yield "Answers that turned:"
    for one in flipped:
        for what, items in (("right to wrong", one.lost), ("wrong to right", one.gained)):
            if items:
                listed = ", ".join(map(printable, items[:SHOWN]))
                more = f", and {len(items) - SHOWN} more (--csv lists all)" if len(items) > SHOWN else ""
                yield f"- {one.figure}:{printable(one.place)}, {what} ({len(items)}): {listed}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
