"""Sheet of judges' self-checks: whether a label depends on the other traces of its request.

Made from the label pairs that the run's manifest holds; how they were asked for is `judging.checks`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgap.metrics import Estimate
from thinkgap.metrics.raters import cohens_kappa, raw_agreement
from thinkgap.nothinking.levels import EXPLICIT, TRACE_LABELS
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet


def check_sheet(judges: Mapping[str, Any]) -> Sheet | None:
    """`nothinking_judge_checks`, a row for each judge and check; None if no judge was checked.

    Args:
        judges: judge -> what the manifest says of it; `checks` holds (name, label pairs, number without a label).
    """
    rows: list[tuple[Cell, ...]] = []
    for judge, about in judges.items():
        for one in about.get("checks", ()):
            pairs = one["labels"]
            first, second = ([TRACE_LABELS.index(pair[place]) for pair in pairs] for place in (0, 1))
            explicit = [[int(TRACE_LABELS[code] == EXPLICIT) for code in codes] for codes in (first, second)]
            rows.append((judge, one["name"], one["unlabelled"], *_agreement(first, second), *_agreement(*explicit)))
    if not rows:
        return None
    return Sheet(
        "nothinking_judge_checks",
        "Whether labels depend on the other traces of a request",
        (
            Column("judge", "judge", "text"),
            Column("check", "check", "text"),
            Column("unlabelled", "without a label", "count"),
            Column("same", "same of five labels %", "percent"),
            Column("kappa", "kappa", "number"),
            Column("same_explicit", "same explicit or not %", "percent"),
            Column("kappa_explicit", "kappa, explicit or not", "number"),
        ),
        tuple(rows),
        (
            "A seeded sample of traces is judged a second time: order check, in batches in reverse; single check, each "
            "trace alone. Without a label: in one of the two readings, and in no other figure.",
        ),
    )


def _agreement(first: Sequence[int], second: Sequence[int]) -> tuple[Cell, Cell]:
    if not len(first):
        missing = Missing("no trace has a label both times")
        return missing, missing
    kappa = cohens_kappa(first, second)
    return raw_agreement(first, second), kappa if _known(kappa) else Missing("both readings give one label throughout")


def _known(estimate: Estimate) -> bool:
    return estimate.value == estimate.value
