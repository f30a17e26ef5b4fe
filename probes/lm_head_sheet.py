"""The table of `probe=lm_head_lora`: every adapter under every condition beside the model's own head, and one sentence.

Made from records alone, so that a finished run's table can be made again. Knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thinkgap.metrics import PairedDifference
from thinkgap.readouts.frames import NATIVE
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet
from thinkgap.readouts.table import REFERENCE, Row, make_table
from thinkgap.types import Record

PREFIX = "lm_head_lora:"
"""Of the readout of an adapter, before the condition that it was trained on."""
OWN_HEAD = "none (the model's own head)"
_COLUMNS = (
    Column("read_under", "read under", "text"),
    Column("trained_on", "adapter trained on", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("difference", "difference to own head", "points"),
    Column("mcnemar_p", "p", "p"),
    Column("b", "right before, wrong after", "count"),
    Column("c", "wrong before, right after", "count"),
    Column("first_slot", "first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
    Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
    Column("label_mass", "label mass", "mass"),
)
_NOTES = (
    "[low, high]: 95% intervals. Difference: points to the model's own head on the same rows, p by McNemar's test.",
    "Rows where both conditions are the same are the study's figure; the others say whether an adapter carries over.",
    "Beside the first slot %: gold first % is what a perfect model would have, mean(1/k) % what guessing would.",
    "The study (arXiv 2609.29278, Qwen2.5-VL-7B on ScienceQA): prefix 45.48 -> 70.90, Direct 80.76 -> 80.60.",
    "An adapter that is right shows that the answer can be read linearly from the final state. It does not show that "
    "the model would have said it.",
)


def lora_rows(records: Sequence[Record], conditions: Sequence[str]) -> dict[str, list[Row]]:
    """By condition of the evaluation, the figures of the own head and of each adapter, paired on the same rows.

    Args:
        records: Rows of the readouts `native` and `lm_head_lora:*`.
        conditions: Their order.
    """
    by_condition: dict[str, list[Row]] = {}
    for name in conditions:
        # `make_table` pairs conditions of one readout; here the readouts of one condition are paired.
        rows = [replace(one, condition=one.readout, readout=NATIVE) for one in records if one.condition == name]
        if rows:
            by_condition[name] = list(make_table(rows, reference=NATIVE).rows)
    return by_condition


def lora_sheet(
    records: Sequence[Record], conditions: Sequence[str], trained: Sequence[str], title: str, notes: Sequence[str] = ()
) -> Sheet:
    """Train condition by evaluation condition, as one row each.

    Args:
        records: Rows of the readouts `native` and `lm_head_lora:*`.
        conditions: Order of conditions that are read.
        trained: Order of conditions that adapters were trained on.
        title: Heading.
        notes: Further lines below the table.
    """
    order = [NATIVE, *(PREFIX + name for name in trained)]
    cells = [
        _cells(name, row)
        for name, rows in lora_rows(records, conditions).items()
        for row in sorted(rows, key=lambda row: order.index(row.condition))
    ]
    return Sheet("lm_head_lora", title, _COLUMNS, tuple(cells), (*notes, *_NOTES))


def _cells(read_under: str, row: Row) -> tuple[Cell, ...]:
    own = row.condition == NATIVE
    name = OWN_HEAD if own else row.condition.removeprefix(PREFIX)
    return (
        read_under,
        name,
        row.n,
        row.accuracy,
        *_difference(row.difference, "differences are taken to this row" if own else "no row in common"),
        row.first_slot,
        row.gold_first.value,
        row.mean_reciprocal_k,
        row.label_mass,
    )


def _difference(pair: PairedDifference | None, reason: str) -> tuple[Cell, ...]:
    if pair is None:
        return (Missing(reason),) * 4
    return pair.difference, pair.p_value, pair.b, pair.c


def sentence(records: Sequence[Record], conditions: Sequence[str], trained: Sequence[str]) -> str:
    """One plain sentence: each condition before and after the adapter that was trained on it."""
    found: dict[str, tuple[float, float]] = {}
    for name, rows in lora_rows(records, [one for one in conditions if one in trained]).items():
        values = {row.condition: row.accuracy.value for row in rows}
        found[name] = values[NATIVE], values[PREFIX + name]
    others = [pair for name, pair in found.items() if name != REFERENCE]
    parts = [_part(REFERENCE, [found[REFERENCE]])] if REFERENCE in found else []
    if others:
        names = [name for name in found if name != REFERENCE]
        parts.append(_part(names[0] if len(names) == 1 else f"the {len(names)} other conditions", others))
    if not parts:
        return ""
    return (
        f"In short: trained on the condition that it reads, the adapter takes {' and '.join(parts)}; that is what a "
        "linear readout of the final state can give, not what the model would have said."
    )


def _part(name: str, pairs: Sequence[tuple[float, float]]) -> str:
    before, after = (_range([pair[place] for pair in pairs]) for place in (0, 1))
    return f"{name} from {before} to {after} right"


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
    return f"{low}%" if low == high else f"{low}-{high}%"
