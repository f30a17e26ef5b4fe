"""The sheet of controls: by hand, paired by item with the items as shown."""

from __future__ import annotations

import pytest

from tests.store.examples import record
from thinkgap.metrics import Estimate, paired_difference, rate
from thinkgap.readouts.controls import control_sheet
from thinkgap.readouts.sheet import Missing
from thinkgap.store.records import to_table
from thinkgap.types import Record


def shown(slots: dict[str, int], presentation: str = "identity", condition: str = "direct") -> list[Record]:
    """Gold stands in slot 1."""
    return [record(item, condition, pred_slot=slot, presentation=presentation) for item, slot in slots.items()]


def test_figures_by_hand() -> None:
    """As shown a, b, c right and d wrong; text_only is asked of a, b, d: right, slot 0, slot 0.

    Pairs (as shown, control): a (1, 1), b (1, 0), d (0, 0): 2/3, 1/3, difference -1/3, one discordant pair, p = 1.
    """
    identity = shown({"a": 1, "b": 1, "c": 1, "d": 2})
    text = shown({"a": 1, "b": 0, "d": 0}, "control_text_only")
    (sheet,) = control_sheet(to_table([*text, *identity, *shown({"a": 3}, "permutation_1")]).to_pandas(), ["direct"])
    (cells,) = sheet.rows
    named = dict(zip([column.name for column in sheet.columns], cells, strict=True))
    assert (named["control"], named["condition"], named["n"]) == ("text_only", "direct", 3)
    assert named["accuracy"] == rate([1, 0, 0])
    assert named["shown"] == rate([1, 1, 0])
    expected = paired_difference([1, 1, 0], [1, 0, 0])
    assert named["difference"] == expected.difference
    assert expected.difference.value == pytest.approx(-1 / 3)
    assert named["p"] == 1.0
    assert named["first_slot"] == rate([0, 1, 1])
    assert named["mean_reciprocal_k"] == 0.25
    mass = named["label_mass"]
    assert isinstance(mass, Estimate)
    assert (mass.value, mass.n) == (0.25, 3)


def test_controls_and_conditions_come_in_order() -> None:
    records = [
        one
        for condition in ("think", "direct")
        for name in ("identity", "control_shuffled_images", "control_options_only")
        for one in shown({"a": 1, "b": 0}, name, condition)
    ]
    (sheet,) = control_sheet(to_table(records).to_pandas(), ["direct", "think"])
    assert [one[:2] for one in sheet.rows] == [
        ("options_only", "direct"),
        ("options_only", "think"),
        ("shuffled_images", "direct"),
        ("shuffled_images", "think"),
    ]


def test_a_condition_without_a_control_has_no_figures() -> None:
    records = shown({"a": 1}) + shown({"a": 1}, condition="think") + shown({"a": 1}, "control_text_only")
    (sheet,) = control_sheet(to_table(records).to_pandas(), ["direct", "think"])
    think = sheet.rows[1]
    assert think[:3] == ("text_only", "think", 0)
    assert Missing("no rows") in think


def test_a_run_without_controls_has_no_sheet() -> None:
    assert control_sheet(to_table(shown({"a": 1})).to_pandas(), ["direct"]) == []
