"""Every readout of the same items side by side: what each of them alone would have concluded.

One row per condition, then per number of options. Knows records only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thinkgap import metrics
from thinkgap.readouts.frames import groups_of, has, rows_of, values, where
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

READOUTS: Mapping[str, str] = {
    "native": "native",
    "likelihood_sum": "likelihood, sum",
    "likelihood_token": "per token",
    "likelihood_byte": "per byte",
    "likelihood_pmi": "PMI",
    "generation": "generated",
    "aligned": "after the reply",
}
"""Readout -> heading, in the order of the columns."""


def overview_sheets(frame: pd.DataFrame, conditions: Sequence[str], requests: Mapping[str, str]) -> list[Sheet]:
    """Accuracy by readout, first-slot rate by readout, and accuracy by number of options; empty for one readout."""
    shown = [name for name in READOUTS if has(frame, name)]
    if len(shown) < 2:
        return []
    present = [name for name in conditions if len(rows_of(frame, "native", name))]
    lead = (Column("condition", "condition", "text"), Column("requests", "requests", "text"), Column("n", "n", "count"))
    columns = tuple(Column(name, f"{READOUTS[name]} %", "percent") for name in shown)
    accuracy, first = [], []
    for name in present:
        head: tuple[Cell, ...] = (name, requests.get(name, ""), len(rows_of(frame, "native", name)))
        accuracy.append((*head, *(_figure(frame, readout, name, "correct") for readout in shown)))
        gold = rows_of(frame, "native", name)
        first.append(
            (
                *head,
                metrics.gold_first_rate(values(gold, "gold_slot"), groups_of(gold)),
                metrics.mean_reciprocal_k(values(gold, "k")),
                *(_figure(frame, readout, name, "pred_slot") for readout in shown),
            )
        )
    baselines = (Column("gold_first", "gold first %", "percent"), Column("chance", "mean(1/k) %", "percent"))
    note = "On the items in the source's order. A reply without an answer is wrong, and not on the first slot."
    notes = (note, *_fewer(frame, present, shown))
    sheets = [
        Sheet("readouts", "Accuracy by readout", (*lead, *columns), tuple(accuracy), notes),
        Sheet("first_slot", "First-slot rate by readout", (*lead, *baselines, *columns), tuple(first), notes),
    ]
    ks = sorted(set(rows_of(frame, "native")["k"]))  # as shown: a proposal has two answers, whatever its item has
    if len(ks) > 1:
        by_k = []
        for k in ks:
            part = where(frame, frame["k"] == k)
            for name in present:
                n = len(rows_of(part, "native", name))
                if n:
                    by_k.append((str(k), name, n, *(_figure(part, readout, name, "correct") for readout in shown)))
        own = (Column("k", "k", "text"), Column("condition", "condition", "text"), Column("n", "n", "count"))
        sheets.append(
            Sheet("readouts_by_k", "Accuracy by number of options k and readout", (*own, *columns), tuple(by_k), notes)
        )
    return sheets


def _fewer(frame: pd.DataFrame, conditions: Sequence[str], shown: Sequence[str]) -> list[str]:
    """A line on readouts that some items of `n` do not have: their figures are not of the items beside them."""
    counts = {name: {one: len(rows_of(frame, name, one)) for one in conditions} for name in shown}
    found = [
        f"{READOUTS[name]} {min(counts[name].values())} of {max(counts['native'].values())}"
        for name in shown
        if any(counts[name][one] < counts["native"][one] for one in conditions)
    ]
    return [f"Of fewer items than n, and so of others: {', '.join(found)}; the manifest says why."] if found else []


def overview_charts(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Chart]:
    """Accuracy of every readout, as bars by condition."""
    shown = [name for name in READOUTS if has(frame, name)]
    points = tuple(
        (name, 100 * float(values(rows, "correct").mean()), READOUTS[readout])
        for readout in shown
        for name in conditions
        if len(rows := rows_of(frame, readout, name))
    )
    return [Chart("readouts", "Accuracy % by readout", "bar", "condition", "accuracy %", "readout", points)]


def _figure(frame: pd.DataFrame, readout: str, condition: str, column: str) -> Cell:
    rows = rows_of(frame, readout, condition)
    if not len(rows):
        return Missing(f"no {READOUTS[readout]} records of these items")
    groups = groups_of(rows)
    if column == "correct":
        return metrics.rate(values(rows, "correct"), groups)
    return metrics.first_slot_rate(values(rows, "pred_slot"), groups)
