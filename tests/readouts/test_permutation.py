"""Sheets of permuted options: hand-computed figures, what is left out, and time."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.store.examples import record
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate, first_slot_rate, rate
from thinkgap.metrics.bootstrap import bootstrap_means
from thinkgap.readouts.permutation import permutation_charts, permutation_sheets
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.store.records import to_table
from thinkgap.types import Record

NAMES = ("identity", "permutation_1", "permutation_2")
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 1, 0))
"""Of every item; its right content 1 is in slots 1, 0 and 1."""


def shown(item: str, condition: str, name: str, order: Sequence[int], content: int, **changes: object) -> Record:
    """An item of content 1 in `order`, with the prediction `content`."""
    k = len(order)
    fixed: dict[str, Any] = {"k": k, "labels": tuple("ABCDE"[:k]), "order": tuple(order)}
    fixed |= {"gold_slot": order.index(1), "pred_slot": order.index(content), "label_logprobs": (-1.0,) * k}
    return record(item, condition, presentation=name, **(fixed | changes))


def items(condition: str, *contents: Sequence[int], **changes: object) -> list[Record]:
    """Items q0, q1, ... with their predicted contents in the three orders."""
    return [
        shown(f"q{i}", condition, name, order, content, **changes)
        for i, of_item in enumerate(contents)
        for name, order, content in zip(NAMES, ORDERS, of_item, strict=True)
    ]


def frame(records: list[Record]) -> pd.DataFrame:
    return to_table(records).to_pandas()


def sheets(records: list[Record], conditions: Sequence[str] = ("direct", "think"), **changes: Any) -> dict[str, Sheet]:
    settings: dict[str, Any] = {"draws": 300, "seed": 0, "prior_share": 0.5}
    made = permutation_sheets(frame(records), conditions, **(settings | changes))
    assert len({sheet.name for sheet in made}) == len(made)
    return {sheet.name: sheet for sheet in made}


def row(sheet: Sheet, *key: str) -> dict[str, Any]:
    """Cells of the row that starts with `key`, by column."""
    (found,) = [cells for cells in sheet.rows if cells[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, found, strict=True)}


DIRECT = items("direct", (1, 1, 1), (1, 1, 1), (1, 1, 0), (0, 0, 0))
THINK = items("think", (0, 1, 2), (0, 1, 2), (1, 1, 2), (2, 1, 2))
"""Slots: (0, 0, 0), (0, 0, 0), (1, 0, 0), (2, 0, 0)."""


def test_main_figures_by_hand():
    main = sheets(DIRECT + THINK)["permutation"]
    direct, think = row(main, "direct"), row(main, "think")
    # Source's order: 3 of 4 and 1 of 4 right.
    assert (direct["n"], direct["accuracy"]) == (4, rate([1, 1, 1, 0]))
    assert think["accuracy"] == rate([0, 0, 1, 0])
    # Seeded orders: 3/4 and 2/4, mean 62.5, SD 25 / sqrt(2) = 17.7. Think: 4/4 and 0/4, SD 100 / sqrt(2).
    assert direct["accuracy_seeds"] == "62.5 +- 17.7"
    assert think["accuracy_seeds"] == "50.0 +- 70.7"
    assert direct["accuracy_orders"] == bootstrap_means([[1], [1], [0.5], [0]], None, 300, 0)[0]
    assert think["accuracy_orders"].value == 0.5
    # First slot, direct: content 1 in permutation_1 for three items, none in permutation_2 (content 2 is first there).
    assert direct["first_slot_seeds"] == "37.5 +- 53.0"
    assert direct["first_slot_orders"].value == 3 / 8
    assert think["first_slot_seeds"] == "100.0 +- 0.0"
    assert think["first_slot_orders"].value == 1
    # Gold is first in one of the two orders.
    assert direct["gold_first"].value == 0.5
    assert direct["mean_reciprocal_k"] == pytest.approx(1 / 3)


def test_comparison_by_hand():
    main = sheets(DIRECT + THINK)["permutation"]
    think = row(main, "think")
    # d = -1, -1, 0, 0. b = 2, c = 0: p = 2 / 2^2. Both flips are to slot 1.
    assert think["difference"].value == -0.5
    assert think["p"] == think["p_holm"] == pytest.approx(0.5)
    assert (think["flips"], think["flips_first"]) == (2, rate([1, 1]))
    assert all(isinstance(row(main, "direct")[name], Missing) for name in ("difference", "p", "p_holm", "flips"))


def test_holm_over_the_conditions_compared():
    # b = 6, 5 and 0 of 6: p = 2 / 2^6, 2 / 2^5 and 1, times 3, 2 and 1.
    direct = items("direct", *[(1, 1, 1)] * 6)
    lost = items("a", *[(0, 1, 1)] * 6)
    most = items("b", *[(2, 1, 1)] * 5, (1, 1, 1))
    same = items("c", *[(1, 1, 1)] * 6)
    main = sheets(direct + lost + most + same, ("direct", "a", "b", "c"))["permutation"]
    assert [row(main, name)["p"] for name in "abc"] == pytest.approx([2 / 64, 2 / 32, 1])
    assert [row(main, name)["p_holm"] for name in "abc"] == pytest.approx([6 / 64, 4 / 32, 1])
    assert row(main, "b")["flips_first"] == rate([0] * 5)
    assert isinstance(row(main, "c")["flips_first"], Missing)
    assert any("a family of 3" in note for note in main.notes)


def test_consistency_by_hand():
    found = sheets(DIRECT + THINK)["permutation_consistency"]
    direct, think = row(found, "direct"), row(found, "think")
    assert direct["orders"] == "3"
    assert (direct["all_correct"], direct["all_agree"]) == (rate([1, 1, 0, 0]), rate([1, 1, 0, 1]))
    # Pairs that agree: 3, 3, 1 and 3 of 3. Modal shares 1, 1, 2/3, 1.
    assert direct["pairwise_agreement"].value == pytest.approx(10 / 12)
    assert direct["modal_share"].value == pytest.approx(11 / 12)
    # Shares of the contents 4/12 and 8/12: by chance 5/9. (10/12 - 5/9) / (4/9) = 5/8.
    assert direct["kappa"] == pytest.approx(5 / 8)
    # Think: 0, 0, 1 and 1 of 3 pairs.
    assert think["pairwise_agreement"].value == pytest.approx(2 / 12)
    assert isinstance(think["circular"], Missing)


def test_each_order_by_hand():
    found = sheets(DIRECT + THINK)["permutation_orders"]
    assert [cells[:3] for cells in found.rows] == [(c, name, 4) for c in ("direct", "think") for name in NAMES]
    by_order = [row(found, "direct", name) for name in NAMES]
    assert [cells["accuracy"] for cells in by_order] == [rate([1, 1, 1, 0]), rate([1, 1, 1, 0]), rate([1, 1, 0, 0])]
    assert [cells["first_slot"].value for cells in by_order] == [1 / 4, 3 / 4, 0]
    assert [cells["gold_first"].value for cells in by_order] == [0, 1, 0]


def test_bias_by_k_by_hand():
    found = row(sheets(DIRECT + THINK)["permutation_by_k"], "3", "direct")
    assert (found["n"], found["accuracy"].value, found["first_slot"].value) == (4, 5 / 8, 3 / 8)
    assert found["mean_reciprocal_k"] == pytest.approx(1 / 3)
    # Gold is never in slot 3.
    assert math.isnan(found["rstd"].value)
    # Slots of permutation_1: 0, 0, 0, 2 and of permutation_2: 1, 1, 2, 2.
    assert found["histogram"] == "slot 1 37.5, slot 2 25.0, slot 3 37.5"
    p = np.array([3.5, 2.5, 3.5]) / 9.5
    assert found["entropy"] == pytest.approx(-np.sum(p * np.log(p)) / np.log(3))
    assert found["divergence"] == pytest.approx(np.log(3) + np.sum(p * np.log(p)))
    assert found["kappa"] == pytest.approx(5 / 8)


def test_recall_spread_by_hand():
    # Two options: gold (content 1) in slot 1 of the source, then in 0 and in 1. Recall of slot 0: 4/4, of slot 1: 2/4.
    orders = ((0, 1), (1, 0), (0, 1))
    records = [
        shown(f"q{i}", "direct", name, order, content)
        for i in range(4)
        for name, order, content in zip(NAMES, orders, (0, 1, int(i < 2)), strict=True)
    ]
    found = row(sheets(records)["permutation_by_k"], "2", "direct")
    # Mean 3/4, deviations 1/4.
    assert found["rstd"].value == pytest.approx(1 / 4)
    assert found["rsd"].value == pytest.approx(1 / 3)
    # Resampled, slot 0 keeps its recall, and slot 1 has 0 or 1 in an eighth of the draws: half of 1/2 away.
    assert found["rstd_chance"] == pytest.approx(1 / 4)
    assert math.isnan(found["rstd"].low)


def test_recall_spread_beyond_chance_has_an_interval():
    orders = ((0, 1), (1, 0), (0, 1))
    records = [
        shown(f"q{i}", condition, name, order, order[0] if condition == "direct" else (i + i // 2 + s) % 2)
        for condition in ("direct", "think")
        for i in range(60)
        for s, (name, order) in enumerate(zip(NAMES, orders, strict=True))
    ]
    sheet = sheets(records)["permutation_by_k"]
    always, guessing = row(sheet, "2", "direct"), row(sheet, "2", "think")
    # Always the first slot: recalls 1 and 0 in every draw. Guessing: no interval, as chance gives as much.
    assert (always["rstd"].value, always["rstd_chance"], always["rsd"].value) == (0.5, pytest.approx(0), 1)
    assert guessing["rstd"].value <= guessing["rstd_chance"]
    assert math.isnan(guessing["rstd"].low)
    assert math.isnan(guessing["rsd"].low)


def cyclic(condition: str, k: int, contents: Sequence[Sequence[int]], **changes: object) -> list[Record]:
    names = ["identity", *(f"cyclic_{shift}" for shift in range(1, k))]
    return [
        shown(f"k{k}q{i}", condition, name, tuple((slot + shift) % k for slot in range(k)), of_item[shift], **changes)
        for i, of_item in enumerate(contents)
        for shift, name in enumerate(names)
    ]


def test_rotations_have_circular_eval_and_no_seeds():
    records = cyclic("direct", 3, [(1, 1, 1), (1, 1, 0)]) + cyclic("direct", 2, [(1, 1), (0, 0)])
    made = sheets(records)
    consistency = row(made["permutation_consistency"], "direct")
    assert consistency["circular"] == consistency["all_correct"] == rate([1, 0, 1, 0])
    assert consistency["orders"] == "2 to 3"
    main = row(made["permutation"], "direct")
    # Items count alike: (1 + 0 + 1 + 2/3) / 4; every content is in every slot once.
    assert main["accuracy_orders"].value == pytest.approx(2 / 3)
    assert main["gold_first"].value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert isinstance(main["accuracy_seeds"], Missing)
    # Kappa of k = 2: full agreement on two contents, 1. k = 3: agreement 1 and 1/3, contents 5/6 and 1/6.
    expected = (2 / 3 - 26 / 36) / (10 / 36)
    assert consistency["kappa"] == pytest.approx((1 + expected) / 2)
    orders = made["permutation_orders"]
    assert [cells[1:3] for cells in orders.rows] == [("identity", 4), ("cyclic_1", 4), ("cyclic_2", 2)]
    assert not any("do not cancel" in note for note in made["permutation_prior"].notes)


def test_prior_and_debiased_accuracy():
    # Label log-probabilities of a signal of 1 for content 1 times the prior 0.7, 0.2, 0.1.
    prior = np.array([0.7, 0.2, 0.1])
    records = []
    for i in range(6):
        for shift, name in enumerate(("identity", "cyclic_1", "cyclic_2")):
            order = tuple((slot + shift) % 3 for slot in range(3))
            logits = np.log(prior) + (np.array(order) == 1) - 5
            given = {"label_logprobs": tuple(logits)}
            records.append(shown(f"q{i}", "direct", name, order, order[int(np.argmax(logits))], **given))
    found = row(sheets(records)["permutation_prior"], "3", "direct")
    assert (found["n_prior"], found["n"]) == (3, 3)
    assert found["prior"] == "slot 1 70.0, slot 2 20.0, slot 3 10.0"
    # The source's order has gold in slot 2: 0.2 e = 0.54 is less than 0.7.
    assert (found["accuracy"].value, found["debiased"].value, found["difference"].value) == (0, 1, 1)


def test_a_prior_that_cannot_be_taken_is_missing():
    found = row(sheets(items("direct", (1, 1, 1)))["permutation_prior"], "3", "direct")
    assert isinstance(found["prior"], Missing)
    assert isinstance(found["debiased"], Missing)
    assert any("do not cancel" in note for note in sheets(DIRECT)["permutation_prior"].notes)


def test_referring_options():
    found = sheets(DIRECT + THINK, referring={"q3", "elsewhere"})["referring_options"]
    direct = row(found, "direct")
    assert (direct["n"], direct["n_without"]) == (4, 3)
    assert (direct["accuracy"].value, direct["accuracy_without"].value) == (5 / 8, pytest.approx(5 / 6))
    assert direct["first_slot_without"].value == pytest.approx(3 / 6)
    everything = sheets(DIRECT, referring=[f"q{i}" for i in range(4)])["referring_options"]
    assert isinstance(row(everything, "direct")["accuracy_without"], Missing)
    assert "referring_options" not in sheets(DIRECT)


def test_other_presentations_and_the_order_of_rows_change_nothing():
    expected = sheets(DIRECT + THINK)
    others = [
        shown(f"q{i}", "direct", name, (0, 1, 2), 2)
        for i in range(4)
        for name in ("letters_reversed", "factorial_1_2", "control_text_only")
    ]
    records = DIRECT + THINK + others
    random.Random(0).shuffle(records)
    for name, sheet in sheets(records).items():
        assert (sheet_markdown(sheet), sheet_dicts(sheet)) == (
            sheet_markdown(expected[name]),
            sheet_dicts(expected[name]),
        )
    assert permutation_charts(frame(records), ("direct", "think")) == permutation_charts(
        frame(DIRECT + THINK), ("direct", "think")
    )


def yes_no(item: str, condition: str = "direct") -> Record:
    """A yes/no item, in its one order."""
    return record(item, condition, k=2, order=(0, 1), labels=("Yes", "No"), label_logprobs=(-1.0, -2.0))


def test_the_sources_order_alone_has_no_sheets():
    for records in ([record("q0"), record("q1")], [yes_no("y")]):
        assert permutation_sheets(frame(records), ("direct",), draws=10, seed=0, prior_share=0.5) == []
        assert permutation_charts(frame(records), ("direct",)) == []


def test_yes_no_items_are_left_out_and_counted():
    made = sheets(DIRECT + THINK + [yes_no("y1"), yes_no("y2"), yes_no("y1", condition="think")])
    assert row(made["permutation"], "direct")["n"] == 4
    assert any("2 yes/no items" in note for note in made["permutation"].notes)
    assert {cells[0] for cells in made["permutation_by_k"].rows} == {"3"}


def test_items_without_all_their_orders_are_left_out_and_counted():
    records = [r for r in DIRECT + THINK if r.key[:3] != ("q0", "permutation_2", "think")]
    main = sheets(records)["permutation"]
    assert (row(main, "direct")["n"], row(main, "think")["n"]) == (4, 3)
    # Without q0, d = -1, 0, 0.
    assert row(main, "think")["difference"].n == 3
    assert row(main, "think")["flips"] == 1
    assert any("think 1 items" in note for note in main.notes)
    assert any("the items that both conditions have: think 3" in note for note in main.notes)


def test_missing_predictions_agree_with_nothing():
    unread: dict[str, Any] = {"pred_slot": -1, "pred_content": -1}
    records = items("direct", (1, 1, 1), (1, 1, 1))
    table = frame(records)
    table.loc[table["item_id"] == "q1", list(unread)] = -1
    table.loc[table["item_id"] == "q1", "correct"] = False
    made = {s.name: s for s in permutation_sheets(table, ("direct",), draws=50, seed=0, prior_share=0.5)}
    consistency = row(made["permutation_consistency"], "direct")
    assert consistency["pairwise_agreement"].value == 0.5
    assert any(
        "3 answers could not be read" in n and "100.0% of 1 items" in n for n in made["permutation_consistency"].notes
    )
    assert row(made["permutation_by_k"], "3", "direct")["histogram"] == "slot 1 50.0, slot 2 50.0, slot 3 0.0"


def test_intervals_are_over_groups():
    # Items of a group are alike, so that eight items tell as much as four.
    contents = [(1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0)] * 2
    records = items("direct", *contents)
    grouped = [replace(r, group_id=f"g{int(r.item_id[1:]) // 2}") for r in records]
    alone, together = (row(sheets(rows)["permutation"], "direct")["accuracy_orders"] for rows in (records, grouped))
    assert together.high - together.low > 1.2 * (alone.high - alone.low)
    assert any("Groups repeat" in note for note in sheets(grouped)["permutation"].notes)


def test_missing_reference_and_one_seed():
    only = [r for r in THINK if r.presentation != "permutation_2"]
    think = row(sheets(only)["permutation"], "think")
    assert isinstance(think["difference"], Missing)
    assert isinstance(think["accuracy_seeds"], Missing)


def test_charts():
    (chart,) = permutation_charts(frame(DIRECT + THINK), ("think", "direct"))
    assert (chart.name, chart.kind) == ("slots_k3", "bar")
    assert chart.rows[:3] == (("slot 1", 1.0, "think"), ("slot 2", 0.0, "think"), ("slot 3", 0.0, "think"))
    assert chart.rows[3] == ("slot 1", 3 / 8, "direct")


def test_all_orders_of_many_options_have_no_row_each():
    records = [
        shown("q0", "direct", "identity" if not rank else f"order_{rank}", order, 1)
        for rank, order in enumerate(itertools.permutations(range(5)))
    ]
    made = sheets(records)
    assert "permutation_orders" not in made
    assert any("too many" in note for note in made["permutation"].notes)
    assert not any("too many" in note for note in sheets(DIRECT)["permutation"].notes)
    assert row(made["permutation_consistency"], "direct")["circular"] == rate([1])


def test_the_same_item_twice_is_refused():
    with pytest.raises(StoreError, match="'q0' occurs twice as identity under direct"):
        sheets(DIRECT + DIRECT[:1])


def test_sheets_can_be_printed_and_stored():
    for sheet in sheets(DIRECT + THINK, referring=["q0"]).values():
        assert sheet_markdown(sheet).startswith("### ")
        assert all(
            isinstance(entry, str | int | float | None) for line in sheet_dicts(sheet) for entry in line.values()
        )
    text = sheet_markdown(sheets(DIRECT + THINK)["permutation"])
    assert "62.5 +- 17.7" in text
    assert "First slot and letter A are the same option" in text


def large_run(n: int, conditions: int, orders: int) -> pd.DataFrame:
    """Random predictions of `n` items with 2 to 5 options."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        k = 2 + i % 4
        for c in range(conditions):
            for s in range(orders):
                order = rng.permutation(k) if s else np.arange(k)
                pred, gold = int(rng.integers(k)), int(np.flatnonzero(order == i // 4 % k)[0])
                name, condition = f"permutation_{s}" if s else "identity", f"c{c}" if c else "direct"
                slots = (order, list("ABCDE"[:k]), gold, pred, int(order[pred]), pred == gold, rng.random(k) - 2)
                rows.append((f"q{i}", name, condition, f"q{i}", k, *slots))
    columns = ["item_id", "presentation", "condition", "group_id", "k", "order", "labels", "gold_slot", "pred_slot"]
    return pd.DataFrame(rows, columns=[*columns, "pred_content", "correct", "label_logprobs"])


def test_a_run_takes_seconds():
    run = large_run(400, 6, 5)
    # Time of this process, which others on the machine do not lengthen; about 1.5 s when this was written.
    start = time.process_time()
    made = permutation_sheets(run, ("direct",), draws=10_000, seed=0, prior_share=0.1)
    assert time.process_time() - start < 5
    main = made[0]
    assert len(main.rows) == 6
    first = row(main, "c3")["first_slot_orders"]
    assert isinstance(first, Estimate)
    # Guessing: the first slot has mean(1/k) = (1/2 + 1/3 + 1/4 + 1/5) / 4 = 0.321.
    assert first.low < 0.321 < first.high
    identity = run[(run["condition"] == "c3") & (run["presentation"] == "identity")]
    assert row(made[2], "c3", "identity")["first_slot"] == first_slot_rate(identity["pred_slot"])
