"""Tables and charts of controls: each figure in its row, reasons where there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from probes.controls.capacity import CapacityPoint
from probes.controls.control_task import ControlTask
from probes.controls.curves import curve_charts, curve_sheets
from probes.controls.learning_curve import CurvePoint
from probes.controls.online_code import Block, OnlineCode
from probes.controls.other_states import OtherStates
from probes.controls.priors import Priors
from probes.controls.scores import Compared
from probes.controls.sheet import SOLVER_NOTE, ConditionControls, control_sheet, lower_bounds, off
from probes.controls.shuffled import Shuffled
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing, sheet_dicts, sheet_markdown


def estimate(value: float, n: int = 40) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, n)


def against(accuracy: float) -> Compared:
    """Beside a probe that is right on 0.8."""
    return Compared(estimate(accuracy), estimate(0.8 - accuracy))


FULL = ConditionControls(
    "direct",
    "final_norm",
    estimate(0.8),
    shuffled=Shuffled(estimate(0.34), estimate(0.46), 0.33, 0.35, 20),
    refit=Compared(estimate(0.31), estimate(0.49)),
    control_task=ControlTask(estimate(0.6, 100), True, estimate(0.2, 140), estimate(0.3), 0.33),
    priors=Priors(against(0.4), against(0.45), against(0.41), 0.33, 0, {2: 0, 4: 1}),
    text_only=OtherStates(estimate(0.5, 30), estimate(0.25, 28), 0.01),
    random_weights=off("random_weights"),
    capacity=(
        CapacityPoint(1, estimate(0.4), Missing("the control task was not asked for")),
        CapacityPoint(4, estimate(0.8), estimate(0.6)),
    ),
    online_code=OnlineCode((Block(4, 4, 8.0, 8.0), Block(8, 4, 4.0, 8.0)), 12.0, 16.0, estimate(16 / 12, 8)),
    learning_curve=(CurvePoint(8, 16, estimate(0.5)), CurvePoint(12, 24, estimate(0.8))),
)
BARE = ConditionControls(
    "think",
    "final_norm",
    estimate(0.7),
    shuffled=off("shuffled_states"),
    refit=off("shuffled_states"),
    control_task=off("control_task"),
    priors=off("prior"),
    text_only=off("text_only"),
    random_weights=off("random_weights"),
    capacity=off("capacity"),
    online_code=Missing("3 training questions are too few for two blocks of the online code"),
    learning_curve=off("learning_curve"),
)


def row(condition: str, control: str) -> dict[str, Any]:
    (sheet,) = control_sheet([FULL, BARE])
    (found,) = [cells for cells in sheet.rows if cells[:2] == (condition, control)]
    return dict(zip([column.name for column in sheet.columns], found, strict=True))


@pytest.mark.parametrize(
    ("control", "accuracy", "above", "expected"),
    [
        (
            "states shuffled, mean of 20",
            0.34,
            0.46,
            "near 35.0%, each slot named as often as it is right; chance 33.0%",
        ),
        ("fitted on shuffled states", 0.31, 0.49, "near the priors"),
        ("control task, fitted rows", 0.6, 0.2, "upper bound"),
        ("most frequent slot", 0.4, 0.4, "below the probe (slot 1)"),
        ("most frequent slot by number of options", 0.45, 0.35, "(slot 1 of 2, slot 2 of 4)"),
        ("first slot", 0.41, 0.39, "gold-first"),
        ("text only", 0.5, 0.25, "on the 28 items that both have"),
    ],
)
def test_each_control_has_its_row(control: str, accuracy: float, above: float, expected: str) -> None:
    found = row("direct", control)
    assert found["accuracy"].value == pytest.approx(accuracy)
    assert found["above"].value == pytest.approx(above)
    assert found["n"] == found["accuracy"].n
    assert expected in found["expected"]


def test_rows_without_a_difference_say_why() -> None:
    assert row("direct", "probe")["accuracy"].value == 0.8
    for control in ("probe", "control task, unseen questions", "chance, mean(1/k)"):
        assert isinstance(row("direct", control)["above"], Missing)
    assert row("direct", "control task, unseen questions")["expected"] == "chance, 33.0%"
    assert row("direct", "chance, mean(1/k)")["accuracy"] == 0.33


def test_a_control_that_was_off_is_missing_with_its_reason() -> None:
    assert row("direct", "random weights")["accuracy"].reason == "switched off (probe.controls.random_weights=false)"
    off_rows = [cells for cells in control_sheet([BARE])[0].rows if cells[1] != "probe"]
    assert len(off_rows) == 7
    assert all(isinstance(cell, Missing) for cells in off_rows for cell in cells[2:5])
    text = sheet_markdown(control_sheet([BARE])[0])
    assert "switched off (probe.controls.prior=false)" in text


def test_out_of_sample_rows_are_called_seen_questions() -> None:
    assert isinstance(FULL.control_task, ControlTask)
    (sheet,) = control_sheet([replace(FULL, control_task=replace(FULL.control_task, in_sample=False))])
    (found,) = [cells for cells in sheet.rows if cells[1] == "control task, seen questions"]
    assert found[-1] == "well below the probe"


def test_selectivity_of_fitted_rows_is_a_lower_bound() -> None:
    assert isinstance(FULL.control_task, ControlTask)
    held_out = replace(FULL, condition="other", control_task=replace(FULL.control_task, in_sample=False))
    assert lower_bounds([FULL, BARE, held_out]) == ["direct"]


def test_every_table_of_fits_says_which_solver_they_are_of() -> None:
    for sheet in (*control_sheet([FULL]), *curve_sheets([FULL])):
        assert SOLVER_NOTE in sheet.notes


def test_curves_have_a_row_to_a_point() -> None:
    capacity, learning, code = curve_sheets([FULL, BARE])
    assert [cells[:2] for cells in capacity.rows[:2]] == [("direct", 1), ("direct", 4)]
    assert [cells[:3] for cells in learning.rows[:2]] == [("direct", 8, 16), ("direct", 12, 24)]
    # 8/8, 8/4 and 16/12.
    assert [cells[:6] for cells in code.rows[:3]] == [
        ("direct", "first block, uniform", 4, 4, 8.0, 8.0),
        ("direct", "block 2", 8, 4, 4.0, 8.0),
        ("direct", "all", 8, 8, 12.0, 16.0),
    ]
    assert code.rows[1][6] == 2.0
    assert code.rows[2][6] == estimate(16 / 12, 8)
    for sheet in (capacity, learning, code):
        assert isinstance(sheet.rows[-1][-1], Missing)
        assert sheet.rows[-1][0] == "think"
        assert "n/a (1)" in sheet_markdown(sheet)
        assert len({tuple(flat) for flat in sheet_dicts(sheet)}) == 1


def test_charts_have_log_axes_and_leave_out_what_is_missing() -> None:
    capacity, learning, code = curve_charts([FULL, BARE])
    assert capacity.rows == ((0.0, 0.4, "direct"), (2.0, 0.8, "direct"))
    assert learning.rows == ((3.0, 0.5, "direct"), (math.log2(12), 0.8, "direct"))
    # 8 bits of 4 rows, then 4 of 4.
    assert code.rows == ((2.0, 2.0, "direct"), (3.0, 1.0, "direct"))
    assert curve_charts([BARE]) == []


def test_without_conditions_there_is_nothing() -> None:
    assert (control_sheet([]), curve_sheets([]), curve_charts([])) == ([], [], [])
