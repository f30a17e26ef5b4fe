"""Sheets of judges against people: agreement with each annotator, corrected rates, errors in common, rates by space.

Knows annotations and judges' labels side by side, not where they come from.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.metrics.prevalence import rogan_gladen
from thinkgap.metrics.raters import common_errors, precision, raw_agreement, recall, specificity
from thinkgap.nothinking.annotated import Judge, People
from thinkgap.nothinking.levels import EMPTY
from thinkgap.nothinking.rated import ALL, LABELS, Codes, Mask, explicit, figure, outputs, values_of
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

MEAN, MAJORITY = "mean of annotators", "majority"
_NO_COMMON = "no output has a label by both"
_NO_POSITIVE = "people call no output explicit reasoning"
_NO_NEGATIVE = "people call every output explicit reasoning"
_NONE_JUDGED = "the judge calls no output explicit reasoning"


def judge_sheets(people: People, draws: int) -> list[Sheet]:
    """`people_judges` and `people_corrected`, and `people_errors` with two judges or more."""
    sheets = [_judges(people), _corrected(people, draws)]
    return [*sheets, _errors(people, draws)] if len(people.judges) > 1 else sheets


def _judges(people: People) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for name, judge in people.judges.items():
        for part, kept in outputs(people.empty):
            found = [
                (annotator, _against(judge.annotated[kept], labels[kept], explicit(labels)[kept]))
                for annotator, labels in zip(people.annotators, people.labels, strict=True)
            ]
            cells = [one for _, one in found]
            averages = [_mean(column) for column in zip(*(one[1:] for one in cells), strict=True)]
            counts = [int(one[0]) for one in cells if isinstance(one[0], int)]
            found.append((MEAN, (float(np.mean(counts)), *averages)))
            most = people.majority()[kept], people.majority_explicit()[kept]
            found.append((MAJORITY, _against(judge.annotated[kept], *most)))
            rows += [(name, part, annotator, *cells) for annotator, cells in found]
    return Sheet(
        "people_judges",
        "Judges against annotators",
        (
            Column("judge", "judge", "text"),
            Column("outputs", "outputs", "text"),
            Column("annotator", "annotator", "text"),
            Column("n", "n", "count"),
            Column("five_way", "five-way %", "percent"),
            Column("binary", "explicit or not %", "percent"),
            Column("recall", "recall %", "percent"),
            Column("precision", "precision %", "percent"),
        ),
        tuple(rows),
        (
            "Share of the outputs that the judge labels as the annotator does (arXiv 2610.11765, table D.7: all "
            "outputs). Recall: of those that the annotator calls explicit reasoning, those that the judge does; "
            "precision: the reverse.",
            f"{MEAN}: of the figures above, no person; {MAJORITY}: the label that more annotators give than any other; "
            "outputs with a tie are left out.",
            people.counted(),
        ),
    )


def _against(judged: Codes, labels: Codes, binary: Codes) -> tuple[Cell, ...]:
    mine = explicit(judged)
    five, two = raw_agreement(judged, labels), raw_agreement(mine, binary)
    found, right = recall(mine, binary), precision(mine, binary)
    return (
        five.n,
        five if five.n else Missing(_NO_COMMON),
        two if two.n else Missing(_NO_COMMON),
        found if found.n else Missing(_NO_POSITIVE if two.n else _NO_COMMON),
        right if right.n else Missing(_NONE_JUDGED if two.n else _NO_COMMON),
    )


def _mean(cells: tuple[Cell, ...]) -> Cell:
    values = [cell.value for cell in cells if isinstance(cell, Estimate)]
    return float(np.mean(values)) if len(values) == len(cells) else Missing("some annotator has no figure")


def _corrected(people: People, draws: int) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    clipped = False
    truth = people.majority_explicit()
    for name, judge in people.judges.items():
        for part, kept in outputs(people.empty):
            mine = explicit(judge.annotated)[kept]
            hit, spared = recall(mine, truth[kept]), specificity(mine, truth[kept])
            counted = _counted(judge, part)
            hits, groups = explicit(judge.everything[counted]), judge.groups[counted]
            seen = metrics.rate(hits, groups)
            size = metrics.effective_n(hits, groups) if len(hits) else 0.0
            found = rogan_gladen(seen, hit, spared, draws, effective=size)
            clipped |= found.clipped
            rows.append(
                (
                    name,
                    part,
                    seen.n,
                    seen if seen.n else Missing("no output has a label"),
                    hit if hit.n else Missing(_NO_POSITIVE),
                    spared if spared.n else Missing(_NO_NEGATIVE),
                    figure(found.rate, _why(hit, spared)),
                )
            )
    return Sheet(
        "people_corrected",
        "Explicit inference corrected for the judge's errors",
        (
            Column("judge", "judge", "text"),
            Column("outputs", "outputs", "text"),
            Column("n", "n", "count"),
            Column("rate", "judge's rate %", "percent"),
            Column("sensitivity", "sensitivity %", "percent"),
            Column("specificity", "specificity %", "percent"),
            Column("corrected", "corrected %", "percent"),
        ),
        tuple(rows),
        (
            "Corrected (Rogan and Gladen): (rate + specificity - 1) / (sensitivity + specificity - 1), errors being "
            "those against the majority of annotators. The interval has the uncertainty of all three shares.",
            "It is a sensitivity analysis: it holds if the judge errs on all outputs as it does on the annotated ones.",
            *(["Where the formula left 0 to 100 % the end that it passed is shown."] if clipped else []),
            people.counted(),
        ),
    )


def _counted(judge: Judge, part: str) -> Mask:
    """Which of all outputs of a judge count for its rate."""
    labelled = judge.everything >= 0
    return labelled if part == ALL else labelled & (judge.everything != LABELS.index(EMPTY))


def _why(hit: Estimate, spared: Estimate) -> str:
    if not hit.n:
        return _NO_POSITIVE
    if not spared.n:
        return _NO_NEGATIVE
    return "sensitivity and specificity sum to 100 % or less: the judge says nothing about the rate"


def _errors(people: People, draws: int) -> Sheet:
    five, two = people.majority(), people.majority_explicit()
    rows: list[tuple[Cell, ...]] = []
    for first, second in combinations(people.judges, 2):
        one, other = people.judges[first].annotated, people.judges[second].annotated
        variants = (("five-way label", one, other, five), ("explicit or not", explicit(one), explicit(other), two))
        for variable, mine, its, truth in variants:
            for part, kept in outputs(people.empty):
                found = common_errors(mine[kept], its[kept], truth[kept], draws=draws)
                shares = (found.first, found.second, found.both)
                cells: list[Cell] = [share if share.n else Missing(_NO_COMMON) for share in shares]
                phi = figure(found.phi, "one of them never errs, or always")
                cells += [found.expected, phi] if found.phi.n else [Missing(_NO_COMMON)] * 2
                rows.append((first, second, variable, part, found.first.n, *cells))
    return Sheet(
        "people_errors",
        "Errors that judges have in common",
        (
            Column("first", "judge", "text"),
            Column("second", "and judge", "text"),
            Column("variable", "variable", "text"),
            Column("outputs", "outputs", "text"),
            Column("n", "n", "count"),
            Column("first_errs", "first errs %", "percent"),
            Column("second_errs", "second errs %", "percent"),
            Column("both_err", "both err %", "percent"),
            Column("expected", "both, if independent %", "percent"),
            Column("phi", "correlation of errors"),
        ),
        tuple(rows),
        (
            "An error is a label other than that of the majority of annotators. Judges that err on the same outputs "
            "agree without being right: their agreement then says less than it seems to.",
        ),
    )


def rates_sheet(people: People, annotations: pd.DataFrame) -> Sheet:
    """`people_rates`: explicit reasoning by annotator and judge in each mode and answer space."""
    cell = annotations.assign(item=annotations["item"].astype(str)).drop_duplicates("item").set_index("item")
    cell = cell.loc[list(people.items)]
    spaces = values_of(cell, "space")
    by_annotator = dict(zip(people.annotators, explicit(people.labels), strict=True))
    judges = {name: explicit(judge.annotated) for name, judge in people.judges.items()}
    rows: list[tuple[Cell, ...]] = []
    for mode in values_of(cell, "mode"):
        found: list[tuple[str, list[Cell]]] = []
        for raters in (by_annotator, judges):
            for rater, codes in raters.items():
                at = [((cell["mode"] == mode) & (cell["space"] == space)).to_numpy() & (codes >= 0) for space in spaces]
                rates = [metrics.rate(codes[kept]) for kept in at]
                found.append((rater, [rate if rate.n else Missing("no output has a label") for rate in rates]))
            if raters is by_annotator:
                found.append((MEAN, [_mean(column) for column in zip(*(one for _, one in found), strict=True)]))
        rows += [(mode, rater, *cells) for rater, cells in found]
    return Sheet(
        "people_rates",
        "Explicit inference by annotator",
        (
            Column("mode", "mode", "text"),
            Column("rater", "annotator or judge", "text"),
            *(Column(space, f"{space} %", "percent") for space in spaces),
        ),
        tuple(rows),
        ("Shares of all annotated outputs of a cell, empty ones being none (arXiv 2610.11765, tables 5 and D.9).",),
    )
