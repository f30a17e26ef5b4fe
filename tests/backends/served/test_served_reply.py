"""Replies of many servers -> one `Response`. Each reply is written as its server gives it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.served.loopback import chat
from thinkgap.backends.served import ReplyError, to_response
from thinkgap.types import Response

THOUGHT = "Two and two\nmake four."


@pytest.mark.parametrize(
    ("message", "reasoning", "channels"),
    [
        ({}, "", {}),
        ({"reasoning": None, "reasoning_content": "", "reasoning_details": None}, "", {}),
        ({"reasoning": THOUGHT}, THOUGHT, {"reasoning": THOUGHT}),
        ({"reasoning_content": THOUGHT}, THOUGHT, {"reasoning_content": THOUGHT}),
        ({"thinking": THOUGHT}, THOUGHT, {"thinking": THOUGHT}),
        (
            # vLLM for a while: both names, one text.
            {"reasoning": THOUGHT, "reasoning_content": THOUGHT},
            THOUGHT,
            {"reasoning": THOUGHT, "reasoning_content": THOUGHT},
        ),
        (
            # OpenRouter: the same text, once whole and once in blocks with other white space.
            {
                "reasoning": THOUGHT,
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Two and two", "index": 0},
                    {"type": "reasoning.text", "text": "make four.", "index": 1},
                ],
            },
            THOUGHT,
            {"reasoning": THOUGHT, "reasoning_details": "Two and two\n\nmake four."},
        ),
        (
            {
                "reasoning": "Adds.",
                "reasoning_details": [
                    {"type": "reasoning.summary", "summary": "Adds."},
                    {"type": "reasoning.encrypted", "data": "gAAAAB"},
                    {"type": "reasoning.text", "text": THOUGHT},
                    {"type": "reasoning.future", "text": "?"},
                ],
            },
            f"Adds.\n\n{THOUGHT}",
            {
                "reasoning": "Adds.",
                "reasoning_details": THOUGHT,
                "reasoning_details.summary": "Adds.",
                "reasoning_details.encrypted": "gAAAAB",
            },
        ),
        (
            # Only encrypted: there was reasoning, and nobody can read it.
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAAAB"}]},
            "",
            {"reasoning_details.encrypted": "gAAAAB"},
        ),
    ],
)
def test_reasoning_channels_of_chat(message: dict[str, Any], reasoning: str, channels: dict[str, str]) -> None:
    response = to_response(chat("B", **message), "chat")
    assert (response.content, response.reasoning, response.channels) == ("B", reasoning, channels)


def test_think_tags_stay_in_the_content_for_extraction() -> None:
    response = to_response(chat("<think>Hm.</think>B"), "chat")
    assert (response.content, response.reasoning) == ("<think>Hm.</think>B", "")


@pytest.mark.parametrize(
    ("content", "visible", "channels"),
    [
        (None, "", {}),
        ("", "", {}),
        ([], "", {}),
        ([{"type": "text", "text": "The answer "}, {"type": "text", "text": "is B."}], "The answer is B.", {}),
        (["plain ", {"text": "and untyped"}], "plain and untyped", {}),
        (
            # Mistral: thinking is a part whose text is again a list of parts.
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}, {"type": "text", "text": "So."}]},
                {"type": "text", "text": "B"},
            ],
            "B",
            {"content.thinking": "Hm.\n\nSo."},
        ),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "B"}], "B", {}),
    ],
)
def test_content_in_parts(content: Any, visible: str, channels: dict[str, str]) -> None:
    response = to_response(chat(content), "chat")
    assert (response.content, response.channels) == (visible, channels)


def test_a_channel_swap_is_left_as_it_came() -> None:
    response = to_response(chat(None, reasoning_content="B"), "chat")
    assert (response.content, response.reasoning) == ("", "B")


@pytest.mark.parametrize(
    ("finish", "expected"), [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), (None, "")]
)
def test_finish_reason(finish: str | None, expected: str) -> None:
    assert to_response(chat("B", finish_reason=finish), "chat").finish_reason == expected


def test_refusals() -> None:
    assert to_response(chat(None, refusal="I cannot."), "chat").refusal == "I cannot."
    parts = [{"type": "refusal", "refusal": "I cannot."}]
    assert to_response(chat(parts), "chat") == to_response(chat(None, refusal="I cannot."), "chat")
    reply = {"status": "completed", "output": [{"type": "message", "content": parts}]}
    assert to_response(reply, "responses").refusal == "I cannot."


def test_of_several_choices_the_first_is_taken() -> None:
    reply = chat("second")
    reply["choices"][0]["index"] = 1
    reply["choices"].append(chat("first")["choices"][0])
    assert to_response(reply, "chat").content == "first"


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, (None, None, None)),
        ({}, (None, None, None)),
        ({"prompt_tokens": 5, "completion_tokens": 0}, (5, 0, None)),
        (
            {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 0}},
            (5, 9, 0),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": None}, (5, 9, None)),
        ({"input_tokens": 5, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 8}}, (5, 9, 8)),
        # SGLang gives it without details.
        ({"prompt_tokens": 5, "completion_tokens": 9, "reasoning_tokens": 4}, (5, 9, 4)),
        ({"prompt_tokens": "5", "completion_tokens": -1, "reasoning_tokens": True}, (None, None, None)),
    ],
)
def test_token_counts_of_all_spellings(usage: Any, counts: tuple[int | None, ...]) -> None:
    response = to_response({**chat("B"), "usage": usage}, "chat")
    assert (response.prompt_tokens, response.completion_tokens, response.reasoning_tokens) == counts


def test_a_reply_of_the_responses_api() -> None:
    reply = {
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5.4-2026-03-05",
        "output": [
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "Adds."}, {"type": "summary_text", "text": "Checks."}],
                "content": None,
                "encrypted_content": "gAAAAB",
            },
            {"type": "web_search_call"},
            {"type": "message", "content": [{"type": "output_text", "text": "B"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "!"}]},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 70, "output_tokens_details": {"reasoning_tokens": 64}},
    }
    assert to_response(reply, "responses") == Response(
        content="B!",
        reasoning="Adds.\n\nChecks.",
        channels={"output.reasoning.summary": "Adds.\n\nChecks.", "output.reasoning.encrypted": "gAAAAB"},
        finish_reason="stop",
        prompt_tokens=5,
        completion_tokens=70,
        reasoning_tokens=64,
        model="gpt-5.4-2026-03-05",
    )


def test_raw_reasoning_of_the_responses_api() -> None:
    """Open models behind this API give the reasoning itself."""
    item = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": THOUGHT}]}
    response = to_response({"status": "completed", "output": [item]}, "responses")
    assert (response.content, response.reasoning, response.channels) == ("", THOUGHT, {"output.reasoning": THOUGHT})


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "incomplete")]
)
def test_unfinished_replies_of_the_responses_api(reason: str | None, finish: str) -> None:
    details = None if reason is None else {"reason": reason}
    reply = {"status": "incomplete", "incomplete_details": details, "output": []}
    assert to_response(reply, "responses") == Response(content="", finish_reason=finish)


def test_geminis_own_reply() -> None:
    reply = {
        "modelVersion": "gemini-3-flash",
        "candidates": [
            {
                "finishReason": "MAX_TOKENS",
                "content": {"role": "model", "parts": [{"text": "Adds.", "thought": True}, {"text": "B"}]},
            }
        ],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 30},
    }
    # 2 tokens of the answer and 30 of thoughts are 32 tokens of the completion.
    assert to_response(reply, "chat") == Response(
        content="B",
        reasoning="Adds.",
        channels={"content.thinking": "Adds."},
        finish_reason="length",
        prompt_tokens=5,
        completion_tokens=32,
        reasoning_tokens=30,
        model="gemini-3-flash",
    )
    safe = {"candidates": [{"finishReason": "SAFETY"}]}
    assert to_response(safe, "chat") == Response(content="", finish_reason="content_filter")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert to_response(blocked, "chat") == Response(content="", finish_reason="content_filter")


@pytest.mark.parametrize(
    ("raw", "api", "message"),
    [
        ([], "chat", "a JSON list, not an object"),
        ("B", "chat", "a JSON str"),
        ({}, "chat", "no choice"),
        ({"choices": []}, "chat", "no choice"),
        ({"choices": None}, "chat", "no choice"),
        ({"choices": [{"message": None}]}, "chat", "no message"),
        ({"choices": [{"message": {}, "error": {"message": "cut off", "code": 502}}]}, "chat", r"cut off \(502\)"),
        ({"error": "plain"}, "chat", "an error: plain"),
        ({"error": {"type": "overloaded"}}, "chat", r"overloaded.*\(overloaded\)"),
        ({"choices": [{"message": {"content": "B"}}]}, "responses", "no output"),
        ({"output": [], "status": "failed"}, "responses", "status 'failed'"),
        ({"output": [], "status": "failed", "error": {"message": "died"}}, "responses", "an error: died"),
        ({"output": [], "status": "in_progress"}, "responses", "not finished"),
        ({"candidates": []}, "chat", "no candidate"),
    ],
)
def test_what_is_no_answer(raw: Any, api: Any, message: str) -> None:
    with pytest.raises(ReplyError, match=message):
        to_response(raw, api)
