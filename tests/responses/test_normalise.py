"""One spelling for a reply, and the reasoning inside it cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgap.responses import normalise, split_reasoning


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Answer: B", "Answer: B"),
        ("Ａｎｓｗｅｒ：（Ｂ）", "Answer:(B)"),
        ("𝐁", "B"),
        ("＼boxed｛Ｂ｝", r"\boxed{B}"),
        ("−7 – 3 ‑ 2", "-7 - 3 - 2"),
        ("a — b", "a — b"),
        ("B\u200b\ufeff\u00ad\u2060", "B"),
        ("a\u00a0b\u2009c", "a b c"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("e\u0301", "é"),
        ("5² x₁", "5² x₁"),
        ("3½", "3½"),
        ("①", "①"),
        ("№ 5", "№ 5"),
        ("x ∈ ℝ", "x ∈ ℝ"),
        ("don´t", "don´t"),
        ("ﬁ…", "fi..."),
        ("Case Stays", "Case Stays"),
        ("\ud800", "\ud800"),
    ],
)
def test_spellings(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("text", "visible", "reasoning", "unclosed"),
    [
        ("plain", "plain", "", False),
        ("<think>a</think>b", "b", "a", False),
        ("<think>\n\n</think>\n\nb", "b", "", False),
        ("x<think>a</think>b", "x b", "a", False),
        ("<think>a</think>b<think>c</think>d", "b d", "a\n\nc", False),
        ("a</think>b", "b", "a", False),
        ("a</think>b</think>c", "c", "a\nb", False),
        ("<think>a</think>b</think>c", "c", "a\nb", False),
        ("<think>a <think> b</think>c", "c", "a \n b", False),
        ("<think>a", "", "a", True),
        ("x <think>a", "x", "a", True),
        ("<think>a</think>b<think>c", "b", "a\n\nc", True),
        ("<think>", "", "", True),
        ("</think>", "", "", False),
        ("◁think▷a◁/think▷b", "b", "a", False),
        ("a◁/think▷b", "b", "a", False),
        ("◁think▷a</think>b", "", "a\nb", True),
        ("<thinking>a", "<thinking>a", "", False),
    ],
)
def test_reasoning_is_cut(text: str, visible: str, reasoning: str, unclosed: bool) -> None:
    parts = split_reasoning(text)
    assert " ".join(parts.visible.split()) == visible
    assert (parts.reasoning, parts.unclosed) == (reasoning, unclosed)


@given(st.lists(st.sampled_from(["<think>", "</think>", "◁think▷", "◁/think▷", "a", " ", "\n"])).map("".join))
def test_positions_hold_in_the_visible_text(text: str) -> None:
    parts = split_reasoning(text)
    assert len(parts.visible) == len(parts.text)
    assert all(seen == said or seen.isspace() for seen, said in zip(parts.visible, parts.text, strict=True))
    assert "think" not in parts.visible
