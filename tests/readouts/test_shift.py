"""Position shift and histograms of p(gold): hand-computed figures and what is left out."""

from __future__ import annotations

import math
import random
from typing import Any

import pandas as pd
import pytest

from tests.store.examples import record
from thinkgap.errors import StoreError
from thinkgap.metrics import mean
from thinkgap.readouts.sheet import Sheet, sheet_markdown
from thinkgap.readouts.shift import shift_charts, shift_sheets
from thinkgap.store.records import to_table
from thinkgap.types import Record


def shown(item: str, condition: str, gold: int, *p: float, **changes: object) -> Record:
    """An item of two options with full-vocabulary probabilities `p` of its labels."""
    fixed: dict[str, Any] = {"k": len(p), "order": tuple(range(len(p))), "labels": tuple("ABC"[: len(p)])}
    logprobs = tuple(math.log(x) if x else -math.inf for x in p)
    return record(item, condition, gold_slot=gold, pred_slot=0, label_logprobs=logprobs, **(fixed | changes))


def frame(records: list[Record]) -> pd.DataFrame:
    return to_table(records).to_pandas()


# p(gold) over labels: 0.6/0.8 = 0.75, 0.2/0.8 = 0.25 and 0.5; then 0.08/0.1 = 0.8, 0.09/0.1 = 0.9 and 0.1.
RECORDS = [
    shown("a", "direct", 0, 0.6, 0.2),
    shown("b", "direct", 0, 0.2, 0.6),
    shown("c", "direct", 1, 0.4, 0.4),
    shown("a", "think", 0, 0.08, 0.02),
    shown("b", "think", 0, 0.09, 0.01),
    shown("c", "think", 1, 0.9, 0.1),
]


def row(sheet: Sheet, *key: str) -> dict[str, Any]:
    (found,) = [cells for cells in sheet.rows if cells[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, found, strict=True)}


def test_shift_by_hand():
    shift, _ = shift_sheets(frame(RECORDS), ("direct", "think"))
    first, second = row(shift, "think", "slot 1"), row(shift, "think", "slot 2")
    # Slot 1: 0.05 and 0.65; over the vocabulary 0.08 - 0.6 and 0.09 - 0.2.
    assert first["n"] == 2
    assert first["shift"].value == pytest.approx(0.35)
    assert first["shift_full"].value == pytest.approx((-0.52 - 0.11) / 2)
    expected = mean([0.05, 0.65])
    assert (first["shift"].low, first["shift"].high) == pytest.approx((expected.low, expected.high))
    assert (first["reference"].value, first["p"].value) == pytest.approx((0.5, 0.85))
    # Slot 2: 0.1 - 0.5, and 0.1 - 0.4. One item has no interval.
    assert (second["shift"].value, second["shift_full"].value) == pytest.approx((-0.4, -0.3))
    assert math.isnan(second["shift"].low)
    assert [cells[:2] for cells in shift.rows] == [("think", "slot 1"), ("think", "slot 2")]
    assert "+35.0" in sheet_markdown(shift)


def test_intervals_are_clustered():
    grouped = [shown(f"{r}{i}", c, 0, p, 1 - p, group_id=r) for r, c, i, p in TWICE]
    shift, _ = shift_sheets(frame(grouped), ("direct", "think"))
    found = row(shift, "think", "slot 1")["shift"]
    # Shifts of 0.1, 0.1 (group x) and 0.3, 0.3 (group y).
    expected = mean([0.1, 0.1, 0.3, 0.3], ["x", "x", "y", "y"])
    assert (found.value, found.low) == pytest.approx((expected.value, expected.low))
    assert found.low < mean([0.1, 0.1, 0.3, 0.3]).low


TWICE = [
    (group, condition, i, 0.5 + moved * (condition == "think"))
    for group, moved in (("x", 0.1), ("y", 0.3))
    for condition in ("direct", "think")
    for i in range(2)
]


def test_histogram_by_hand():
    _, histogram = shift_sheets(frame(RECORDS), ("direct", "think"))
    direct = row(histogram, "direct")
    assert (direct["n"], direct["p"].value) == (3, pytest.approx(0.5))
    assert [direct[f"bin_{i}"] for i in range(1, 11)] == [0, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    assert [column.heading for column in histogram.columns[3:5]] == ["0.0-0.1", "0.1-0.2"]
    (chart,) = shift_charts(frame(RECORDS), ("direct", "think"))
    assert chart.rows[2] == ("0.2-0.3", 1 / 3, "direct")
    assert len(chart.rows) == 20


def test_certainty_is_in_the_last_bin():
    sheets = shift_sheets(frame([shown("a", "direct", 0, 1.0, 0.0), shown("b", "direct", 1, 1.0, 0.0)]), ("direct",))
    (histogram,) = sheets
    found = row(histogram, "direct")
    assert (found["bin_1"], found["bin_10"]) == (1, 1)


def test_rows_join_by_item_and_others_are_ignored():
    expected = shift_sheets(frame(RECORDS), ("direct", "think"))
    others = [shown("a", "think", 1, 0.5, 0.5, presentation=name) for name in ("permutation_1", "letters_late")]
    records = RECORDS + others
    random.Random(2).shuffle(records)
    found = shift_sheets(frame(records), ("direct", "think"))
    for ours, theirs in zip(found, expected, strict=True):
        assert sheet_markdown(ours) == sheet_markdown(theirs)
    unpaired = shift_sheets(frame(RECORDS[1:]), ("direct", "think"))
    assert row(unpaired[0], "think", "slot 1")["n"] == 1


def test_left_out_rows_are_counted():
    yes_no = shown("y", "direct", 0, 0.9, 0.1, labels=("Yes", "No"))
    empty = shown("e", "direct", 0, 0.0, 0.0)
    _, histogram = shift_sheets(frame([*RECORDS, yes_no, empty]), ("direct", "think"))
    assert row(histogram, "direct")["n"] == 3
    assert any("1 yes/no" in note for note in histogram.notes)
    assert any("1 rows in which no label" in note for note in histogram.notes)


def test_without_rows_or_reference():
    assert shift_sheets(frame(RECORDS[:1]).iloc[:0], ("direct",)) == []
    assert shift_charts(frame(RECORDS[:1]).iloc[:0], ("direct",)) == []
    assert [sheet.name for sheet in shift_sheets(frame(RECORDS[3:]), ("direct", "think"))] == ["gold_probability"]


def test_the_same_item_twice_is_refused():
    with pytest.raises(StoreError, match="'a' occurs twice"):
        shift_sheets(frame([*RECORDS, RECORDS[0]]), ("direct",))
