"""How often a judge's labels are those of the labelled traces: confusion, accuracy, explicit inference as yes or no.

It takes labels, and knows of judges only the one made of rules, whose rates it gives to others that correct by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from thinkgap.judging.labelled import LABELS, SPLITS, LabelledTrace, Split, labelled_traces, of_split
from thinkgap.judging.rules import RulesJudge
from thinkgap.metrics import Estimate, rate
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet
from thinkgap.types import TraceLabel

EXPLICIT: TraceLabel = "explicit_reasoning"
_LABEL_HEADINGS = {label: label.replace("_", " ") for label in LABELS}


def confusion(labelled: Sequence[LabelledTrace], said: Sequence[TraceLabel | None]) -> list[list[int]]:
    """Traces by label (rows) and by what a judge said (columns), both in the order of `LABELS`.

    A last column counts the traces for which there is no label of the judge.

    Raises:
        ValueError: not one label for each trace.
    """
    if len(said) != len(labelled):
        raise ValueError(f"{len(said)} labels of a judge for {len(labelled)} traces")
    counts = [[0] * (len(LABELS) + 1) for _ in LABELS]
    for one, label in zip(labelled, said, strict=True):
        counts[LABELS.index(one.label)][len(LABELS) if label is None else LABELS.index(label)] += 1
    return counts


def figures(labelled: Sequence[LabelledTrace], said: Sequence[TraceLabel | None]) -> dict[str, Estimate]:
    """Shares with 95% intervals that allow for traces of one problem; no label of the judge counts as not explicit.

    Returns:
        `accuracy`: the same label of five, of all. `sensitivity` (recall): the judge says explicit, of the traces
        labelled so. `specificity`: it does not, of the others. `precision`: labelled explicit, of those of which the
        judge says so. `binary_accuracy`: of all. A share of no traces is missing (NaN, n = 0).
    """
    groups = np.array([one.problem for one in labelled])
    truth = np.array([one.label == EXPLICIT for one in labelled], dtype=bool)
    claim = np.array([label == EXPLICIT for label in said], dtype=bool)
    same = np.array([one.label == label for one, label in zip(labelled, said, strict=True)], dtype=bool)
    return {
        "accuracy": rate(same, groups),
        "sensitivity": rate(claim[truth], groups[truth]),
        "specificity": rate(~claim[~truth], groups[~truth]),
        "precision": rate(truth[claim], groups[claim]),
        "binary_accuracy": rate(claim == truth, groups),
    }


@cache
def measured_rates(split: Split | None = "held_out") -> tuple[float, float]:
    """Sensitivity and specificity of the rules judge for explicit inference, from the labelled traces.

    For a correction of its rate (Rogan and Gladen 1978): true = (apparent + specificity - 1) / (sensitivity +
    specificity - 1). It holds only as far as the traces at hand resemble the labelled ones.

    Args:
        split: no rule was changed by a result on `held_out`; None is both halves.
    """
    labelled = labelled_traces() if split is None else of_split(split)
    found = figures(labelled, rules_labels(labelled))
    return found["sensitivity"].value, found["specificity"].value


def rules_labels(labelled: Sequence[LabelledTrace]) -> list[TraceLabel | None]:
    """What the rules judge says of labelled traces."""
    return [judgement.label for judgement in RulesJudge().judge([one.pair for one in labelled])]


def repeat_agreement() -> tuple[Estimate, float]:
    """Share of equal labels in the labeller's two passes, and Cohen's kappa of them."""
    from statsmodels.stats import inter_rater  # slow to import

    labelled = labelled_traces()
    table = np.zeros((len(LABELS), len(LABELS)))
    for one in labelled:
        table[LABELS.index(one.label_first), LABELS.index(one.label_second)] += 1
    same = rate([one.label_first == one.label_second for one in labelled], [one.problem for one in labelled])
    kappa: Any = inter_rater.cohens_kappa(table, return_results=False)
    return same, float(kappa)


def check_sheets(name: str = "rules") -> list[Sheet]:
    """Confusion matrices of the rules judge by half, its figures, and how far the labeller's two passes agree."""
    halves = {split: of_split(split) for split in SPLITS}
    said = {split: rules_labels(halves[split]) for split in SPLITS}
    return [
        *(_confusion_sheet(name, split, confusion(halves[split], said[split])) for split in SPLITS),
        _figure_sheet(name, {split: figures(halves[split], said[split]) for split in SPLITS}),
        _repeat_sheet(),
    ]


def _confusion_sheet(name: str, split: Split, counts: list[list[int]]) -> Sheet:
    columns = [Column("label", "label", "text"), *(Column(label, _LABEL_HEADINGS[label], "count") for label in LABELS)]
    rows = [(_LABEL_HEADINGS[label], *row, sum(row)) for label, row in zip(LABELS, counts, strict=True)]
    return Sheet(
        f"judge_confusion_{split}",
        f"Labels (rows) and what the judge {name} says (columns), {split.replace('_', ' ')} half",
        (*columns, Column("none", "no label", "count"), Column("n", "n", "count")),
        tuple(rows),
    )


def _figure_sheet(name: str, found: dict[Split, dict[str, Estimate]]) -> Sheet:
    headings = {
        "accuracy": "five labels right %",
        "sensitivity": "recall of explicit %",
        "precision": "precision of explicit %",
        "specificity": "specificity %",
        "binary_accuracy": "explicit or not, right %",
    }
    rows: list[tuple[Cell, ...]] = []
    for split, figures_of in found.items():
        shares = (figures_of[key] if figures_of[key].n else Missing("no such traces") for key in headings)
        rows.append((split.replace("_", " "), figures_of["accuracy"].n, *shares))
    columns = (Column(key, heading, "percent") for key, heading in headings.items())
    return Sheet(
        "judge_measured",
        f"The judge {name} on labelled traces",
        (Column("half", "half", "text"), Column("n", "n", "count"), *columns),
        tuple(rows),
        (
            "Recall: of the traces labelled explicit, those that the judge calls so; precision: of those that it calls "
            "so, the ones labelled so; specificity: of the others, those that it does not call so.",
            "Intervals allow for traces that answer one problem. No rule was changed for the held-out half.",
        ),
    )


def _repeat_sheet() -> Sheet:
    same, kappa = repeat_agreement()
    return Sheet(
        "judge_repeat",
        "The labeller's two passes",
        (
            Column("pass", "labels", "text"),
            Column("n", "n", "count"),
            Column("same", "same label %", "percent"),
            Column("kappa", "kappa"),
        ),
        (("first and second pass", same.n, same, kappa),),
        ("One labeller twice, not two: this bounds the agreement of independent labellers from above.",),
    )
