"""The same items in other interfaces: responses of all presentations with their figures, and pairs of them by item.

Figures are those of level 1 and of every encoder and judge of the run. A pair is two presentations of one item under
one mode; differences are taken within items, and intervals resample groups of items. The tables are in `surface_table`,
`verification_table`, `open_table` and `staircase`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.nothinking.figures import FIGURES, Figure, Rows, Values
from thinkgap.nothinking.level_figures import explicit_figure, relevance_figures, with_levels
from thinkgap.nothinking.tables import POOLED
from thinkgap.readouts.sheet import Cell, Column, Format, Missing, by_condition

if TYPE_CHECKING:
    import pandas as pd

_LEVEL1 = ("accuracy", "etr_prefix", "etr_strict")
"""In the order of the study's columns, whose ETR is that of the prefix."""
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Variants:
    """Responses of one or several models under all presentations."""

    rows: Rows
    figures: tuple[Figure, ...]
    """Accuracy, ETR (prefix, as the study counts, and strict), QRel of each encoder, EIR of each judge."""
    modes: tuple[str, ...]

    @classmethod
    def of(
        cls, frame: pd.DataFrame, relevance: pd.DataFrame, judgements: pd.DataFrame, modes: Sequence[str] = ()
    ) -> Variants:
        """The figures of every response.

        Args:
            frame: rows of `responses.parquet`, of all presentations.
            relevance: rows of `relevance.parquet`, perhaps none.
            judgements: rows of `judgements.parquet`, perhaps none.
            modes: order of the modes; others follow as they come.

        Raises:
            StoreError: responses that an encoder or a judge has not read.
        """
        joined, encoders, kinds = with_levels(frame, relevance, judgements)
        known = {figure.column.name: figure for figure in FIGURES}
        figures = [known[name] for name in _LEVEL1]
        figures += [relevance_figures(encoder)[0] for encoder in encoders]
        figures += [explicit_figure(judge, kind) for judge, kind in kinds.items()]
        order = by_condition(modes, list(dict.fromkeys(frame["mode"])))
        return cls(Rows.of(joined, figures), tuple(figures), tuple(order))

    def cells(self) -> Iterator[tuple[tuple[str, str, str], dict[str, dict[str, int]]]]:
        """(model, data set, mode) and, by presentation, item id -> row; models and data sets sorted, modes in order."""
        frame = self.rows.frame
        place = {mode: number for number, mode in enumerate(self.modes)}
        groups: dict[Any, Any] = frame.groupby(["model", "dataset", "mode"], sort=False).indices
        names, items = frame["presentation"].to_numpy(), frame["item_id"].to_numpy()
        for key in sorted(groups, key=lambda key: (key[0], key[1], place[key[2]])):
            shown: dict[str, dict[str, int]] = {}
            for row in groups[key]:
                shown.setdefault(str(names[row]), {})[str(items[row])] = int(row)
            model, dataset, mode = map(str, key)
            yield (model, dataset, mode), shown

    def pooled(self, *presentations: str) -> Iterator[tuple[tuple[str, str, str], dict[str, dict[str, int]]]]:
        """As `cells`, over all data sets of a model and mode that show items in each of some ways, if there are two."""
        joined: dict[tuple[str, str], list[tuple[str, dict[str, dict[str, int]]]]] = {}
        for (model, dataset, mode), shown in self.cells():
            if all(name in shown for name in presentations):
                joined.setdefault((model, mode), []).append((dataset, shown))
        for (model, mode), parts in joined.items():
            together: dict[str, dict[str, int]] = {}
            for dataset, shown in parts:
                for name, rows in shown.items():
                    # Ids are unique within a data set only.
                    together.setdefault(name, {}).update({f"{dataset}\0{item}": row for item, row in rows.items()})
            if len(parts) > 1:
                yield (model, POOLED, mode), together

    def values(self, figure: Figure, rows: Places) -> Values:
        """The figure in each of some rows, NaN where a row is not of its denominator."""
        return self.rows.values[figure.column.name][rows]

    def cell(self, figure: Figure, rows: Places) -> Cell:
        """The figure over some rows with its interval."""
        return figure.cell(self.rows, rows)

    def difference(self, figure: Figure, base: Places, others: Sequence[Places]) -> Cell:
        """Mean over items of the figure under other presentations (their mean) minus that under the base.

        Args:
            figure: what is compared.
            base: a row for each item, shape [n].
            others: the same items under one or more presentations, each of shape [n].
        """
        first = self.values(figure, base)
        second = np.mean([self.values(figure, one) for one in others], axis=0)
        known = ~np.isnan(first + second)
        if not known.any():
            return Missing(figure.missing)
        return metrics.mean((second - first)[known], self.rows.group[base][known])

    def spread(self, figure: Figure) -> Column:
        """Column of a difference of a figure."""
        form: Format = "points" if figure.column.format == "percent" else "number"
        heading = figure.column.heading.removesuffix(" %")
        return Column(f"{figure.column.name}_difference", f"Δ {heading}", form)


def places(rows: dict[str, int], items: Sequence[str]) -> Places:
    """Rows of some items, in their order."""
    return np.array([rows[item] for item in items], dtype=np.intp)


def common(*shown: dict[str, int]) -> list[str]:
    """Ids of the items that are shown in all of some ways, sorted."""
    return sorted(set.intersection(*(set(one) for one in shown))) if shown else []


def figure_notes(figures: Sequence[Figure]) -> tuple[str, ...]:
    """What the figures are shares or means of, each note once."""
    return tuple(dict.fromkeys(figure.note for figure in figures if figure.note))


KEYS = (Column("model", "model", "text"), Column("dataset", "data set", "text"), Column("mode", "mode", "text"))
