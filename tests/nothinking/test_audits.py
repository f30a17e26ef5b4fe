"""The audits by hand: answers before their explanation, and four-gram containment of the question in the trace."""

from __future__ import annotations

import pytest

from tests.nothinking.examples import answered
from thinkgap.nothinking.audits import Copy, copied, exact_rate, is_answer_first
from thinkgap.nothinking.reading import read

STEM = "a b c d e f g h"
"""Eight words: five four-grams, abcd bcde cdef defg efgh."""


@pytest.mark.parametrize(
    ("content", "first"),
    [
        (r"\boxed{B} since ice floats", True),
        (r"The answer is \boxed{B} since ice floats", True),
        (r"So the answer is \boxed{B} since ice floats", False),  # four words before
        (r"\boxed{B} ice floats", False),  # two words after
        (r"\boxed{B} since ice floats, hence \boxed{B}", True),  # the first box counts
        (r"**\boxed{B}** \frac \textbf \boxed{C}", False),  # commands and boxes are no words
        (r"\boxed{B}", False),
        (r"\boxed{A or B} since ice floats", True),  # a box that holds no answer is a box
        ("B since ice floats on water", None),
        ("The answer is B, since ice floats", None),
        (r"\boxed{} since ice floats", None),
        (r"\boxed{A} since ice floats \boxed{B", None),
        ("", None),
    ],
)
def test_answer_first(content: str, first: bool | None) -> None:
    assert is_answer_first(read(answered(content))) is first


@pytest.mark.parametrize(
    ("parts", "trace", "copy"),
    [
        ((STEM,), STEM, Copy(1, 1.0, 1.0)),
        ((STEM,), "A, B; c **d** e f g\nH.", Copy(1, 1.0, 1.0)),
        # abcd bcde cdef of the stem's five; the trace has abcd bcde cdef def1 ef12 f123, three of six are the stem's.
        ((STEM,), "a b c d e f 1 2 3", Copy(1, 3 / 5, 3 / 6)),
        # Twice the stem: 16 words, 13 four-grams, 2 x 5 of them the stem's.
        ((STEM,), f"{STEM} {STEM}", Copy(1, 1.0, 10 / 13)),
        # The largest share of a part counts, and the cover is that of all parts: 1234 of five, abcd..efgh of five.
        (("1 2 3 4 5 6 7 8", STEM), f"{STEM} 1 2 3 4", Copy(2, 1.0, 6 / 9)),
        # Multisets: "x x x x x x x x" has xxxx five times, the trace twice.
        (("x x x x x x x x",), "x x x x x", Copy(1, 2 / 5, 1.0)),
        (("x x x x x x x x",), "x " * 20, Copy(1, 1.0, 1.0)),
        ((STEM,), "h g f e d c b a", Copy(1, 0.0, 0.0)),
        ((STEM,), "a b c", Copy(1, 0.0, 0.0)),
        ((STEM,), "", Copy(1, 0.0, 0.0)),
        # Seven words are four four-grams, too few to be looked for.
        (("a b c d e f g", STEM), "a b c d e f g", Copy(1, 4 / 5, 1.0)),
        (("a b c d e f g",), "a b c d e f g", Copy(0, None, None)),
        (("",), STEM, Copy(0, None, None)),
        (("ａ b c d e f g h",), STEM, Copy(1, 1.0, 1.0)),
        ((), STEM, None),
    ],
)
def test_containment(parts: tuple[str, ...], trace: str, copy: Copy | None) -> None:
    assert copied(parts, trace) == copy


def test_both_shares_make_a_copy() -> None:
    """A worked solution that quotes the question has all of the question and little of itself from it."""
    assert Copy(1, 0.8, 0.8).is_copy()
    assert not Copy(1, 0.79, 1.0).is_copy()
    assert not Copy(1, 1.0, 0.79).is_copy()
    assert Copy(1, 0.79, 1.0).is_copy(containment=0.7)
    assert Copy(1, 1.0, 0.79).is_copy(cover=0.7)
    assert not Copy(0, None, None).is_copy(0.0, 0.0)
    quoted = copied((STEM,), f"{STEM}. So first we add one and then we take two, which leaves three")
    assert quoted is not None
    assert (quoted.containment, quoted.is_copy()) == (1.0, False)


def test_exact_rates() -> None:
    """No hit of n: the upper bound p solves (1 - p)^n = 0.025. One of one: the lower bound is 0.025."""
    none = exact_rate(0, 34_122)
    assert (none.value, none.low, none.n) == (0.0, 0.0, 34_122)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 34_122))
    one = exact_rate(1, 1)
    assert (one.value, one.high) == (1.0, 1.0)
    assert one.low == pytest.approx(0.025)
    assert exact_rate(97, 33_930).value == pytest.approx(0.00286, abs=5e-6)  # table E.1, Qwen3-235B
    assert exact_rate(0, 0).n == 0
    with pytest.raises(ValueError, match="2 of 1"):
        exact_rate(2, 1)
