"""Sheets of generated answers and of labels read after them, by hand; the overview of all readouts."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from tests.store.examples import record
from thinkgap.metrics import Estimate
from thinkgap.readouts.answers import aligned_sheets, generation_sheets
from thinkgap.readouts.frames import frame_of, where
from thinkgap.readouts.overview import overview_charts, overview_sheets
from thinkgap.readouts.sheet import Missing, Sheet
from thinkgap.store.records import to_table

CONDITIONS = ["direct", "let"]
# Gold is slot 1. Per item: native slot, generated slot (-1: no answer), slot read after the reply (-1: not read).
DIRECT = ((1, 1, 1), (1, 1, 1), (0, 1, 1), (2, -1, 1))
LET = ((0, 1, 1), (0, 1, 0), (1, -1, 1), (0, 2, -1))


def frame() -> pd.DataFrame:
    rows = []
    for condition, items in zip(CONDITIONS, (DIRECT, LET), strict=True):
        for i, (native, generated, aligned) in enumerate(items):
            name = f"q{i}"
            rows.append(record(name, condition, pred_slot=native))
            rows.append(record(name, condition, pred_slot=3, presentation="permutation_1"))
            rows.append(record(name, condition, readout="generation", pred_slot=generated, label_mass=math.nan))
            mass = 0.8 if aligned >= 0 else math.nan
            rows.append(record(name, condition, readout="aligned", pred_slot=aligned, label_mass=mass))
    return frame_of(to_table(rows))


def replies() -> pd.DataFrame:
    found = []
    for condition, items in zip(CONDITIONS, (DIRECT, LET), strict=True):
        for i, (native, generated, _) in enumerate(items):
            found.append(
                {
                    "item_id": f"q{i}",
                    "presentation": "identity",
                    "condition": condition,
                    "group_id": f"q{i}",
                    # Of a reply without a statement, the last label it mentions: right in the third of let.
                    "permissive": "ABCD"[generated] if generated >= 0 else {"direct": None, "let": "B"}[condition],
                    "n_tokens": 10 * (i + 1),
                    "finish": "length" if generated < 0 else "stop",
                    "forced_slot": native if (condition, i) != ("let", 3) else 2,
                    "forced_difference": 1e-6 * (i + 1),
                }
            )
    return pd.DataFrame(found)


def figures(sheet: Sheet, condition: str) -> dict[str, Any]:
    (row,) = [row for row in sheet.rows if row[0] == condition]
    values = (cell.value if isinstance(cell, Estimate) else cell for cell in row)
    return dict(zip([column.name for column in sheet.columns], values, strict=True))


def test_generated_answers_by_hand() -> None:
    answers, came_out = generation_sheets(frame(), replies(), CONDITIONS, reference="direct")
    direct, let = figures(answers, "direct"), figures(answers, "let")
    # Direct: right, right, right, no answer. Let: right, right, no answer, wrong.
    assert (direct["n"], direct["accuracy"], let["accuracy"]) == (4, 0.75, 0.5)
    assert isinstance(direct["difference"], Missing)
    assert let["difference"] == -0.25
    # Native: Direct 2 of 4, let 1 of 4.
    assert (direct["to_native"], let["to_native"]) == (0.25, 0.25)
    assert (let["first_slot"], let["gold_first"]) == (0.0, 0.0)
    out = figures(came_out, "let")
    assert (out["unparsed"], out["n_unparsed"], out["truncated"]) == (0.25, 1, 0.25)
    # Of three answers two are right; the native label is another one in all three.
    assert out["accuracy_parsed"] == pytest.approx(2 / 3)
    assert (out["permissive"], figures(came_out, "direct")["permissive"]) == (0.75, 0.75)
    assert out["mismatch"] == 1.0
    assert (out["tokens"], out["tokens_median"]) == (25.0, 25.0)
    assert (out["forced"], out["forced_difference"]) == (0.75, 4e-6)
    own = figures(came_out, "direct")
    # Stated answers 1, 1, 1 beside native 1, 1, 0.
    assert own["mismatch"] == pytest.approx(1 / 3)
    assert own["forced"] == 1.0


def test_all_figures_of_replies_are_clustered() -> None:
    records = frame().assign(group_id=["g0" if name in ("q0", "q1") else "g1" for name in frame()["item_id"]])
    # What the side table of a run holds: no groups.
    _, came_out = generation_sheets(records, replies().drop(columns="group_id"), CONDITIONS, reference="direct")
    (row,) = [row for row in came_out.rows if row[0] == "direct"]
    cells = dict(zip([column.name for column in came_out.columns], row, strict=True))
    # Tokens 10, 20 | 30, 40: mean 25, sums of deviations -20 and 20, G/(G-1) = 2:
    # SE = sqrt(2 * (400 + 400) / 16) = 10, t with one degree of freedom is 12.7062.
    tokens = cells["tokens"]
    assert isinstance(tokens, Estimate)
    assert (tokens.low, tokens.high) == (pytest.approx(25 - 127.062, abs=1e-3), pytest.approx(25 + 127.062, abs=1e-3))
    # The same reply is unparsed and cut.
    assert cells["truncated"] == cells["unparsed"]


def test_labels_after_the_reply_by_hand() -> None:
    (sheet,) = aligned_sheets(frame(), CONDITIONS, reference="direct", cue="The answer is")
    let = figures(sheet, "let")
    # Read: right, wrong (slot 0), right, not read.
    assert (let["accuracy"], let["first_slot"], let["unread"]) == (0.5, 0.25, 1)
    assert let["label_mass"] == pytest.approx(0.8)
    # Both there for two items: 1 and 1, 0 and 1.
    assert let["agrees"] == 0.5
    assert let["to_native"] == 0.25
    assert "'The answer is'" in sheet.notes[0]


def test_overview_by_hand() -> None:
    accuracy, first = overview_sheets(frame(), CONDITIONS, {"direct": "label", "let": "rationale"})
    assert [column.name for column in accuracy.columns] == [
        "condition", "requests", "n", "native", "generation", "aligned",
    ]  # fmt: skip
    let = figures(accuracy, "let")
    assert (let["requests"], let["n"]) == ("rationale", 4)
    assert (let["native"], let["generation"], let["aligned"]) == (0.25, 0.5, 0.5)
    shown = figures(first, "let")
    assert (shown["native"], shown["generation"], shown["aligned"]) == (0.75, 0.0, 0.25)
    assert (shown["gold_first"], shown["chance"]) == (0.0, 0.25)
    (chart,) = overview_charts(frame(), CONDITIONS)
    assert ("let", 50.0, "generated") in chart.rows


def test_overview_tells_of_readouts_that_some_items_do_not_have() -> None:
    whole = frame()
    lost = where(whole, (whole["readout"] != "aligned") | (whole["item_id"] != "q2"))
    for sheet in overview_sheets(lost, CONDITIONS, {}):
        assert sheet.notes[1:] == (
            "Of fewer items than n, and so of others: after the reply 3 of 4; the manifest says why.",
        )
    assert all(len(sheet.notes) == 1 for sheet in overview_sheets(whole, CONDITIONS, {}))


def test_no_sheets_without_other_readouts() -> None:
    native = where(frame(), frame()["readout"] == "native")
    assert overview_sheets(native, CONDITIONS, {}) == []
    assert generation_sheets(native, replies(), CONDITIONS, reference="direct") == []
    assert aligned_sheets(native, CONDITIONS, reference="direct", cue="") == []
