"""Sheets of how far people agree: with each other, with judges, and with encoders (tables 5, 6 and D.6 to D.9).

Made from imported annotations; knows neither their files nor what annotators saw. Published tables are those of
arXiv 2610.11765.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from thinkgap.metrics.ranks import spearman
from thinkgap.metrics.raters import raw_agreement
from thinkgap.metrics.reliability import Level, krippendorff_alpha
from thinkgap.nothinking.annotated import Annotated, People
from thinkgap.nothinking.people_judges import judge_sheets, rates_sheet
from thinkgap.nothinking.people_relevance import EQUAL_RATINGS, relevance_sheet
from thinkgap.nothinking.rated import (
    AGREEMENT,
    AGREEMENT_NOTE,
    SHEET_DRAWS,
    agreement_cells,
    explicit,
    figure,
    outputs,
)
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_ONE_VALUE = "only one value occurs, so that there is nothing to agree on beyond chance"
_ALONE = "no output was rated by two annotators"


def people_sheets(
    annotations: pd.DataFrame,
    judged: pd.DataFrame | None = None,
    relevance: pd.DataFrame | None = None,
    draws: int = SHEET_DRAWS,
) -> list[Sheet]:
    """How far people agree; no sheets without annotations, and only those for which there is something to compare.

    Args:
        annotations: a row for each output and annotator, with item (opaque id), annotator, label (one of the five,
            `empty`, or missing) and relevance (1 to 5, or missing). An empty trace counts as annotated where its rows
            are there: label `empty`, relevance 1. Columns mode and space, if there, give the rates by answer space.
        judged: a row for each output and judge, with item, judge and label (missing where the judge gave none; a column
            `status` other than `ok` says the same). Rows whose item is missing are outputs that nobody annotated: they
            count for the rate that is corrected and for nothing else. Columns dataset and group_id, if there, widen its
            interval.
        relevance: a row for each output and encoder, with item, encoder and cosine (0 for an empty trace).
        draws: of the intervals.

    Returns:
        `people_reliability` and `people_pairs`; `people_judges`, `people_corrected` and `people_errors` with judges;
        `people_relevance` with encoders; `people_rates` with modes and spaces.

    Raises:
        DataError: columns that are not there, a row that occurs twice, an unknown label, a relevance that is no whole
            number from 1 to 5, or an output that is empty to one and not to another.
    """
    if not len(annotations):
        return []
    people = People.of(annotations, judged)
    sheets = [_reliability(people, draws)]
    if len(people.annotators) > 1:
        sheets.append(_pairs(people, draws))
    if people.judges:
        sheets += judge_sheets(people, draws)
    if relevance is not None and len(relevance):
        sheets.append(relevance_sheet(people, relevance, draws))
    if {"mode", "space"} <= set(annotations.columns):
        sheets.append(rates_sheet(people, annotations))
    return sheets


def _reliability(people: People, draws: int) -> Sheet:
    labels = np.where(people.labels < 0, np.nan, people.labels)
    binary = np.where(people.labels < 0, np.nan, explicit(people.labels))
    variables: tuple[tuple[str, Level, Annotated], ...] = (
        ("five-way label", "nominal", labels),
        ("explicit reasoning or not", "nominal", binary),
        ("relevance, 1 to 5", "ordinal", people.relevance),
    )
    rows: list[tuple[Cell, ...]] = []
    for variable, level, ratings in variables:
        for name, kept in outputs(people.empty):
            found = krippendorff_alpha(ratings[:, kept], level, draws=draws)
            raters = int((~np.isnan(ratings[:, kept])).any(axis=1).sum())
            cell = figure(found, _ONE_VALUE) if found.n else Missing(_ALONE)
            rows.append((variable, level, name, raters, found.n, cell))
    return Sheet(
        "people_reliability",
        "Agreement of annotators",
        (
            Column("variable", "variable", "text"),
            Column("level", "level", "text"),
            Column("outputs", "outputs", "text"),
            Column("annotators", "annotators", "count"),
            Column("n", "n", "count"),
            Column("alpha", "Krippendorff's alpha"),
        ),
        tuple(rows),
        (
            "n: outputs that two annotators rated or more. Empty traces are alike to everyone and raise alpha: read "
            "the non-empty rows, which are those of arXiv 2610.11765, table D.8.",
            people.counted(),
        ),
    )


def _pairs(people: People, draws: int) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for first, second in combinations(range(len(people.annotators)), 2):
        for name, kept in outputs(people.empty):
            one, other = people.labels[first, kept], people.labels[second, kept]
            ratings = people.relevance[first, kept], people.relevance[second, kept]
            ranks = spearman(*ratings, draws=draws)
            same = raw_agreement(*(np.nan_to_num(rating, nan=-1) for rating in ratings))
            rows.append(
                (
                    people.annotators[first],
                    people.annotators[second],
                    name,
                    *agreement_cells(one, other, None, draws),
                    same if same.n else Missing("no output has both relevances"),
                    figure(ranks, EQUAL_RATINGS) if ranks.n else Missing("no output has both relevances"),
                )
            )
    return Sheet(
        "people_pairs",
        "Agreement of pairs of annotators",
        (
            Column("first", "annotator", "text"),
            Column("second", "and annotator", "text"),
            Column("outputs", "outputs", "text"),
            *AGREEMENT,
            Column("relevance", "same relevance %", "percent"),
            Column("relevance_spearman", "relevance, Spearman"),
        ),
        tuple(rows),
        (f"{AGREEMENT_NOTE} n: outputs that both labelled.",),
    )
