"""`staircase`: whether thinking persists more as the answer space opens, Bool < MCQ < Open (inertia study, figure 4).

By the smaller of the two steps: only if it is above zero does each step go the same way. Over families of benchmarks,
where a family is the mean of its benchmarks (and, in a second row, all of its responses), and over the same items in
three forms. Models are never averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinkgap.metrics import Estimate
from thinkgap.metrics.bootstrap import DRAWS, drawn_means
from thinkgap.nothinking.figures import Figure
from thinkgap.nothinking.tables import EQUAL, POOLED
from thinkgap.nothinking.variants import Places, Variants, common, figure_notes, places
from thinkgap.presentation_names import IDENTITY, NEGATIVE, OPEN_NUMERIC, POSITIVE
from thinkgap.readouts.sheet import Cell, Column, Sheet

Draws = NDArray[np.float64]
SPACES = ("bool", "mcq", "open")
MATCHED = "same items"
_NOTE = (
    "Steps: MCQ minus Bool and open minus MCQ, with the sign turned for ETR, which falls as thinking persists; "
    "smallest: the smaller of the two. Intervals hold 95 % of bootstrap draws over groups of items, each data set "
    "drawn on its own; above 0: share of the draws in which the smallest step is. Same items: choice form, both "
    "proposals and open form of items that have all. Rates are shares of 1. One staircase for each model: models are "
    "no sample."
)


@dataclass(frozen=True)
class _Level:
    """A figure of one answer space: its value and its bootstrap draws."""

    value: float
    drawn: Draws
    n: int


def staircase_sheet(variants: Variants, draws: int = DRAWS) -> Sheet | None:
    """A row for each model, mode, comparison and figure; None where no model has all three answer spaces.

    Args:
        variants: the responses.
        draws: of the bootstrap.
    """
    figures = [one for one in variants.figures if one.column.name == "etr_prefix" or _grows(one)]
    found: list[tuple[Cell, ...]] = []
    models = dict.fromkeys(key[0] for key, _ in variants.cells())
    for model in models:
        for mode in variants.modes:
            cells = [(key[1], shown) for key, shown in variants.cells() if (key[0], key[2]) == (model, mode)]
            for over, levels in _comparisons(variants, cells, figures, draws):
                for figure in figures:
                    own = levels[figure.column.name]
                    if own is not None:
                        found.append(
                            (model, mode, over, figure.column.heading.removesuffix(" %"), *_steps(own, _grows(figure)))
                        )
    if not found:
        return None
    columns = (
        Column("model", "model", "text"),
        Column("mode", "mode", "text"),
        Column("over", "over", "text"),
        Column("figure", "figure", "text"),
        Column("n", "n", "count"),
        *(Column(space, space) for space in SPACES),
        Column("first_step", "Bool to MCQ"),
        Column("second_step", "MCQ to open"),
        Column("smallest_step", "smallest step"),
        Column("above_zero", "above 0 %", "percent"),
    )
    return Sheet(
        "staircase", "Bool, MCQ, open: does each step go up?", columns, tuple(found), (_NOTE, *figure_notes(figures))
    )


def _grows(figure: Figure) -> bool:
    return figure.column.name.startswith(("qrel_", "explicit_"))


_Levels = Mapping[str, Sequence[_Level] | None]


def _comparisons(
    variants: Variants,
    cells: Sequence[tuple[str, Mapping[str, dict[str, int]]]],
    figures: Sequence[Figure],
    draws: int,
) -> list[tuple[str, _Levels]]:
    """The ways in which the three answer spaces of a model under a mode can be compared."""
    spaces = variants.rows.frame["space"].to_numpy()
    families: dict[str, list[Places]] = {space: [] for space in SPACES}
    for _, shown in cells:
        own = shown.get(IDENTITY, {})
        for space in SPACES:
            rows = [row for row in own.values() if spaces[row] == space]
            if rows:
                families[space].append(np.array(rows, dtype=np.intp))
    found: list[tuple[str, _Levels]] = []
    if all(families.values()):
        for over, equally in ((f"benchmarks, {EQUAL}", True), (f"benchmarks, {POOLED}", False)):
            found.append(
                (over, {one.column.name: _families(variants, one, families, draws, equally) for one in figures})
            )
    for dataset, shown in cells:
        forms = [shown.get(name, {}) for name in (POSITIVE, NEGATIVE, IDENTITY, OPEN_NUMERIC)]
        items = common(*forms)
        if items:
            rows = [places(form, items) for form in forms]
            found.append(
                (f"{dataset}, {MATCHED}", {one.column.name: _matched(variants, one, rows, draws) for one in figures})
            )
    return found


def _families(
    variants: Variants, figure: Figure, families: Mapping[str, Sequence[Places]], draws: int, equally: bool
) -> list[_Level] | None:
    levels, seed = [], 0
    for space in SPACES:
        means, drawn, sizes = [], [], []
        for rows in families[space]:
            seed += 1  # each data set is a sample of its own
            values = variants.values(figure, rows)
            known = ~np.isnan(values)
            if not known.any():
                return None
            means.append(float(values[known].mean()))
            drawn.append(drawn_means(values[known][:, None], variants.rows.group[rows][known], draws, seed)[:, 0])
            sizes.append(int(known.sum()))
        weights = np.full(len(sizes), 1 / len(sizes)) if equally else np.array(sizes) / sum(sizes)
        levels.append(_Level(float(weights @ means), weights @ np.array(drawn), sum(sizes)))
    return levels


def _matched(variants: Variants, figure: Figure, rows: Sequence[Places], draws: int) -> list[_Level] | None:
    positive, negative, own, opened = (variants.values(figure, one) for one in rows)
    columns = np.column_stack([(positive + negative) / 2, own, opened])
    known = ~np.isnan(columns).any(axis=1)
    if not known.any():
        return None
    drawn = drawn_means(columns[known], variants.rows.group[rows[2]][known], draws, 0)
    means = columns[known].mean(axis=0)
    return [_Level(float(means[place]), drawn[:, place], int(known.sum())) for place in range(len(SPACES))]


def _steps(levels: Sequence[_Level], grows: bool) -> tuple[Cell, ...]:
    sign, n = 1 if grows else -1, min(level.n for level in levels)
    values = [sign * (levels[place + 1].value - levels[place].value) for place in (0, 1)]
    drawn = [sign * (levels[place + 1].drawn - levels[place].drawn) for place in (0, 1)]
    smallest = np.minimum(*drawn)
    steps = [*zip(values, drawn, strict=True), (min(values), smallest)]
    return (
        n,
        *(_estimate(level.value, level.drawn, level.n) for level in levels),
        *(_estimate(value, one, n) for value, one in steps),
        float((smallest > 0).mean()),
    )


def _estimate(value: float, drawn: Draws, n: int) -> Estimate:
    # Draws that are all equal say nothing of the spread.
    if np.ptp(drawn) <= 1e-12:
        return Estimate(value, math.nan, math.nan, n)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(value, float(low), float(high), n)
