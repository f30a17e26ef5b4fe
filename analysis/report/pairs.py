"""Pairs of runs compared before the page is made: differences with intervals, prompts and settings, as its tables.

What a difference is, is `analysis.compare`'s matter; pairs without a figure or an item in common are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

from analysis.compare import compare_runs
from analysis.comparing.tables import figure_sheets, prompts_sheet, settings_sheet
from analysis.report.shapes import Plain, RunData, sheet
from thinkgap.errors import ThinkgapError

MOST = 15
"""Pairs that are compared: all of six runs. Each takes as long as reading both runs again."""


def compared_pairs(runs: Sequence[RunData]) -> list[Plain]:
    """The tables of each pair of `runs` that has something in common, of the first `MOST` pairs."""
    found: list[Plain] = []
    for first, second in islice(combinations(runs, 2), MOST):
        try:
            one = compare_runs(first.folder, second.folder)
        except ThinkgapError:
            continue  # nothing in common; the page says so where they are chosen
        sheets = figure_sheets(one.compared)
        if one.prompts:
            sheets.append(prompts_sheet(one.prompts))
        if one.settings:
            sheets.append(settings_sheet(one.settings))
        found.append({"a": first.name, "b": second.name, "sheets": list(map(sheet, sheets))})
    return found
