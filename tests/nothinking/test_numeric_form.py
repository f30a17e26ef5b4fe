"""Form of open numeric answers: Parse and Exact."""

from __future__ import annotations

import pytest

from thinkgap.nothinking.numeric_form import exact, parses


@pytest.mark.parametrize(
    "answer", ["12", "-3", "1,250", ".5", "5.", "7/2", "50%", r"50\%", r"\frac{7}{2}", "$18.00", "5 cm", "−4", "1e3"]
)
def test_a_number_parses(answer: str) -> None:
    assert parses(answer)


@pytest.mark.parametrize("answer", [None, "", " ", "twelve", "2-3", "2 or 3", "1/0", "2\\pi", "x", "1,2", "B", "--5"])
def test_anything_else_does_not_parse(answer: str | None) -> None:
    assert not parses(answer)


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ("1,250", "1250", True),
        ("1250", "1,250", True),
        (" 12", "12 ", True),
        ("0.5", "0.50", False),
        ("0.5", "1/2", False),
        ("50%", "50", False),
        ("12", "12.", False),
        ("12", "", False),
        ("12", None, False),
    ],
)
def test_exact_is_equality_of_strings_without_commas(gold: str, answer: str | None, same: bool) -> None:
    assert exact(gold, answer) is same
