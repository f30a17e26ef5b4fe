"""Reasoning channels: each text once, formatting and encrypted text left out."""

from __future__ import annotations

import pytest

from thinkgap.responses.channels import each_once, is_encrypted, joined, reasoning_texts
from thinkgap.types import Response


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ([], []),
        (["", "  "], []),
        (["a b", "a  b", "ab"], ["a b"]),
        (["b", "a b c"], ["a b c"]),
        (["a b c", "b"], ["a b c"]),
        (["a", "b"], ["a", "b"]),
        (["a b", "b c"], ["a b", "b c"]),
    ],
)
def test_each_text_once(texts: list[str], kept: list[str]) -> None:
    assert each_once(texts) == kept


def test_texts_are_set_apart_by_empty_lines() -> None:
    assert joined(["One. Two.", "One.\n\nTwo.", "", "Three."]) == "One. Two.\n\nThree."
    assert joined([]) == joined(["", " "]) == ""


def test_channels_stand_in_for_a_text_that_nobody_joined() -> None:
    channels = {"reasoning": "Ice floats.", "reasoning_content": "Ice  floats.", "reasoning_details": "It is light."}
    assert reasoning_texts(Response("", channels=channels)) == ["Ice floats.", "It is light."]
    assert reasoning_texts(Response("", "<think>All.</think>", channels=channels)) == ["All."]
    assert reasoning_texts(Response("", "**\n---")) == reasoning_texts(Response("")) == []


def test_an_encrypted_channel_is_reasoning_without_a_text() -> None:
    sealed = Response("", channels={"reasoning_details.encrypted": "gAAAAB"})
    assert (reasoning_texts(sealed), is_encrypted(sealed)) == ([], True)
    assert not is_encrypted(Response("", "Ice floats.", channels={"reasoning": "Ice floats."}))
    assert not is_encrypted(Response("", channels={"output.reasoning.encrypted": ""}))
