"""Why a reply has no answer: cut short, empty, unreadable; flags; and the permissive second column."""

from __future__ import annotations

import pytest

from thinkgap.responses import extract, permissive
from thinkgap.types import AnswerSpace

ABCD = ("A", "B", "C", "D")
CUT = ("truncated",)


@pytest.mark.parametrize(
    ("content", "status", "flags"),
    [
        ("", "empty", ()),
        (" \n ", "empty", ()),
        ("**\n```\n```", "empty", ()),
        ("\u200b", "empty", ()),
        ("<think>So B.</think>", "empty", ()),
        ("The answer is B.</think>", "empty", ()),
        ("<think>So B.", "unparsed", ("think_unclosed",)),
        ("The answer is B. <think>Hm", "unparsed", ("think_unclosed",)),
        (r"\boxed{B} <think>Hm", "unparsed", ("think_unclosed",)),
        (r"\boxed{B", "unparsed", ("box_unclosed",)),
        (r"\boxed{A} \boxed{B", "unparsed", ("box_unclosed",)),
        (r"\boxed{}", "unparsed", ("box_empty",)),
        (r"\boxed{12}", "unparsed", ("box_unread",)),
        (r"\boxed{A or B}", "unparsed", ("two_labels",)),
        ("The answer is A or B.", "unparsed", ("two_labels",)),
        ("Ice floats.", "unparsed", ()),
        (r"The answer is B, I leave \boxed{} empty", "ok", ("leadin_only", "box_empty")),
    ],
)
def test_status_and_flags(content: str, status: str, flags: tuple[str, ...]) -> None:
    read = extract(content, "mcq", labels=ABCD)
    assert (read.status, sorted(read.flags)) == (status, sorted(flags))
    assert (read.answer is None) is (status != "ok")
    if status != "ok":
        assert (read.slot, read.rule, read.span, read.post) == (None, "", None, "")


@pytest.mark.parametrize(
    ("content", "space", "answer", "flags"),
    [
        ("", "mcq", None, CUT),
        ("Ice is lighter, so", "mcq", None, CUT),
        ("<think>Ice is", "mcq", None, ("think_unclosed", *CUT)),
        (r"The answer is B. So \boxed{", "mcq", None, ("box_unclosed", *CUT)),
        (r"Ice floats: \boxed{B}", "mcq", "B", CUT),
        ("Ice floats. The answer is B. To check, we", "mcq", "B", CUT),
        ("Ice floats. The answer is B.", "mcq", "B", CUT),
        ("Ice floats. The answer is A", "mcq", None, ("cut_at_answer", *CUT)),
        ("B", "mcq", "B", ("truncated",)),
        ("it", "mcq", None, CUT),
        ("it floats", "mcq", None, ("cut_at_answer", *CUT)),
        ("no", "bool", "no", CUT),
        ("Adding gives 7. The answer is 7", "open", None, ("cut_at_answer", *CUT)),
        ("Adding gives 7. The answer is 7.", "open", None, ("cut_at_answer", *CUT)),
        ("Adding gives 7. The answer is 7. To check", "open", "7", CUT),
        ("7", "open", None, ("cut_at_answer", *CUT)),
        (r"\boxed{7}", "open", "7", CUT),
    ],
)
def test_truncated_replies(content: str, space: AnswerSpace, answer: str | None, flags: tuple[str, ...]) -> None:
    labels, options = (ABCD, ("it floats", "it sinks", "it melts", "it boils")) if space == "mcq" else ((), ())
    read = extract(content, space, labels=labels, options=options, truncated=True)
    assert (read.status, read.answer) == ("ok" if answer else "truncated", answer)
    assert read.flags == flags
    assert extract(content, space, labels=labels, options=options).status != "truncated"


@pytest.mark.parametrize(
    ("content", "reasoning", "mode", "truncated", "swapped"),
    [
        ("", r"\boxed{B}", "think_off", False, True),
        ("\n", r"\boxed{B}", "strict", False, True),
        ("", r"\boxed{B}", "think_on", False, False),
        ("", r"\boxed{B}", None, False, False),
        ("", " ", "think_off", False, False),
        ("", r"\boxed{B}", "think_off", True, False),
        (r"\boxed{B}", "So B", "think_off", False, False),
    ],
)
def test_a_swapped_channel_is_noticed_and_not_read(
    content: str, reasoning: str, mode: str | None, truncated: bool, swapped: bool
) -> None:
    read = extract(content, "mcq", labels=ABCD, mode=mode, truncated=truncated, reasoning=reasoning)
    assert ("channel_swap" in read.flags) is swapped
    assert read.answer == ("B" if content.strip() else None)


@pytest.mark.parametrize(
    ("content", "n"),
    [
        (r"\boxed{A} \boxed{} \boxed{B}", 2),
        ("The answer is A. The answer is not C. The answer is B.", 2),
        ("The answer is A. The answer is B or C.", 2),
        ("B", 1),
        ("Ice floats.", 0),
        ("", 0),
    ],
)
def test_candidates_are_counted(content: str, n: int) -> None:
    assert extract(content, "mcq", labels=ABCD).n_candidates == n


def test_positions_refer_to_the_normalised_reply() -> None:
    read = extract("<think>A?</think>\u200bThe answer is （Ｂ）, since ice floats.", "mcq", labels=ABCD)
    assert read.text == "<think>A?</think>The answer is (B), since ice floats."
    assert read.span == (32, 33)
    assert (read.trace, read.post, read.reasoning) == ("The answer is", "since ice floats.", "A?")


@pytest.mark.parametrize(
    ("content", "space", "answer"),
    [
        ("A mammal nurses its young.", "mcq", "A"),
        ("B\n\nIce floats.", "mcq", "B"),
        ("It is C. Not d.", "mcq", "C"),
        ("The answer is B. Note that D is a trap.", "mcq", "B"),
        (r"\boxed{A or B}", "mcq", "B"),
        ("<think>C</think>ice", "mcq", None),
        ("ice", "mcq", None),
        ("The total comes to 64 bottles, altogether.", "open", "64"),
        ("1,250.50 of -3, then", "open", "-3"),
        ("1,250.50, then", "open", "1,250.50"),
        ("none, at all", "open", None),
        ("Yes, it floats.", "bool", "yes"),
        ("Yes? No, false.", "bool", "no"),
        ("I do not know, nothing", "bool", None),
        ("no-one", "bool", None),
    ],
)
def test_the_permissive_column(content: str, space: AnswerSpace, answer: str | None) -> None:
    assert permissive(content, space, labels=ABCD if space == "mcq" else ()) == answer
