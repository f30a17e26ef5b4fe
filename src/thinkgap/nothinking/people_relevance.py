"""Sheet of encoders against people: rank correlation of cosines with relevance (tables 6 and D.6 of arXiv 2610.11765).

Knows annotations and cosines by output, not where they come from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.metrics.ranks import spearman
from thinkgap.nothinking.annotated import Annotated, People
from thinkgap.nothinking.rated import check_columns, figure, outputs, values_of
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

EQUAL_RATINGS = "all values of one side are equal"
_NOTHING = "no output has both a cosine and a relevance"


def relevance_sheet(people: People, relevance: pd.DataFrame, draws: int) -> Sheet:
    """`people_relevance`: Spearman of each encoder's cosine with each annotator, and with their mean and median.

    Args:
        people: the annotations.
        relevance: a row for each output and encoder, with item, encoder and cosine.
        draws: of the intervals.

    Raises:
        DataError: columns that are not there, a row that occurs twice, or an empty trace with a cosine other than 0.
    """
    check_columns(relevance, ("item", "encoder", "cosine"), ("item", "encoder"), "relevances")
    ratings = {**dict(zip(people.annotators, people.relevance, strict=True)), **_pooled(people.relevance)}
    rows: list[tuple[Cell, ...]] = []
    for encoder in values_of(relevance, "encoder"):
        own = relevance.loc[relevance["encoder"].astype(str) == encoder]
        by_item = dict(zip(own["item"].astype(str), own["cosine"].astype(float), strict=True))
        cosines = np.array([by_item.get(item, math.nan) for item in people.items])
        if (wrong := people.empty & (np.nan_to_num(cosines) != 0)).any():
            item = people.items[int(np.flatnonzero(wrong)[0])]
            raise DataError(f"the output {item} is empty and has a cosine by {encoder}; by definition it is 0")
        for part, kept in outputs(people.empty):
            found = {name: spearman(cosines[kept], rating[kept], draws=draws) for name, rating in ratings.items()}
            for name, one in found.items():
                rows.append((encoder, part, name, one.n, figure(one, EQUAL_RATINGS) if one.n else Missing(_NOTHING)))
            singles = [found[annotator] for annotator in people.annotators]
            rows.append((encoder, part, "mean of the correlations", *_mean(singles)))
    return Sheet(
        "people_relevance",
        "Question relevance against annotators",
        (
            Column("encoder", "encoder", "text"),
            Column("outputs", "outputs", "text"),
            Column("annotator", "annotator", "text"),
            Column("n", "n", "count"),
            Column("spearman", "Spearman"),
        ),
        tuple(rows),
        (
            "Rank correlation of the cosine with relevance from 1 to 5 (arXiv 2610.11765, tables 6 and D.6, which are "
            "over all outputs). Empty traces are tied at the bottom of both, which raises it: read the non-empty rows.",
            "Mean and median rating: of those annotators who rated an output. The mean of the correlations is the "
            "study's last column.",
            people.counted(),
        ),
    )


def _pooled(ratings: Annotated) -> dict[str, Annotated]:
    rated = ~np.isnan(ratings).all(axis=0)
    mean, median = np.full(ratings.shape[1], np.nan), np.full(ratings.shape[1], np.nan)
    mean[rated], median[rated] = np.nanmean(ratings[:, rated], axis=0), np.nanmedian(ratings[:, rated], axis=0)
    return {"mean rating": mean, "median rating": median}


def _mean(found: list[Estimate]) -> tuple[float, Cell]:
    values = np.array([one.value for one in found])
    n = float(np.mean([one.n for one in found]))
    return n, Missing("some annotator has no correlation") if np.isnan(values).any() else float(values.mean())
