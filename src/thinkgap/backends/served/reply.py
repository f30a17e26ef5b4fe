"""The JSON of a reply -> `Response`: content, every channel that reasoning comes back in, refusal, tokens, finish.

Knows the spellings of providers (method: chat completions, the responses API, Gemini's own) and judges nothing:
whether reasoning was allowed, and tags inside the content, are for others. What is not understood is not lost, because
the store keeps the reply as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thinkgap.backends.served.request import Api
from thinkgap.errors import ThinkgapError
from thinkgap.responses.channels import ENCRYPTED, joined
from thinkgap.types import Response

_TEXT_FIELDS = ("reasoning", "reasoning_content", "thinking")
"""Reasoning channels beside the content: vLLM and OpenRouter, DeepSeek, SGLang and DashScope, Ollama."""
_DETAILS = {
    "reasoning.text": ("reasoning_details", "text"),
    "reasoning.summary": ("reasoning_details.summary", "summary"),
    "reasoning.encrypted": (f"reasoning_details{ENCRYPTED}", "data"),
}
_FINISH = {"completed": "stop", "max_output_tokens": "length", "STOP": "stop", "MAX_TOKENS": "length"} | dict.fromkeys(
    ("SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"), "content_filter"
)
"""Words of other APIs for what chat completions calls `stop`, `length` and `content_filter`."""
_COUNTS = {
    "prompt_tokens": (("prompt_tokens",), ("input_tokens",), ("promptTokenCount",)),
    "completion_tokens": (("completion_tokens",), ("output_tokens",)),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
        ("thoughtsTokenCount",),
    ),
}

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_MOST = 1 << 63
"""Beyond what a count of tokens can be."""

Piece = tuple[str, str]
"""A channel and a text of it; the channels `content` and `refusal` are no reasoning."""


class ReplyError(ThinkgapError):
    """A reply that is no answer: an error in its place, no choice, or another shape than its API has."""


def to_response(raw: Mapping[str, Any], api: Api) -> Response:
    """Read a reply; half of a surrogate pair, which no file takes, becomes U+FFFD.

    Args:
        raw: the JSON object as it came.
        api: what the request was sent to. A Gemini reply is known by its own fields.

    Returns:
        The response. Of several choices the one with the lowest index is taken. Counts that nobody gave are None.

    Raises:
        ReplyError: it holds an error, no choice, or is no reply of this API.
    """
    try:
        return _response(raw, api)
    except (AttributeError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise ReplyError(f"the reply has another shape than its API's ({type(error).__name__}: {error})") from None


def _response(raw: Mapping[str, Any], api: Api) -> Response:
    if not isinstance(raw, Mapping):
        raise ReplyError(f"the reply is a JSON {type(raw).__name__}, not an object")
    if raw.get("error"):
        raise ReplyError(f"the reply is an error: {error_text(raw['error'])}")
    if "candidates" in raw or "promptFeedback" in raw:
        pieces, finish = _gemini(raw)
    else:
        pieces, finish = _responses(raw) if api == "responses" else _chat(raw)
    channels: dict[str, str] = {}
    for channel, text in pieces:
        text = _HALF_PAIR.sub("\ufffd", text)
        if text:
            # Visible text goes on; blocks of reasoning are blocks of their own.
            joint = "" if channel == "content" else "\n\n"
            channels[channel] = channels[channel] + joint + text if channel in channels else text
    content, refusal = channels.pop("content", ""), channels.pop("refusal", "")
    readable = [text for name, text in channels.items() if not name.endswith(ENCRYPTED)]
    usage = raw.get("usage") or raw.get("usageMetadata") or {}
    counts = {name: _count(usage, paths) for name, paths in _COUNTS.items()}
    if "candidatesTokenCount" in usage:
        # Gemini counts its thoughts beside its answer, the others within it.
        counts["completion_tokens"] = usage["candidatesTokenCount"] + (counts["reasoning_tokens"] or 0)
    return Response(
        content=content,
        reasoning=joined(readable),
        channels=channels,
        finish_reason=_HALF_PAIR.sub("\ufffd", _FINISH.get(finish, finish)),
        refusal=refusal,
        **counts,
        model=_HALF_PAIR.sub("\ufffd", str(raw.get("model") or raw.get("modelVersion") or "")),
    )


def error_text(error: Any) -> str:
    """What an error object says, with its code."""
    if not isinstance(error, Mapping):
        return str(error)
    code = error.get("code") or error.get("type")
    message = str(error.get("message") or json.dumps(error, sort_keys=True))
    return f"{message} ({code})" if code else message


def _chat(raw: Mapping[str, Any]) -> tuple[list[Piece], str]:
    choices = raw.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ReplyError("the reply holds no choice")
    choice = min(choices, key=lambda one: one.get("index") or 0)
    if choice.get("error"):
        raise ReplyError(f"the reply is an error: {error_text(choice['error'])}")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise ReplyError("the reply's choice holds no message")
    pieces = list(_parts(message.get("content")))
    pieces += [(name, _as_text(message.get(name))) for name in _TEXT_FIELDS]
    details = [entry for entry in message.get("reasoning_details") or [] if isinstance(entry, Mapping)]
    for kind, (channel, key) in _DETAILS.items():
        pieces += [(channel, _as_text(entry.get(key))) for entry in details if entry.get("type") == kind]
    pieces.append(("refusal", _as_text(message.get("refusal"))))
    return pieces, str(choice.get("finish_reason") or "")


def _responses(raw: Mapping[str, Any]) -> tuple[list[Piece], str]:
    output, status = raw.get("output"), str(raw.get("status") or "")
    if not isinstance(output, list):
        raise ReplyError("the reply holds no output")
    if status not in ("", "completed", "incomplete"):
        raise ReplyError(f"the reply has the status {status!r}, so it is not finished")
    pieces: list[Piece] = []
    for item in output:
        if item.get("type") == "message":
            pieces += _parts(item.get("content"))
        elif item.get("type") == "reasoning":
            pieces.append(("output.reasoning", _as_text(item.get("content"))))
            pieces.append(("output.reasoning.summary", _as_text(item.get("summary"))))
            pieces.append((f"output.reasoning{ENCRYPTED}", _as_text(item.get("encrypted_content"))))
    reason = (raw.get("incomplete_details") or {}).get("reason")
    return pieces, str(reason or status)


def _gemini(raw: Mapping[str, Any]) -> tuple[list[Piece], str]:
    candidates = raw.get("candidates")
    if not candidates:
        if (raw.get("promptFeedback") or {}).get("blockReason"):
            return [], "content_filter"
        raise ReplyError("the reply holds no candidate")
    candidate = min(candidates, key=lambda one: one.get("index") or 0)
    parts = (candidate.get("content") or {}).get("parts")
    return list(_parts(parts)), str(candidate.get("finishReason") or "")


def _parts(content: Any) -> Iterator[Piece]:
    """A message's content, which is a text, a list of parts, or null, as pieces."""
    if content is None or isinstance(content, str):
        yield "content", content or ""
        return
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type", "") if isinstance(part, Mapping) else ""
        if isinstance(part, Mapping) and (part.get("thought") is True or kind in ("thinking", "reasoning")):
            yield "content.thinking", _as_text(part)
        elif kind == "refusal":
            yield "refusal", _as_text(part.get("refusal"))
        elif isinstance(part, str) or "text" in part:
            yield "content", _as_text(part)


def _as_text(value: Any) -> str:
    """The text of a field that is a text, a list of texts, or an object around one."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        inner = [value[key] for key in ("text", "thinking", "reasoning", "summary", "content") if value.get(key)]
        return _as_text(inner[0]) if inner else ""
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_as_text, value)))
    return str(value)


def _count(usage: Mapping[str, Any], paths: Sequence[tuple[str, ...]]) -> int | None:
    for path in paths:
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST:
            return value
    return None
