"""Sheets of the generated answers and of the labels read after them, beside the native readout of the same items.

A reply without an answer is wrong, and counted. Reads records and the side table of replies; extracts nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgap import metrics
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.readouts.frames import (
    ALIGNED,
    GENERATION,
    NATIVE,
    OTHER,
    accuracy_difference,
    groups_of,
    has,
    paired,
    rows_of,
    values,
    where,
)
from thinkgap.readouts.orders import YES_NO
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_ANSWERS = (
    Column("condition", "condition", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("difference", "difference to {reference}", "points"),
    Column("mcnemar_p", "p", "p"),
    Column("to_native", "difference to native", "points"),
    Column("to_native_p", "p", "p"),
    Column("first_slot", "first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
)


def generation_sheets(
    frame: pd.DataFrame, replies: pd.DataFrame, conditions: Sequence[str], *, reference: str
) -> list[Sheet]:
    """The generated answers per condition, and how the replies came out; empty without any.

    Args:
        frame: records of a run.
        replies: its side table of replies (`store.side.REPLIES`), one row per item and condition.
        conditions: in the run's order.
        reference: condition that differences are taken to.
    """
    if not has(frame, GENERATION):
        return []
    shown = [name for name in conditions if len(rows_of(frame, GENERATION, name))]
    answered = tuple(_answers(frame, GENERATION, name, reference) for name in shown)
    notes = (
        "Replies without an answer are wrong and stand in n. First slot: of all replies.",
        "p by McNemar's test; difference to native: generated minus native on the same items of the condition.",
    )
    came_out = tuple(_came_out(frame, where(replies, replies["condition"] == name), name) for name in shown)
    columns = (
        Column("condition", "condition", "text"),
        Column("n", "n", "count"),
        Column("unparsed", "no answer %", "percent"),
        Column("n_unparsed", "no answer", "count"),
        Column("accuracy_parsed", "accuracy of answers %", "percent"),
        Column("permissive", "permissive accuracy %", "percent"),
        Column("truncated", "truncated %", "percent"),
        Column("tokens", "tokens", "count"),
        Column("tokens_median", "median", "count"),
        Column("mismatch", "first token is not the answer %", "percent"),
        Column("forced", "forced token is native %", "percent"),
        Column("forced_difference", "largest difference", "mass"),
    )
    more = (
        "No answer: nothing in the reply states one (docs/extraction.md); truncated: cut at max_new_tokens.",
        "Permissive: accuracy if a reply without a statement is taken for the last label that it mentions; it shows "
        "what strict reading may lose, and is not the figure to report.",
        "First token is not the answer: the native label is not the one that the reply states, over replies that do.",
        "Forced token: the first generated token when only labels are allowed, read on the path that generates; it has "
        "to be the native answer, and the largest difference of a label's log-probability rounding.",
    )
    return [
        Sheet("generation", "Generated answers", _headed(reference), answered, notes),
        Sheet("replies", "Replies", columns, came_out, more),
    ]


def aligned_sheets(frame: pd.DataFrame, conditions: Sequence[str], *, reference: str, cue: str) -> list[Sheet]:
    """Labels read after each reply and a cue; empty if they were not.

    Args:
        frame: records of a run.
        conditions: in the run's order.
        reference: condition that differences are taken to.
        cue: what followed the reply.
    """
    if not has(frame, ALIGNED):
        return []
    shown = [name for name in conditions if len(rows_of(frame, ALIGNED, name))]
    extra = (
        Column("label_mass", "label mass", "mass"),
        Column("agrees", "as the reply states %", "percent"),
        Column("unread", "not read", "count"),
    )
    rows = tuple((*_answers(frame, ALIGNED, name, reference), *_aligned(frame, name)) for name in shown)
    notes = (
        f"Read after the reply followed by {cue!r}, without parsing; the reply may hold the answer already.",
        "As the reply states: the same label as the extracted answer, over replies that have one.",
        "Not read: prompt, reply and cue are longer than the context; such items count as wrong.",
    )
    return [Sheet("aligned", "Labels read after the reply", (*_headed(reference), *extra), rows, notes)]


def _headed(reference: str) -> tuple[Column, ...]:
    return tuple(Column(c.name, c.heading.format(reference=reference), c.format) for c in _ANSWERS)


def _answers(frame: pd.DataFrame, readout: str, condition: str, reference: str) -> tuple[Cell, ...]:
    rows = rows_of(frame, readout, condition)
    groups = groups_of(rows)
    base = rows_of(frame, readout, reference)
    difference = None if condition == reference else accuracy_difference(base, rows)
    native = accuracy_difference(rows_of(frame, NATIVE, condition), rows)
    own = "this is the condition that differences are taken to" if condition == reference else "no common items"
    return (
        condition,
        len(rows),
        metrics.rate(values(rows, "correct"), groups),
        *_difference(difference, own),
        *_difference(native, "no native rows"),
        metrics.first_slot_rate(values(rows, "pred_slot"), groups),
        metrics.gold_first_rate(values(rows, "gold_slot"), groups),
    )


def _difference(pair: PairedDifference | None, reason: str) -> tuple[Cell, Cell]:
    return (Missing(reason), Missing(reason)) if pair is None else (pair.difference, pair.p_value)


def _came_out(frame: pd.DataFrame, replies: pd.DataFrame, condition: str) -> tuple[Cell, ...]:
    rows = rows_of(frame, GENERATION, condition)
    groups = groups_of(rows)
    parsed = values(rows, "pred_slot") >= 0
    native = rows_of(frame, NATIVE, condition)
    both = paired(rows, native, ["pred_slot"])
    stated = where(both, both["pred_slot"] >= 0)
    forced = paired(native, replies.assign(pred_slot=replies["forced_slot"]), ["pred_slot"])
    # The side table has no groups: those of the records hold for its rows.
    written = paired(rows, replies, ["n_tokens", "finish"])
    tokens = values(written, f"n_tokens{OTHER}")
    return (
        condition,
        len(rows),
        metrics.rate(~parsed, groups),
        int((~parsed).sum()),
        metrics.rate(values(rows, "correct")[parsed], groups[parsed]),
        _permissive(rows, replies),
        _rate(written, written["finish"] == "length"),
        metrics.mean(tokens, groups_of(written)),
        float(np.median(tokens)),
        _rate(stated, stated["pred_slot"] != stated[f"pred_slot{OTHER}"]),
        _rate(forced, forced["pred_slot"] == forced[f"pred_slot{OTHER}"]),
        float(values(replies, "forced_difference").max()),
    )


def _permissive(rows: pd.DataFrame, replies: pd.DataFrame) -> Estimate:
    right = [labels[slot] for labels, slot in zip(rows["labels"], rows["gold_slot"], strict=True)]
    # Yes and No are read in lower case, whatever their labels are.
    read = [label.lower() if label in YES_NO else label for label in right]
    both = paired(rows.assign(permissive=read), replies, ["permissive"])
    return _rate(both, both["permissive"] == both[f"permissive{OTHER}"])


def _aligned(frame: pd.DataFrame, condition: str) -> tuple[Cell, Cell, Cell]:
    rows = rows_of(frame, ALIGNED, condition)
    read = where(rows, rows["pred_slot"] >= 0)
    both = paired(read, rows_of(frame, GENERATION, condition), ["pred_slot"])
    stated = where(both, both[f"pred_slot{OTHER}"] >= 0)
    return (
        metrics.mean(values(read, "label_mass"), groups_of(read)),
        _rate(stated, stated["pred_slot"] == stated[f"pred_slot{OTHER}"]),
        len(rows) - len(read),
    )


def _rate(rows: pd.DataFrame, hits: Any) -> Estimate:
    return metrics.rate(np.asarray(hits, dtype=bool), groups_of(rows))
