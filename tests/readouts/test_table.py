"""The table of a run: hand-computed figures, pairing by key, missing figures, and its layout."""

from __future__ import annotations

import csv
import io
import math
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.store.examples import record, run_records
from thinkgap.errors import StoreError
from thinkgap.metrics import paired_difference, rate
from thinkgap.readouts.table import make_table, tables_of_run
from thinkgap.readouts.table_text import to_csv, to_dicts, to_markdown
from thinkgap.store import RunFolder
from thinkgap.store.records import RecordFacts


def four_items() -> list:
    """Gold in slot 1. Direct: right, right, right, wrong (slot 2). Think: slots 0, 0, 1, 1."""
    direct = [record(f"q{i}", pred_slot=slot) for i, slot in enumerate((1, 1, 1, 2))]
    think = [record(f"q{i}", "think", pred_slot=slot, label_mass=2e-8) for i, slot in enumerate((0, 0, 1, 1))]
    return direct + think


def lines(text: str) -> list[str]:
    return text.splitlines()


def cells(text: str, condition: str) -> list[str]:
    """Cells of the first line of the table for `condition`."""
    row = next(line for line in lines(text) if line.startswith(f"| {condition} "))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_figures_by_hand():
    direct, think = make_table(four_items()).rows
    assert (direct.condition, direct.n, direct.accuracy.value, direct.first_slot.value) == ("direct", 4, 0.75, 0.0)
    assert (think.accuracy.value, think.first_slot.value, think.gold_first.value) == (0.5, 0.5, 0.0)
    assert think.mean_reciprocal_k == 0.25
    assert think.label_mass.value == pytest.approx(2e-8)
    assert (think.accuracy.low, think.accuracy.high) == pytest.approx(proportion_confint(2, 4, method="wilson"))
    # d = -1, -1, 0, 1: see tests/metrics/test_paired.py.
    assert think.difference is not None
    assert think.difference.difference.value == -0.25
    assert think.difference.difference.low == pytest.approx(-1.773480, abs=2e-6)
    assert (think.difference.b, think.difference.c, think.difference.p_value) == (2, 1, 1.0)
    assert direct.difference is None


def test_text_of_the_figures():
    text = to_markdown(make_table(four_items(), title="m on d"))
    assert lines(text)[0] == "### m on d (native readout)"
    # Wilson at 2 of 4: 0.5 -+ 0.35 (0.150, 0.850); at 0 of 4: 0 to z^2 / (4 + z^2) = 0.490.
    assert cells(text, "think") == [
        "think",
        "4",
        "50.0 [15.0, 85.0]",
        "-25.0 [-177.3, +127.3]",
        "1.000",
        "2/1",
        "50.0 [15.0, 85.0]",
        "0.0",
        "25.0",
        "2.0e-08",
    ]
    direct = cells(text, "direct")
    assert direct[3:6] == ["-", "-", "-"]
    assert direct[6] == "0.0 [0.0, 49.0]"
    assert direct[9] == "0.250"
    assert "All items have k = 4 options." in text


def test_pairs_join_by_key_and_not_by_position():
    records = run_records(60)
    random.Random(3).shuffle(records)
    found = make_table(records, ("direct", "think")).rows[1].difference
    by_key = {r.key: r.correct for r in records}
    items = sorted({r.item_id for r in records})
    first, second = ([by_key[i, "identity", c, "native"] for i in items] for c in ("direct", "think"))
    assert found == paired_difference(first, second)


def test_presentations_of_an_item_are_paired_separately_and_clustered():
    def shown(condition: str, slots: tuple[int, ...]) -> list:
        return [
            record(f"q{i // 2}", condition, pred_slot=slot, presentation=f"p{i % 2}") for i, slot in enumerate(slots)
        ]

    table = make_table(shown("direct", (1, 1, 1, 1, 0, 0)) + shown("think", (1, 1, 0, 0, 0, 1)))
    direct, think = table.rows
    assert (direct.n, direct.n_groups) == (6, 3)
    assert direct.accuracy == rate([1, 1, 1, 1, 0, 0], ["a", "a", "b", "b", "c", "c"])
    assert direct.accuracy != rate([1, 1, 1, 1, 0, 0])
    assert think.difference is not None
    assert (think.difference.b, think.difference.c) == (2, 1)
    assert think.difference.difference.n == 6
    text = to_markdown(table)
    assert "6 rows in 3 groups" in text
    assert "Some rows have fewer than 30 groups (the fewest, 3: direct)." in text


def test_few_groups_are_noted_only_where_intervals_are_clustered():
    def table(groups: int, rows: int, small: int) -> str:
        """`small` of the groups have two options instead of four; every group has `rows` rows."""
        options = [2] * small + [4] * (groups - small)
        return to_markdown(
            make_table([record(f"q{g}", presentation=f"p{i}", k=k) for g, k in enumerate(options) for i in range(rows)])
        )

    assert "fewer than 30 groups" not in table(29, 1, 0)
    assert "fewer than 30 groups" in table(29, 2, 0)
    assert "fewer than 30 groups" not in table(30, 2, 0)
    assert "(the fewest, 4: direct with k = 2)" in table(40, 2, 4)


def test_rows_without_a_partner_are_dropped_and_counted():
    records = four_items()
    del records[0]  # q0 under direct
    records = [r for r in records if (r.item_id, r.condition) != ("q3", "think")]
    think = make_table(records).rows[1]
    assert (think.only_here, think.only_reference, think.n) == (1, 1, 3)
    # q1: -1, q2: 0.
    assert think.difference is not None
    assert (think.difference.difference.n, think.difference.difference.value) == (2, -0.5)
    text = to_markdown(make_table(records))
    assert cells(text, "think")[3].endswith("] (1)")
    assert "(1) over the rows that both conditions have" in text
    assert "1 only in this condition, 1 only in direct" in text


def test_order_of_conditions():
    records = [record(f"q{i}", c) for c in ("b", "direct", "a") for i in range(3)]
    assert [row.condition for row in make_table(records).rows] == ["direct", "b", "a"]
    assert [row.condition for row in make_table(records, ("a", "direct")).rows] == ["a", "direct", "b"]


def test_by_number_of_options():
    table = make_table(run_records(12))
    assert [(row.k, row.condition, row.n) for row in table.rows_by_k] == [
        (k, condition, 4) for k in (2, 3, 4) for condition in ("direct", "think")
    ]
    assert [row.mean_reciprocal_k for row in table.rows_by_k[::2]] == pytest.approx([1 / 2, 1 / 3, 1 / 4])
    # (1/2 + 1/3 + 1/4) / 3
    assert table.rows[0].mean_reciprocal_k == pytest.approx(13 / 36)
    text = to_markdown(table)
    assert "By number of options k:" in text
    total = sum(row.accuracy.value * row.n for row in table.rows_by_k if row.condition == "think")
    assert total == pytest.approx(table.rows[1].accuracy.value * 12)


def test_missing_figures_are_na_with_a_reason():
    only_think = [r for r in four_items() if r.condition == "think"]
    text = to_markdown(make_table(only_think, ("direct", "think")))
    assert cells(text, "direct")[:3] == ["direct", "0", "n/a (1)"]
    assert "(1) no records of this condition" in text
    assert cells(text, "think")[3] == "n/a (2)"
    assert "(2) no item is in both this condition and direct" in text
    rows = to_dicts(make_table(only_think, ("direct", "think")))
    assert rows[0]["accuracy"] is None
    assert rows[1]["difference"] is None
    assert rows[1]["pairs"] == 0
    lost = [replace(r, label_mass=math.nan) if r.item_id == "q0" else r for r in four_items()]
    assert "label mass is missing in some records" in to_markdown(make_table(lost))
    same = [record(f"q{i}", c) for c in ("direct", "think") for i in range(4)]
    text = to_markdown(make_table(same))
    assert cells(text, "think")[3] == "0.0 [n/a (1)]"
    assert "their spread is unknown" in text


def test_notes_on_ties_and_excluded_items():
    plain = to_markdown(make_table(four_items()))
    assert "ties" not in plain
    assert "Not asked" not in plain
    records = [replace(r, tied=r.item_id < "q2" and r.condition == "think") for r in four_items()]
    text = to_markdown(make_table(records, excluded={"prompt too long": 3, "image missing": 1}))
    assert "Exact ties between the two most probable labels, decided by a digest of the key: think 2." in text
    assert "Not asked, and in no figure: 4 items (3 prompt too long, 1 image missing)." in text


def test_small_p_and_signs():
    direct = [record(f"q{i:03d}", pred_slot=1) for i in range(60)]
    think = [record(f"q{i:03d}", "think", pred_slot=0 if i < 40 else 1) for i in range(60)]
    found = cells(to_markdown(make_table(direct + think)), "think")
    assert found[4:6] == ["<0.001", "40/0"]
    # d is -1 in 40 and 0 in 20 of 60: SE sqrt((2/9) / 59) = 0.061372; t with 59 degrees 2.000995: 0.122806.
    assert found[3].startswith("-66.7 [-78.9, -54.4]")
    turned = [replace(r, condition="direct" if r.condition == "think" else "think") for r in direct + think]
    assert cells(to_markdown(make_table(turned)), "think")[3] == "+66.7 [+54.4, +78.9]"


def test_lines_are_aligned():
    records = run_records(30, ("direct", "think", "a condition with a long name | and a bar"))
    text = to_markdown(make_table(records))
    for block in text.split("\n\n"):
        if block.startswith("|"):
            rows = block.splitlines()
            assert len({len(row) for row in rows}) == 1
            bars = [[i for i, c in enumerate(row) if c == "|" and row[i - 1] != "\\"] for row in rows]
            assert all(found == bars[0] for found in bars)
    assert "and a bar" in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_csv_is_complete_and_exact():
    table = make_table(run_records(30))
    rows = list(csv.DictReader(io.StringIO(to_csv(to_dicts(table)))))
    assert len(rows) == len(table.all_rows) == 2 + 6
    for row, expected in zip(rows, table.all_rows, strict=True):
        assert row["condition"] == expected.condition
        assert row["k"] == ("" if expected.k is None else str(expected.k))
        assert float(row["accuracy"]) == expected.accuracy.value
        assert float(row["first_slot_low"]) == expected.first_slot.low
    assert rows[0]["difference"] == ""
    assert len({tuple(row) for row in to_dicts(table)}) == 1


def test_wrong_input_is_refused():
    with pytest.raises(StoreError, match="no records"):
        make_table([])
    with pytest.raises(StoreError, match="native, lens"):
        make_table([record(), record(readout="lens")])
    with pytest.raises(StoreError, match=r"'q1'.* occur twice"):
        make_table([record(), record()])


def test_records_on_disk_give_the_same_text(tmp_path: Path):
    records = run_records(40)
    random.Random(0).shuffle(records)
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard(records[:30])
    folder.write_shard(records[30:])
    folder.merge(("think", "direct"), RecordFacts(title="m on d", excluded={"too long": 2}))
    (found,) = tables_of_run(tmp_path)
    expected = make_table(records, ("think", "direct"), title="m on d", excluded={"too long": 2})
    assert to_markdown(found) == to_markdown(expected)
    assert to_dicts(found) == to_dicts(expected)


def test_readouts_have_a_table_each(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard([*four_items(), record("q0", readout="lens", pred_slot=0)])
    folder.merge(("direct", "think"))
    tables = tables_of_run(tmp_path)
    assert [(table.readout, table.rows[0].n) for table in tables] == [("lens", 1), ("native", 4)]


def test_a_large_run_takes_seconds():
    conditions = ("direct", "a", "b", "c", "d", "e")
    records = run_records(5000, conditions)
    start = time.perf_counter()
    make_table(records)
    # 30,000 records take about 0.4 s; a loop over pairs in Python would take many times as long.
    assert time.perf_counter() - start < 6


def test_other_letters_and_controls_are_in_no_figure():
    wrong = [
        record(f"q{i}", condition, pred_slot=3, presentation=name)
        for name in ("letters_digits", "factorial_0_0", "control_text_only")
        for condition in ("direct", "think")
        for i in range(4)
    ]
    assert make_table(four_items() + wrong) == make_table(four_items())
    orders = [record(f"q{i}", pred_slot=1, presentation=name) for name in ("cyclic_1", "order_1-0-2") for i in range(4)]
    assert make_table(four_items() + orders).rows[0].n == 12
    with pytest.raises(StoreError, match="there are no records"):
        make_table(wrong)
