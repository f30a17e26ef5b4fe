"""The sheet of judges' self-checks, by hand."""

from __future__ import annotations

from tests.nothinking.test_tables import cells, value
from thinkgap.nothinking.check_table import check_sheet
from thinkgap.readouts.sheet import Missing

E, P, U = "explicit_reasoning", "paraphrase_only", "unclear"


def test_checks_by_hand() -> None:
    order = {"name": "order check", "labels": [[E, E], [P, P], [P, U], [E, P]], "unlabelled": 1}
    alike = {"name": "single check", "labels": [[E, E], [E, E]], "unlabelled": 0}
    none = {"name": "order check", "labels": [], "unlabelled": 3}
    sheet = check_sheet({"a": {"checks": [order, alike]}, "b": {"checks": [none]}, "rules": {}})
    assert sheet is not None
    found = cells(sheet, "a", "order check")
    assert found["unlabelled"] == 1
    assert value(found["same"]) == (2 / 4, 4)
    # p_e = E: 2/4 * 1/4, P: 2/4 * 2/4, U: 0 -> 6/16; (1/2 - 3/8) / (5/8) = 1/5.
    assert abs(found["kappa"].value - 1 / 5) < 1e-12
    # Explicit or not: 1 0 0 1 beside 1 0 0 0: three equal; p_e = 2/4 * 1/4 + 2/4 * 3/4 = 1/2, so (3/4 - 1/2) / (1/2).
    assert value(found["same_explicit"]) == (3 / 4, 4)
    assert abs(found["kappa_explicit"].value - 1 / 2) < 1e-12
    assert cells(sheet, "a", "single check")["kappa"] == Missing("both readings give one label throughout")
    assert cells(sheet, "b", "order check")["same"] == Missing("no trace has a label both times")


def test_without_checks_there_is_no_sheet() -> None:
    assert check_sheet({"rules": {"kind": "rules"}, "a": {"checks": []}}) is None
