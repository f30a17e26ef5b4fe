"""Which box counts, and where it stands."""

from __future__ import annotations

import pytest

from thinkgap.responses.boxes import ends_in_open_box, find_answer_box, find_completion


@pytest.mark.parametrize(
    ("text", "content", "box", "n"),
    [
        (r"a \boxed{B} c", "B", r"\boxed{B}", 1),
        (r"\boxed{ B }", "B", r"\boxed{ B }", 1),
        (r"\boxed{4} \fbox{8}", "8", r"\fbox{8}", 2),
        (r"\boxed{4} \boxed{}", "4", r"\boxed{4}", 1),
        (r"\boxed{4} \boxed{ {~} }", "4", r"\boxed{4}", 1),
        (r"\boxed{4} \boxed{\boxed{}}", "4", r"\boxed{4}", 1),
        (r"\boxed{\boxed{}x}", r"\boxed{}x", r"\boxed{\boxed{}x}", 1),
        (r"\boxed{\boxed{6}}", "6", r"\boxed{\boxed{6}}", 2),
        (r"\boxed{so \fbox{6}}.", "6", r"\boxed{so \fbox{6}}", 2),
        (r"\boxed{\{1\}}", r"\{1\}", r"\boxed{\{1\}}", 1),
        (r"\boxed 5 apples", "5", r"\boxed 5", 1),
        (r"\boxed{3} I put it in \boxed.", "3", r"\boxed{3}", 1),
        (r"\boxed{3} Use \boxed for it", "3", r"\boxed{3}", 1),
        (r"\boxed{3 \boxed{4}", "4", r"\boxed{4}", 1),
    ],
)
def test_the_last_box_with_content(text: str, content: str, box: str, n: int) -> None:
    boxes = find_answer_box(text)
    assert boxes.final is not None
    assert (boxes.final.content, text[boxes.final.start : boxes.final.end], boxes.n) == (content, box, n)
    assert not boxes.unclosed


@pytest.mark.parametrize(
    ("text", "unclosed", "empty"),
    [
        ("no box", False, False),
        (r"\boxed{}", False, True),
        (r"\boxed{\fbox{ }}", False, True),
        (r"\boxed{", True, False),
        (r"\boxed{3} \boxed{12", True, False),
        (r"\boxed{3} \boxed{\}", True, False),
        (r"\boxed{3} \boxed", True, False),
        (r"in $\boxed$ it goes", False, False),
        (r"\boxedtext{5}", False, False),
    ],
)
def test_no_box_counts(text: str, unclosed: bool, empty: bool) -> None:
    boxes = find_answer_box(text)
    assert boxes.final is None
    assert (boxes.unclosed, boxes.empty) == (unclosed, empty)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("B}", "B"),
        (" B } since", "B"),
        (r"\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\{1\}}", r"\{1\}"),
        ("}", None),
        ("B", None),
        ("{B}", None),
        ("a\nb}", None),
    ],
)
def test_completions(text: str, content: str | None) -> None:
    completion = find_completion(text)
    assert (completion.content if completion else None) == content


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r" The answer is \boxed{", True),
        (r"e.g. \boxed{yes}. The answer is \boxed{ ", True),
        (r"\boxed{\text{", True),
        (r"\boxed{\fbox{x}", True),
        (r"\fbox{\}", True),
        (r"e.g. \boxed{yes}.", False),
        (r"\boxed{} ", False),
        (r"Put it in \boxed", False),
        ("The answer is {", False),
        (r"\boxedtext{", False),
        ("", False),
    ],
)
def test_what_follows_an_open_box_begins_inside_it(text: str, inside: bool) -> None:
    assert ends_in_open_box(text) is inside
