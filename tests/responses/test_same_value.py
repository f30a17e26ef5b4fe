"""Whether two texts are the same number, units and all."""

from __future__ import annotations

import pytest

from thinkgap.responses.same_value import same_number


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1/2", "0.5", True),
        (r"\frac{1}{2}", "50%", True),
        ("50 percent", "1/2", True),
        ("1e3", "1,000", True),
        ("5 million", "5000000", True),
        ("5 cm", "5 CM", True),
        (r"5\text{ cm}", "5 cm", True),
        ("5 cm", "5", True),
        ("5 cm", "5 km", False),
        ("½", "0.5", True),
        ("5 cm", "5 m", None),
        ("5 cm", "6 cm", False),
        ("90°", "90", True),
        ("x = 5", "y = 5", False),
        ("2-3", "2-3", None),
        ("twelve", "12", None),
        ("", "0", None),
    ],
)
def test_same_number(one: str, other: str, same: bool | None) -> None:
    assert same_number(one, other) is same
    assert same_number(other, one) is same
