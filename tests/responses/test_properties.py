"""What holds for any reply, and how long hostile ones take."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thinkgap.responses import extract, permissive, split_reasoning
from thinkgap.types import AnswerSpace

LABELS = {
    "letters": ("A", "B", "C", "D"),
    "ten": tuple("ABCDEFGHIJ"),
    "digits": ("1", "2", "3", "10"),
    "greek": ("α", "β", "γ"),
    "lower": ("a", "b", "c"),
    "symbols": ("#", "@", "*", "$"),
    "roman": ("i", "ii", "iii", "iv"),
}
OPTIONS = ("red", "red and blue", "7", "A mammal")
# A list would be longer to read than the words are.
PIECES = re.split(
    " ",
    "the answer is Answer: **Answer:** correct option choice = : is not n't if B B. (B) **B** A a I yes no true 1 0 7 "
    "7.5 red red\xa0and\xa0blue or and either , . ? ! ; - — { } \\{ \\} \\boxed{ \\boxed \\boxed{} \\fbox{B} \\text{ "
    "$ $$ \\( \\) \\[ \\] \\ <think> </think> ◁think▷ ◁/think▷ ``` ** * _ # @ > β ii \n \n\n \r \u200b ½ ² Ｂ",
)
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from([*PIECES, " "]), max_size=30).map(" ".join)
JOINED = st.lists(st.sampled_from([*PIECES, " "]), max_size=30).map("".join)


@settings(max_examples=400)
@given(
    TEXTS | JOINED,
    st.sampled_from(["mcq", "bool", "open"]),
    st.sampled_from(sorted(LABELS)),
    st.booleans(),
    st.sampled_from([None, "prefix", "think_off"]),
    st.booleans(),
)
def test_any_text_is_read(
    text: str, space: AnswerSpace, kind: str, with_options: bool, mode: str | None, truncated: bool
) -> None:
    labels = LABELS[kind] if space == "mcq" else ()
    options = OPTIONS[: len(labels)] if with_options and len(labels) == len(OPTIONS) else ()
    read = extract(text, space, labels=labels, options=options, mode=mode, truncated=truncated)
    assert (read.status == "ok") == (read.answer is not None) == (read.span is not None) == (read.rule != "")
    if read.answer is not None:
        assert space != "mcq" or (read.slot is not None and labels[read.slot] == read.answer)
        assert space != "bool" or read.answer in ("yes", "no")
    elif truncated:
        assert read.status == "truncated"
    if read.span is not None:
        start, end = read.span
        assert 0 <= start < end <= len(read.text)
        if read.rule in ("box", "statement") and space == "open":
            assert read.answer is not None
            assert read.answer in read.text[start:end]
    second = permissive(text, space, labels=labels, options=options, mode=mode, truncated=truncated)
    assert read.answer is None or second == read.answer
    assert second is None or space != "mcq" or second in labels
    assert extract(read.text, space, labels=labels, options=options, mode=mode, truncated=truncated) == read


@settings(max_examples=300)
@given(TEXTS | JOINED, st.sampled_from(sorted(LABELS)), st.data())
def test_the_last_statement_counts_whatever_stands_before_it(text: str, kind: str, data: st.DataObject) -> None:
    assume("boxed" not in text and "fbox" not in text)
    assume(not split_reasoning(text).unclosed)
    label = data.draw(st.sampled_from(LABELS[kind]))
    assert extract(f"{text}The answer is {label}.", "mcq", labels=LABELS[kind]).answer == label
    assert extract(text + "The answer is yes.", "bool").answer == "yes"
    assert extract(text + "The answer is 42.", "open").answer == "42"


@given(TEXTS, st.sampled_from("ABCD"))
def test_a_last_box_counts_whatever_stands_before_it(text: str, label: str) -> None:
    said = text + " \\boxed{" + label + "} "
    assume(not split_reasoning(said).unclosed)
    read = extract(said + "so there", "mcq", labels=LABELS["letters"])
    assert (read.answer, read.rule, read.post) == (label, "box", "so there")


@given(st.lists(st.sampled_from(["A", "B", "C", "I", "a", "mammal", "is", "right,", "or", "D."]), min_size=2))
def test_prose_without_an_anchor_or_a_box_has_no_label(words: list[str]) -> None:
    assert extract(" ".join(words), "mcq", labels=LABELS["ten"]).answer is None


N = 100_000
HOSTILE = {
    "open boxes": r"\boxed{" * (N // 7),
    "nested boxes": r"\boxed{" * (N // 8) + "}" * (N // 8),
    "nested boxes with an answer": r"\boxed{" * (N // 8) + "B" + "}" * (N // 8),
    "many boxes": r"\boxed{B} " * (N // 10),
    "empty boxes": r"\boxed{}" * (N // 8),
    "bare commands": r"\boxed " * (N // 7),
    "braces": "{" * (N // 2) + "}" * (N // 2),
    "closing braces": "}" * N,
    "backslashes": "\\" * N,
    "blanks": "The answer is" + " " * N + "x",
    "blank lines": "Answer:" + "\n" * N + "x",
    "stars": "*" * N + "x",
    "stars in a line": "The answer is " + "*" * N + "x",
    "dashes": "- " * (N // 2) + "x",
    "underscores": "a" + "_" * N + "a",
    "brackets": "The answer is " + "(" * N,
    "openings before a box": "(" * N + r"\boxed{B}",
    "closings after a box": r"\boxed{B}" + ")" * N,
    "anchors": "the answer is " * (N // 14),
    "statements": "The answer is B. " * (N // 17),
    "statements of options": "The answer is red and blue. " * (N // 28),
    "lists": "The answer is A" + ", A" * (N // 3),
    "one word": "The answer is " + "a" * N,
    "units": "The answer is 7" + " apples" * (N // 7),
    "digits": "The answer is " + "7" * N,
    "digits and commas": "7," * (N // 2),
    "dollars": "The answer is " + "$" * N,
    "dollars and digits": "The answer is " + "$7 " * (N // 3),
    "wrappers": "The answer is " + r"\text{" * (N // 6) + "B" + "}" * (N // 6),
    "wrapped box": r"\boxed{" + r"\text{" * (N // 8) + "B" + "}" * (N // 8) + "}",
    "think": "<think>" * (N // 7),
    "think pairs": "<think>a</think>" * (N // 16) + "B",
    "closing think": "</think>" * (N // 8) + "B",
    "fences": "```\n" * (N // 4),
    "headings": "# " * (N // 2),
    "quotes": "> " * (N // 2),
    "wide": "Ｂ" * N,
    "combining": "a" + "\u0301" * N,
    "not": "not " * (N // 4) + "the answer is B.",
    "negations": "not think that the answer is B. " * (N // 32),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_take_no_time(name: str) -> None:
    text = HOSTILE[name]
    spaces: tuple[tuple[AnswerSpace, tuple[str, ...], tuple[str, ...]], ...] = (
        ("mcq", LABELS["letters"], OPTIONS),
        ("bool", (), ()),
        ("open", (), ()),
    )
    for space, labels, options in spaces:
        start = time.process_time()
        permissive(text, space, labels=labels, options=options, mode="prefix")
        assert time.process_time() - start < 3, space


def test_thousands_of_replies_are_read_in_seconds() -> None:
    step = "The 8 is red and stands upper left, so 7 + 2 = 9 and that cannot be option C. "
    replies = [step * 25 + f"So the answer is {'ABCD'[n % 4]}." for n in range(1000)]
    assert len(replies[0]) > 1950
    start = time.process_time()
    read = [extract(reply, "mcq", labels=LABELS["letters"], options=OPTIONS).answer for reply in replies]
    assert time.process_time() - start < 2, (
        "20,000 replies of 2,000 characters are to take less than 40 s of a slow core"
    )
    assert read[:4] == ["A", "B", "C", "D"]
