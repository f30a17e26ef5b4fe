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
from thinkgap.metrics.bootstrap import DRAWS, MOST_UNDEFINED, drawn_means
from thinkgap.nothinking.figures import Figure
from thinkgap.nothinking.tables import EQUAL, POOLED
from thinkgap.nothinking.variants import Places, Variants, common, figure_notes, places
from thinkgap.presentation_names import IDENTITY, NEGATIVE, OPEN_NUMERIC, POSITIVE
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

Draws = NDArray[np.float64]
SPACES = ("bool", "mcq", "open")
MATCHED = "same items"
_ROUNDING = 1e-12
_NO_DRAWS = Missing("too few groups of items to draw from")
_NOTE = (
    "Steps: MCQ minus Bool and open minus MCQ, with the sign turned for ETR, which falls as thinking persists; "
    "smallest: the smaller of the two. Intervals hold 95 % of bootstrap draws over groups of items, each data set "
    "drawn on its own; above 0: share of the draws in which the smallest step is. Neither is there where some data set "
    "has a single group. Benchmarks: items as their sources give them; n: responses of the smallest of the three "
    "families. Same items: choice form, both proposals and open form of items that have all; n: items. Rates are "
    "shares of 1. One staircase for each model: models are no sample."
)


@dataclass(frozen=True)
class _Level:
    """A figure of one answer space: its value and its bootstrap draws, NaN where there can be none."""

    value: float
    drawn: Draws
    n: int


@dataclass(frozen=True)
class _Sample:
    """All figures over the responses of one data set; arrays have a place for each."""

    values: Draws
    drawn: Draws
    """Shape [draws, figures]."""
    sizes: NDArray[np.intp]
    """Responses in each figure's denominator."""


def staircase_sheet(variants: Variants, draws: int = DRAWS) -> Sheet | None:
    """A row for each model, mode, comparison and figure; None where no model has all three answer spaces.

    Args:
        variants: the responses.
        draws: of the bootstrap.
    """
    figures = [one for one in variants.figures if one.column.name == "etr_prefix" or _grows(one)]
    found: list[tuple[Cell, ...]] = []
    everything = list(variants.cells())
    models = dict.fromkeys(key[0] for key, _ in everything)
    for model in models:
        for mode in variants.modes:
            cells = [(key[1], shown) for key, shown in everything if (key[0], key[2]) == (model, mode)]
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
        samples = _samples(variants, families, figures, draws)
        for over, equally in ((f"benchmarks, {EQUAL}", True), (f"benchmarks, {POOLED}", False)):
            found.append((over, {one.column.name: _family(samples, at, equally) for at, one in enumerate(figures)}))
    for dataset, shown in cells:
        forms = [shown.get(name, {}) for name in (POSITIVE, NEGATIVE, IDENTITY, OPEN_NUMERIC)]
        items = common(*forms)
        if items:
            rows = [places(form, items) for form in forms]
            found.append((f"{dataset}, {MATCHED}", _matched(variants, rows, figures, draws)))
    return found


def _sample(values: Draws, groups: NDArray[np.intp], draws: int, seed: int) -> _Sample:
    """Means over the rows that are not NaN, shape [n, m], of all rows and of draws of groups."""
    known = ~np.isnan(values)
    sizes, width = known.sum(axis=0), values.shape[1]
    filled = np.where(known, values, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = filled.sum(axis=0) / sizes
        if len(np.unique(groups)) < 2:
            # One group says nothing of the spread.
            return _Sample(means, np.full((draws, width), np.nan), sizes)
        # All figures on the same draws, which are what takes time.
        drawn = drawn_means(np.column_stack([filled, known]), groups, draws, seed)
        return _Sample(means, drawn[:, :width] / drawn[:, width:], sizes)


def _samples(
    variants: Variants, families: Mapping[str, Sequence[Places]], figures: Sequence[Figure], draws: int
) -> list[list[_Sample]]:
    """The data sets of each answer space; each has draws of its own."""
    found: list[list[_Sample]] = []
    seed = 0
    for space in SPACES:
        own: list[_Sample] = []
        for rows in families[space]:
            seed += 1
            values = np.column_stack([variants.values(figure, rows) for figure in figures])
            own.append(_sample(values, variants.rows.group[rows], draws, seed))
        found.append(own)
    return found


def _family(samples: Sequence[Sequence[_Sample]], at: int, equally: bool) -> list[_Level] | None:
    """The figure at a place in each answer space; None where some data set has no figure."""
    levels: list[_Level] = []
    for own in samples:
        sizes = np.array([sample.sizes[at] for sample in own])
        if not sizes.all():
            return None
        weights = np.full(len(own), 1 / len(own)) if equally else sizes / sizes.sum()
        value = float(weights @ np.array([sample.values[at] for sample in own]))
        drawn = weights @ np.array([sample.drawn[:, at] for sample in own])
        levels.append(_Level(value, drawn, int(sizes.sum())))
    return levels


def _matched(variants: Variants, rows: Sequence[Places], figures: Sequence[Figure], draws: int) -> _Levels:
    columns: list[Draws] = []
    for figure in figures:
        positive, negative, own, opened = (variants.values(figure, one) for one in rows)
        three = np.column_stack([(positive + negative) / 2, own, opened])
        # An item counts in all three forms or in none.
        columns.append(np.where(np.isnan(three).any(axis=1, keepdims=True), np.nan, three))
    sample = _sample(np.column_stack(columns), variants.rows.group[rows[2]], draws, 0)
    return {
        figure.column.name: [
            _Level(float(sample.values[at]), sample.drawn[:, at], int(sample.sizes[at]))
            for at in range(3 * place, 3 * place + 3)
        ]
        if sample.sizes[3 * place]
        else None
        for place, figure in enumerate(figures)
    }


def _steps(levels: Sequence[_Level], grows: bool) -> tuple[Cell, ...]:
    sign, n = 1 if grows else -1, min(level.n for level in levels)
    values = [sign * (levels[place + 1].value - levels[place].value) for place in (0, 1)]
    drawn = [sign * (levels[place + 1].drawn - levels[place].drawn) for place in (0, 1)]
    smallest = np.minimum(*drawn)
    steps = [*zip(values, drawn, strict=True), (min(values), smallest)]
    defined = _defined(smallest)
    # A step of 0 may come out of sums as one of 1e-17.
    above: Cell = _NO_DRAWS if defined is None else float((defined > _ROUNDING).mean())
    return (
        n,
        *(_estimate(level.value, level.drawn, level.n) for level in levels),
        *(_estimate(value, one, n) for value, one in steps),
        above,
    )


def _defined(drawn: Draws) -> Draws | None:
    """The draws that have a figure; None if too many have not."""
    found = drawn[np.isfinite(drawn)]
    return found if len(found) >= (1 - MOST_UNDEFINED) * len(drawn) else None


def _estimate(value: float, drawn: Draws, n: int) -> Estimate:
    found = _defined(drawn)
    # Draws that are all equal say nothing of the spread.
    if found is None or np.ptp(found) <= _ROUNDING:
        return Estimate(value, math.nan, math.nan, n)
    low, high = np.quantile(found, (0.025, 0.975))
    return Estimate(value, float(low), float(high), n)
