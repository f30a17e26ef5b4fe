"""The sentence below a table, against figures counted by hand."""

from __future__ import annotations

import math

import pytest

from tests.store.examples import record
from thinkgap.readouts.in_short import in_short, mass_text
from thinkgap.readouts.table import make_table
from thinkgap.readouts.table_text import to_markdown
from thinkgap.types import Record


def run(slots: dict[str, str], n: int, **changes: object) -> list[Record]:
    """`n` items of four options with gold in slot 1; by condition, predicted slots that repeat over the items."""
    return [
        record(f"q{i}", name, pred_slot=int(given[i % len(given)]), **changes)
        for name, given in slots.items()
        for i in range(n)
    ]


def test_a_fall_is_told_with_its_figures() -> None:
    # Direct: 3 of 4 right, none in slot 0. Think: 1 of 4 right, 3 of 4 in slot 0.
    text = in_short(make_table(run({"direct": "1112", "think": "0001"}, 40, label_mass=2e-8)))
    assert text == (
        "In short: direct is right on 75.0% of 40 rows; under think the same readout is right on 25.0% (lower; "
        "guessing is right on 25.0%), the first slot takes 75.0% of its answers instead of 0.0%, and the labels hold "
        "2.0e-08 of the next token's probability instead of 2.0e-08."
    )


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        ({"a": "0001", "b": "1111", "c": "1112"}, "lower under 1, higher under 1, not clearly different under 1"),
        ({"a": "0001", "b": "0010"}, "lower under all of them"),
        ({"a": "1112", "b": "1112"}, "not clearly different under all of them"),
        ({"a": "1111"}, "(higher; "),
    ],
)
def test_each_difference_counts_where_its_interval_leaves_out_zero(slots: dict[str, str], said: str) -> None:
    assert said in in_short(make_table(run({"direct": "1112"} | slots, 40)))


def test_rows_that_all_differ_alike_have_no_interval_and_still_a_direction() -> None:
    table = make_table(run({"direct": "1", "think": "0"}, 30))
    assert table.rows[1].difference is not None
    assert math.isnan(table.rows[1].difference.difference.low)
    assert "right on 0.0% (lower;" in in_short(table)
    few = make_table(run({"direct": "1", "think": "0"}, 1))
    assert "100.0% of 1 row; under think" in in_short(few)
    assert "(not clearly different;" in in_short(few)


def test_rows_of_one_group_have_no_direction() -> None:
    """Thirty questions on one passage: McNemar's p would be 1e-5, and nothing is known of another passage."""
    table = make_table(run({"direct": "1112", "think": "0002"}, 30, group_id="passage"))
    assert "(not clearly different;" in in_short(table)


def test_many_conditions_are_counted_and_ranges_given() -> None:
    slots = {"direct": "1112", "a": "0001", "b": "0011", "c": "0001", "d": "0001"}
    text = in_short(make_table(run(slots, 40)))
    assert "under the 4 other conditions the same readout is right on 25.0 to 50.0%" in text
    three = in_short(make_table(run({name: slots[name] for name in ("direct", "a", "b", "c")}, 40)))
    assert "under a, b and c the same" in three


def test_without_anything_to_compare_there_is_no_sentence() -> None:
    assert in_short(make_table(run({"direct": "1"}, 3))) == ""
    assert in_short(make_table(run({"think": "1"}, 3))) == ""
    assert "In short" not in to_markdown(make_table(run({"direct": "1"}, 3)))
    assert to_markdown(make_table(run({"direct": "1", "think": "0"}, 3))).splitlines()[-1].startswith("In short: ")


def test_a_missing_mass_is_left_out() -> None:
    text = in_short(make_table(run({"direct": "1112", "think": "0001"}, 4, label_mass=math.nan)))
    assert "labels hold" not in text
    assert text.endswith("instead of 0.0%.")


@pytest.mark.parametrize(("mass", "text"), [(0.0, "0.000"), (2e-8, "2.0e-08"), (0.001, "0.001"), (0.98765, "0.988")])
def test_masses_are_readable_also_where_they_are_tiny(mass: float, text: str) -> None:
    assert mass_text(mass) == text
