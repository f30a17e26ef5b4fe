"""What is left before and after an answer once formatting is gone, and what counts as a lead-in."""

from __future__ import annotations

import pytest

from thinkgap.responses import extract
from thinkgap.responses.noise import clean, is_lead_in, post_after, trace_before

ABCD = ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("**", ""),
        ("$", ""),
        ("$$", ""),
        ("\\[\n", ""),
        ("\\(", ""),
        ("\\displaystyle", ""),
        ("---\n***\n___\n- - -", ""),
        ("```latex\n", ""),
        ("~~~\n", ""),
        (">", ""),
        ("- ", ""),
        ("...", ""),
        ("🤔 👉", ""),
        ("### Answer\n\n", "Answer"),
        ("**Answer:**", "Answer:"),
        ("> quoted\n> twice", "quoted twice"),
        ("* one\n* two", "one two"),
        ("- x is 3", "x is 3"),
        ("**Bold** and `code`", "Bold and code"),
        ("x_1 * y^2 > 3", "x_1 * y^2 > 3"),
        ("a**b", "a**b"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("It costs $5", "It costs $5"),
        ("Subtract  5\nto get", "Subtract 5 to get"),
        (r"\dfrac{1}{2} \\[2pt]", r"\dfrac{1}{2} \\[2pt]"),
        (r"So \boxed{A}.", r"So \boxed{A}."),
    ],
)
def test_formatting_is_noise(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.parametrize(
    ("before", "trace"),
    [
        ("The answer is **", "The answer is"),
        ("The answer is $", "The answer is"),
        ("The answer is (", "The answer is"),
        (r"The answer is \textbf{", "The answer is"),
        (r"$\text{", ""),
        (r"**\mathbf{", ""),
        (r"f(3) = ", "f(3) ="),
        ("(So ", "(So"),
        ("$x$ gives $", "$x$ gives"),
        ("### Final Answer\n\n$$", "Final Answer"),
    ],
)
def test_what_opens_an_answer_is_no_trace(before: str, trace: str) -> None:
    assert trace_before(before) == trace


@pytest.mark.parametrize(
    ("after", "post"),
    [
        ("$.", ""),
        ("**", ""),
        (".\n\\]", ""),
        ("\n\\)\n```", ""),
        ("}}", ""),
        (").", ""),
        (". Ice floats.", "Ice floats."),
        (", since ice floats", "since ice floats"),
        ("** because ice floats", "because ice floats"),
        (" (ice floats)", "(ice floats)"),
        ("\n\n---\n", ""),
    ],
)
def test_what_closes_an_answer_is_no_post(after: str, post: str) -> None:
    assert post_after(after) == post


@pytest.mark.parametrize(
    ("trace", "lead_in"),
    [
        ("Answer", True),
        ("Answer:", True),
        ("The answer is", True),
        ("the answer is:", True),
        ("Final answer:", True),
        ("FINAL ANSWER", True),
        ("The correct option is", True),
        ("Our answer is", True),
        ("Answer: option", True),
        ("", False),
        ("Ice floats, so the answer is", False),
        ("So the answer is", False),
        ("The answer is not", False),
        ("Subtract 5 to get", False),
    ],
)
def test_lead_ins_are_a_closed_list(trace: str, lead_in: bool) -> None:
    assert is_lead_in(trace) is lead_in


@pytest.mark.parametrize(
    ("content", "trace", "post", "flags"),
    [
        (r"\boxed{B}", "", "", ()),
        (r"$\boxed{B}$.", "", "", ()),
        (r"$\mathbf{\boxed{B}}$", "", "", ()),
        (r"\boxed{\boxed{B}}", "", "", ()),
        (r"The answer is \boxed{B}", "The answer is", "", ("leadin_only",)),
        ("**Answer: B**", "Answer:", "", ("leadin_only",)),
        ("Answer: B: ice floats", "Answer:", "ice floats", ("leadin_only",)),
        (r"\boxed{B} since ice floats", "", "since ice floats", ("answer_first",)),
        (r"So, I say \boxed{B} since ice floats", "So, I say", "since ice floats", ("answer_first",)),
        (r"So I would say \boxed{B} since ice floats", "So I would say", "since ice floats", ()),
        (r"\boxed{B} ice floats", "", "ice floats", ()),
        ("B}", "B}", "", ()),
        ("Ice floats.", "Ice floats.", "", ()),
        ("<think>x</think>Ice <think>y</think> floats: \\boxed{B}", "Ice floats:", "", ()),
    ],
)
def test_trace_and_post(content: str, trace: str, post: str, flags: tuple[str, ...]) -> None:
    read = extract(content, "mcq", labels=ABCD)
    assert (read.trace, read.post, read.flags) == (trace, post, flags)


def test_own_text_beside_a_label_is_part_of_the_answer() -> None:
    read = extract("The answer is B: it floats.", "mcq", labels=("A", "B"), options=("it sinks", "it floats"))
    assert (read.answer, read.post) == ("B", "")
    assert read.span is not None
    assert read.text[slice(*read.span)] == "B: it floats"
