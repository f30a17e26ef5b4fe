"""Finding boxes by brace counting."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgap.latex import brace_pairs, closing_brace, find_box_commands, find_boxes, last_boxed


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"So \boxed{5}.", "5"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
        (r"first \boxed{1}, then \boxed{2}", "2"),
        (r"\boxed{1} or \fbox{two words}", "two words"),
        (r"\boxed{3} and then \boxed{4", "3"),
        (r"\boxed{ \boxed{4}", "4"),
        (r"\boxed{\boxed{6}}", "6"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\}}", r"\}"),
        (r"\boxed{a \\{b} c}", r"a \\{b} c"),
        (r"\boxed 5", "5"),
        (r"$\boxed 12$", "12"),
        (r"\boxed -3.5, so", "-3.5"),
        (r"\boxed\pi", r"\pi"),
        (r"\boxed {7}", "7"),
        (r"x \\\boxed{8}", "8"),
        (r"\\boxed{9}", "9"),
        (r"\boxed{}", ""),
        (r"\boxed{ x }", "x"),
    ],
)
def test_content_of_the_last_balanced_box(text: str, content: str) -> None:
    assert last_boxed(text) == content


@pytest.mark.parametrize(
    "text", ["", "no box", r"\boxed{never closed", r"\boxedwidth{5}", r"\boxed{\}", "boxed{5}", r"\boxed"]
)
def test_no_balanced_box(text: str) -> None:
    assert last_boxed(text) is None


def test_spans_cover_the_command_and_its_argument() -> None:
    text = r"a \boxed{1} b \fbox{\boxed{2}} c \boxed 3 d"
    assert [text[box.start : box.end] for box in find_boxes(text)] == [
        r"\boxed{1}",
        r"\fbox{\boxed{2}}",
        r"\boxed{2}",
        r"\boxed 3",
    ]


_BALANCED = st.recursive(
    st.text("ab \n", max_size=4) | st.sampled_from([r"\{", r"\}", r"\\"]),
    lambda inner: st.lists(inner, max_size=3).map("".join) | inner.map(lambda text: "{" + text + "}"),
    max_leaves=12,
)


@given(_BALANCED, st.text("xy{ ", max_size=5))
def test_any_balanced_content_is_found_whole(content: str, before: str) -> None:
    assert last_boxed(before + r"\boxed{" + content + "} end") == content.strip()


@given(st.text("{}\\a", max_size=30))
def test_a_closing_brace_closes(text: str) -> None:
    end = closing_brace("{" + text, 0)
    if end is not None:
        assert ("{" + text)[end] == "}"
        assert closing_brace(("{" + text)[: end + 1], 0) == end


@given(st.text("{}\\a", max_size=30))
def test_one_pass_pairs_braces_as_one_search_each_does(text: str) -> None:
    escaped = {found.start() + 1 for found in re.finditer(r"\\.", text)}
    opening = [place for place, character in enumerate(text) if character == "{" and place not in escaped]
    found = {place: closing_brace(text, place) for place in opening}
    assert brace_pairs(text) == {place: end for place, end in found.items() if end is not None}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (r"\boxed{a} \boxed b", ["a", "b"]),
        (r"\boxed{a} \boxed{b", ["a", None]),
        (r"\boxed{a \boxed{b}", [None, "b"]),
        (r"\boxed", [None]),
        (r"$\boxed$", [None]),
        (r"\boxedwidth{5}", []),
    ],
)
def test_commands_without_an_argument_are_told(text: str, arguments: list[str | None]) -> None:
    found = [command.argument for command in find_box_commands(text)]
    assert [argument and text[slice(*argument)] for argument in found] == arguments
