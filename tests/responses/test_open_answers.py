"""Open answers: verbatim out of boxes, numbers, expressions and short names elsewhere, never a sentence."""

from __future__ import annotations

import pytest

from thinkgap.responses import extract


@pytest.mark.parametrize(
    ("content", "answer", "rule"),
    [
        (r"\boxed{\frac{7}{\sqrt{3}}}", r"\frac{7}{\sqrt{3}}", "box"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "box"),
        (r"\boxed{ x = 5 }", "x = 5", "box"),
        (r"\boxed 12", "12", "box"),
        (r"$\boxed -3.5$", "-3.5", "box"),
        (r"\fbox{upper left}", "upper left", "box"),
        (r"\boxed{1} \boxed{2}", "2", "box"),
        (r"\boxed{4} \fbox{}", "4", "box"),
        (r"\boxed{x = \boxed{5}}", "5", "box"),
        (r"\boxed{}", None, ""),
        (r"The answer is \boxed{}", None, ""),
        (r"\boxed{3} \boxed{4", None, ""),
        (r"\boxed{\frac{1}{2}", None, ""),
        ("The answer is 42.", "42", "statement"),
        ("The answer is 42", "42", "statement"),
        ("The answer is 42 .", "42", "statement"),
        ("So the answer is red.", "red", "statement"),
        ("So the answer is upper left .", "upper left", "statement"),
        ("The answer is 1,250.", "1,250", "statement"),
        ("The answer is 3.14.", "3.14", "statement"),
        ("The answer is $18.00.", "$18.00", "statement"),
        (r"The answer is \$18.", r"\$18", "statement"),
        ("The answer is $18$.", "18", "statement"),
        ("The answer is 50%.", "50%", "statement"),
        ("The answer is -7.", "-7", "statement"),
        ("The answer is −7.", "-7", "statement"),
        ("The answer is 3/4.", "3/4", "statement"),
        ("The answer is 18 dollars.", "18 dollars", "statement"),
        ("The answer is 18 dollars because 9 + 9 = 18.", "18 dollars", "statement"),
        ("The answer is 64 bottles, altogether.", "64 bottles", "statement"),
        (r"The answer is $\frac{1}{2}$, as shown.", r"\frac{1}{2}", "statement"),
        (r"The answer is \(x^2\).", "x^2", "statement"),
        (r"The answer is \[ 5 \]", "5", "statement"),
        (r"The answer is \frac{1}{2}.", r"\frac{1}{2}", "statement"),
        ("The answer is $2$ or $3$.", "$2$ or $3$", "statement"),
        ("The answer is 2 or 3.", "2 or 3", "statement"),
        ("The answer is x = 5.", "x = 5", "statement"),
        ("The answer is (2, 1).", "(2, 1)", "statement"),
        ("Final Answer: **73**", "73", "statement"),
        ("**Final Answer: 73**", "73", "statement"),
        ("**Final Answer:** 73", "73", "statement"),
        ("The answer is **73** apples.", "73", "statement"),
        ("The answer is 5. The answer is 6.", "6", "statement"),
        ("The answer is 5. This answer is elegant.", "5", "statement"),
        ("The answer is 5. I checked that the answer is right.", "5", "statement"),
        ("The answer is red. The answer is blue.", "blue", "statement"),
        ("The answer is 5 times larger.", None, ""),
        ("The answer is 5?", None, ""),
        ("The answer is the sum of 3 and 4.", None, ""),
        ("The answer is that we cannot know.", None, ""),
        ("The answer is not 5.", None, ""),
        ("The answer is right.", None, ""),
        ("The answer is lower right.", "lower right", "statement"),
        ("If the answer is 5, we are done.", None, ""),
        ("I do not think the answer is 5.", None, ""),
        ("The first answer is 5.", None, ""),
        ("The answer is", None, ""),
        ("Answer:", None, ""),
        (r"\text{The answer is 5}", "5", "statement"),
        (r"\text{The answer is } 5", "5", "statement"),
        ("42}", None, ""),
        (r"\frac{1}{2", None, ""),
        ("42", "42", "whole"),
        ("42.", "42", "whole"),
        ("**73**", "73", "whole"),
        ("$42", "$42", "whole"),
        ("$42$", "42", "whole"),
        ("1,250 miles", "1,250 miles", "whole"),
        (r"\frac{1}{2}", r"\frac{1}{2}", "whole"),
        (r"$$\frac{1}{2}$$", r"\frac{1}{2}", "whole"),
        ("x = 5", "x = 5", "whole"),
        ("(2,1)", "(2,1)", "whole"),
        ("upper left.", "upper left", "whole"),
        ("upper left .", "upper left", "whole"),
        ("x²", "x²", "whole"),
        ("3½", "3½", "whole"),
        ("```\n42\n```", "42", "whole"),
        ("upper left", "upper left", "whole"),
        ("<think>7*8=56</think>56", "56", "whole"),
        ("5 is the total.", None, ""),
        ("I do not know", None, ""),
        ("Not sure", None, ""),
        ("7 * 8 = 56, so 56 it is", None, ""),
        ("1\n2", None, ""),
        (",", None, ""),
        ("The total comes to 64 bottles, altogether.", None, ""),
        ("Then we get 7.", None, ""),
    ],
)
def test_open_answers(content: str, answer: str | None, rule: str) -> None:
    read = extract(content, "open")
    assert (read.answer, read.rule, read.slot) == (answer, rule, None)
    if rule == "statement":
        assert read.span is not None
        assert read.text[slice(*read.span)] == answer


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("42}", "42"),
        (r"\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"\boxed{42}", "42"),
        ("The answer is 42}", "42"),
    ],
)
def test_completions_of_a_forced_prefix(content: str, answer: str) -> None:
    assert extract(content, "open", mode="prefix").answer == answer
