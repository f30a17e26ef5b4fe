"""Numbers read whole and exactly, and comparisons that forms decide before algebra."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.responses.test_required_readings import CASES
from thinkgap.nothinking.exact import exactly_equal
from thinkgap.responses.rational import rational, unwrapped, variable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-7", -7),
        ("−7", -7),
        ("+7", 7),
        ("0.50", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("１２", 12),
        ("1,250", 1250),
        (r"1{,}250", 1250),
        (r"10,\!080", 10080),
        (r"11,\! 111,\! 111,\! 100", 11111111100),
        (r"10\,000", 10000),
        ("10 000", 10000),
        ("3/4", Fraction(3, 4)),
        ("-3 / 4", Fraction(-3, 4)),
        ("1,000/3", Fraction(1000, 3)),
        (r"\frac{1}{2}", Fraction(1, 2)),
        (r"\frac12", Fraction(1, 2)),
        (r"\frac 34", Fraction(3, 4)),
        (r"\frac{270}7", Fraction(270, 7)),
        (r"\dfrac{17}{50}", Fraction(17, 50)),
        (r"-\tfrac{1}{2}", Fraction(-1, 2)),
        (r"\frac{-1}{2}", Fraction(-1, 2)),
        (r"\frac{0.5}{2}", Fraction(1, 4)),
        (r"137 \frac{1}{2}", Fraction(275, 2)),
        (r"1\frac{4}{5}", Fraction(9, 5)),
        (r"-1\frac{4}{5}", Fraction(-9, 5)),
        ("3 1/2", Fraction(7, 2)),
        ("3½", Fraction(7, 2)),
        ("½", Fraction(1, 2)),
        ("50%", Fraction(1, 2)),
        (r"50\%", Fraction(1, 2)),
        (r"12.5 \%", Fraction(1, 8)),
        ("50 percent", Fraction(1, 2)),
        (r"50\text{ percent}", Fraction(1, 2)),
        (r"\$18.00", 18),
        ("$18.00", 18),
        ("-$5", -5),
        ("$-5", -5),
        ("€5", 5),
        ("5 €", 5),
        ("18 dollars", 18),
        (r"5\text{ cm}", 5),
        (r"5\,\text{m}", 5),
        (r"864 \mbox{ inches}^2", 864),
        ("5 cm", 5),
        ("5cm", 5),
        ("5 cm²", 5),
        ("7 km/h", 7),
        ("3 square feet", 3),
        (r"145^\circ", 145),
        ("145°", 145),
        (r"\frac{270}7\text{ degrees}", Fraction(270, 7)),
        ("5 million", 5_000_000),
        (r"1.5\text{ thousand}", 1500),
        ("2 million dollars", 2_000_000),
        ("1.5e3", 1500),
        (r"1.5\times 10^{3}", 1500),
        (r"3\cdot10^8", 300_000_000),
        (r"2 \times 10^{-2}", Fraction(1, 50)),
        (r"0.\overline{3}", Fraction(1, 3)),
        (r"0.1\overline{6}", Fraction(1, 6)),  # 1/10 + (6/9)/10
        (r"-2.\overline{14}", Fraction(-212, 99)),  # -(2 + 14/99)
        ("x = 5", 5),
        (r"x_1=\frac{3}{2}", Fraction(3, 2)),
        ("(5)", 5),
        ("$5$.", 5),
        (r"\(5\)", 5),
        (r"\[ 5 \]", 5),
        (r"\text{5}", 5),
        ("**73**", 73),
        ("{5}", 5),
    ],
)
def test_numbers(text: str, value: Fraction | int) -> None:
    assert rational(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            ",",
            "-",
            "$",
            ".",
            "--5",
            "±5",
            "≈5",
            "5!",
            "5x",
            "5 x",
            "2k",
            "5 m",
            "1,2",
            "1, 2",
            "12,34",
            "1,2345",
        ),
        *("(1,2)", "[5]", r"\{5\}", "1 2", "1/0", r"\frac{1}{0}", "3 5/2", r"3\frac{5}{2}", r"2\pi", "3 + 2i", "5-3"),
        *(
            "5 or 6",
            "5 and 6",
            "5 squared",
            "5 times",
            "5 less",
            "5 half",
            "10_8",
            "1.2.3",
            "12:30",
            "2^3",
            "0x10",
            "five",
        ),
        *("$5 or $6", "5 apples and 3 pears", "x = y = 5", "1e99999", r"\sqrt{4}", "9" * 300, "½½", "5 % %", "4 5 %"),
        *(r"0.\overline{}", "5 million million", "5...", "--", r"\boxed{5}"),
    ],
)
def test_no_numbers(text: str) -> None:
    assert rational(text) is None


def test_wrappers_that_say_something_stay() -> None:
    assert unwrapped(r"$\left( 1, 2 \right)$.") == "( 1, 2 )"
    assert unwrapped("(1,2]") == "(1,2]"
    assert unwrapped("(1+2)(3)") == "(1+2)(3)"
    assert unwrapped(r"\text{(C)}") == "C"
    assert unwrapped(r"\text{a} \text{b}") == r"\text{a} \text{b}"
    assert (variable("x_{1} = 5"), variable("5"), variable("x == 5"), variable("xy = 5")) == ("x_{1}", "", "", "")


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        # Numbers are the same number or are not; percent is a hundredth, on both sides.
        ("1/2", r"50\%", True),
        (r"28\%", "28", False),
        ("28", r"28\%", False),
        (r"28\%", "0.28", True),
        ("1/3", "0.333", False),
        ("1/3", "0.333333333333333333333333", False),
        ("0.1", "0.10000000000000000000001", False),
        ("5", "x = 5", True),
        ("x = 5", "5", True),
        ("x = 5", "y = 5", None),
        ("1728", "1,728", True),
        ("1728", "1331 and 1728", None),
        # Numerals keep their base.
        ("10_8", "10", False),
        ("10", "10_8", False),
        ("10_8", "8", False),
        ("10_8", "10_{8}", True),
        ("10_8", r"10_{\text{eight}}", True),
        ("120_7", "120_8", False),
        ("10_{10}", "10", True),
        (r"\text{A2}_{12}", "A2_{12}", True),
        ("10_8", r"\pi", None),
        ("19_8", "19", None),  # no numeral: 9 is no digit of base 8
        ("x_2", "x_3", None),
        # Words are no products of letters.
        (r"\text{east}", "east", True),
        (r"\text{east}", "seat", False),
        (r"\text{Navin}", "NAVIN", True),
        ("even", "odd number", False),
        (r"\text{ab}", "ba", None),  # two letters outside \text may be variables
        (r"\text{ab}", r"\text{ba}", False),
        ("no solution", "No  solution.", True),
        ("east", "5", False),
        ("5", "five", False),
        (r"\text{(C)}", "C", True),
        (r"\text{(C)}", "(C)", True),
        # The same text is the same answer, with the blanks that say something.
        (r"\frac{\sqrt{3}}{3}", r"\dfrac{\sqrt{3}}{3}", True),
        ("(1,2)", r"\left( 1,\ 2 \right)", True),
        ("6 - 5i", "6-5i", True),
        (r"\cot x", r"\cotx", None),
        ("1 2", "12", None),
        ("3 1/2", "31/2", False),
        # Left to algebra.
        (r"\sqrt{2}", "1.41421356", None),
        ("(1,2)", "(2,1)", None),
        ("2k+2", "2(k+1)", None),
        # Nothing is no answer.
        ("5", "", False),
        ("", "5", None),
    ],
)
def test_forms_decide(gold: str, answer: str, equal: bool | None) -> None:
    assert exactly_equal(gold, answer) is equal


@pytest.mark.parametrize("case", [case for case in CASES if "gold" in case], ids=lambda case: case["id"])
def test_required_equalities_of_numbers(case: dict) -> None:
    """Algebra decides two of them; forms decide the others."""
    found = exactly_equal(case["gold"], case["expect"]["answer"])
    assert found is (None if case["id"] in ("ordered_pair", "huge_factorials") else case["expect"]["equal"])
