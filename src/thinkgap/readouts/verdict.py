"""What each condition requests, what was read, whether the two are the same event, and what the figures say of it.

The rules are in `docs/verdict.md`. A finding is stated only where its interval carries it; without evidence the verdict
says which readout would give it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkgap import metrics
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.readouts.frames import ALIGNED, GENERATION, NATIVE, accuracy_difference, groups_of, has, rows_of, values
from thinkgap.readouts.in_short import mass_text
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd


_LEVEL = 0.05
"""Of the exact test that stands for an interval where all rows differ alike."""


@dataclass(frozen=True)
class Thresholds:
    """When a figure counts as unlike another; shares in [0, 1]."""

    label_mass: float = 0.5
    first_slot: float = 0.1
    gap: float = 0.05


@dataclass(frozen=True)
class Evidence:
    """The figures of one condition that a verdict looks at, on the same items."""

    condition: str
    requests: str
    """`label`, `rationale` or `answer_only`."""
    native: Estimate
    first_slot: Estimate
    excess: Estimate
    """First-slot rate minus gold-first rate, paired by row."""
    label_mass: Estimate
    generated: Estimate | None = None
    gap: PairedDifference | None = None
    """Accuracy of the generated answers minus the native one."""
    unanswered: int = 0
    """Replies that state no answer, which count as wrong."""
    aligned: Estimate | None = None
    aligned_gap: PairedDifference | None = None
    """Accuracy of the labels read after the reply minus the native one."""


@dataclass(frozen=True)
class Verdict:
    """One condition's verdict."""

    evidence: Evidence
    match: bool
    """Whether the event that was read is the one that the prompt requests."""
    findings: tuple[str, ...]
    """What speaks against the native figure."""
    advice: str

    def __str__(self) -> str:
        found = self.evidence
        parts = [f"native {_share(found.native)}"]
        if found.generated is not None and found.gap is not None:
            parts.append(f"generated {_share(found.generated)}")
        if found.aligned is not None:
            parts.append(f"read after the reply {_share(found.aligned)}")
        word = "match" if self.match else "mismatch"
        head = (
            f"{found.condition}: {found.requests.replace('_', ' ')} requested, label read: {word}; {', '.join(parts)}"
        )
        findings = f"; {'; '.join(self.findings)}" if self.findings else ""
        return f"{head}{findings}; {self.advice}"


def verdict_of(found: Evidence, thresholds: Thresholds) -> Verdict:
    """Apply the rules to the figures of one condition."""
    findings = []
    rare = found.label_mass.n > 0 and found.label_mass.value < thresholds.label_mass
    if rare:
        findings.append(f"labels hold {mass_text(found.label_mass.value)} of the next token's probability")
    if found.excess.value > 0 and _clear(found.excess, thresholds.first_slot):
        findings.append(f"the first slot is read {100 * found.excess.value:.1f} points more often than it is right")
    # A label after a reply that was to be a label is no better reading of it.
    aligned_gap = found.aligned_gap if found.requests == "rationale" else None
    for name, pair in (("generated answers are", found.gap), ("labels read after the reply are", aligned_gap)):
        if pair is not None and _clear(pair.difference, thresholds.gap):
            value = pair.difference.value
            more = "more" if value > 0 else "less"
            finding = f"{name} right {100 * abs(value):.1f} points {more} often"
            if pair is found.gap and value < 0 and found.unanswered:
                finding += f" ({found.unanswered} of {pair.difference.n} replies state none)"
            findings.append(finding)
    match = found.requests != "rationale" and not rare
    known = found.gap is not None or aligned_gap is not None
    return Verdict(found, match, tuple(findings), _advice(match, bool(findings), known))


def _advice(match: bool, doubted: bool, known: bool) -> str:
    if match and not doubted:
        return "the native figure reads what the prompt requests"
    if match:
        return "the label is what was requested, but report the native figure with what speaks against it"
    if doubted:
        return "do not report the native figure as the model's accuracy"
    if known:
        return "no figure speaks against the native one here, but it is not of the event that the prompt requests"
    return "what the model would have answered is not measured: add evaluation=generation"


def verdicts(
    frame: pd.DataFrame, conditions: Sequence[str], requests: Mapping[str, str], thresholds: Thresholds
) -> list[Verdict]:
    """The verdict of every condition that has native records, on items in the source's order.

    Args:
        frame: records of a run.
        conditions: in the run's order.
        requests: condition -> what it requests.
        thresholds: when figures count as unlike.
    """
    found = []
    for condition in conditions:
        native = rows_of(frame, NATIVE, condition)
        if not len(native):
            continue
        generated = _other(frame, GENERATION, condition)
        aligned = _other(frame, ALIGNED, condition)
        groups = groups_of(native)
        first = values(native, "pred_slot") == 0
        mass = values(native, "label_mass")
        evidence = Evidence(
            condition,
            requests.get(condition, "label"),
            metrics.rate(values(native, "correct"), groups),
            metrics.rate(first, groups),
            metrics.mean(first.astype(float) - (values(native, "gold_slot") == 0), groups),
            metrics.mean(mass[mass == mass], groups[mass == mass]),
            None if generated is None else metrics.rate(values(generated, "correct"), groups_of(generated)),
            None if generated is None else accuracy_difference(native, generated),
            0 if generated is None else int((values(generated, "pred_slot") < 0).sum()),
            None if aligned is None else metrics.rate(values(aligned, "correct"), groups_of(aligned)),
            None if aligned is None else accuracy_difference(native, aligned),
        )
        found.append(verdict_of(evidence, thresholds))
    return found


def verdict_sheet(found: Sequence[Verdict]) -> Sheet:
    """The verdicts as a table: one row per condition."""
    columns = (
        Column("condition", "condition", "text"),
        Column("requests", "requests", "text"),
        Column("verdict", "verdict", "text"),
        Column("native", "native %", "percent"),
        Column("generated", "generated %", "percent"),
        Column("aligned", "after the reply %", "percent"),
        Column("gap", "generated - native", "points"),
        Column("excess", "first slot - gold first", "points"),
        Column("label_mass", "label mass", "mass"),
    )
    rows = tuple(_row(one) for one in found)
    return Sheet("verdict", "Verdict: is the event that was read the one that the prompt requests?", columns, rows)


def _row(one: Verdict) -> tuple[Cell, ...]:
    found = one.evidence
    missing = Missing("not generated: add evaluation=generation")
    unread = Missing("not read after replies: evaluation.generation.aligned")
    return (
        found.condition,
        found.requests,
        "match" if one.match else "mismatch",
        found.native,
        missing if found.generated is None else found.generated,
        (missing if found.generated is None else unread) if found.aligned is None else found.aligned,
        missing if found.gap is None else found.gap.difference,
        found.excess,
        found.label_mass,
    )


def _other(frame: pd.DataFrame, readout: str, condition: str) -> pd.DataFrame | None:
    if not has(frame, readout):
        return None
    rows = rows_of(frame, readout, condition)
    return rows if len(rows) else None


def _clear(difference: Estimate, gap: float) -> bool:
    """Whether a difference is large enough and its interval leaves out zero."""
    if abs(difference.value) == 1 and math.isnan(difference.low):
        # All rows differ alike, so there is no spread: enough of them for the exact test of b = n, c = 0.
        return gap < 1 and 0.5 ** (difference.n - 1) < _LEVEL
    return abs(difference.value) > gap and (difference.low > 0 or difference.high < 0)


def _share(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
