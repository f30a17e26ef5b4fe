"""Replies that no API should send: a reading or a `ReplyError` for their own request, never anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkgap.backends.served.reply import ReplyError, to_response

KEYS = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "index",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "candidates",
        "parts",
        "text",
        "thought",
        "usageMetadata",
        "candidatesTokenCount",
        "output",
        "type",
        "status",
        "reasoning",
        "reasoning_details",
        "error",
        "incomplete_details",
        "model",
        "refusal",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["message", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(raw=st.dictionaries(KEYS, VALUES, max_size=4) | VALUES, api=st.sampled_from(["chat", "responses"]))
def test_any_json_is_read_or_refused(raw: Any, api: Any) -> None:
    try:
        found = to_response(raw, api)
    except ReplyError:
        return
    for text in (found.content, found.reasoning, found.refusal, found.finish_reason, found.model):
        text.encode("utf-8")


@pytest.mark.parametrize(
    "raw",
    [
        {"choices": [1]},
        {"choices": [{"message": {"content": [1, 2]}}]},
        {"choices": [{"message": {"content": "x"}, "index": "a"}, {"index": 1}]},
        {"choices": [{"message": {"content": "x", "reasoning_details": 3}}]},
        {"candidates": [{"content": {"parts": []}}], "usageMetadata": {"candidatesTokenCount": "7"}},
    ],
)
def test_another_shape_is_named(raw: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match="another shape than its API's"):
        to_response(raw, "chat")


def test_half_a_pair_and_a_count_beyond_any() -> None:
    raw = json.loads(
        '{"choices": [{"message": {"content": "\\ud83d B"}}], "usage": {"prompt_tokens": 1' + "0" * 30 + "}}"
    )
    found = to_response(raw, "chat")
    assert found.content == "\ufffd B"
    assert found.prompt_tokens is None
