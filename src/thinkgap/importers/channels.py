"""What came back beside the visible text: reasoning in its several channels, token counts, refusals.

It does not know files, and which texts of the channels are one is `responses.channels`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkgap.data.adapter import Row
from thinkgap.data.checks import readable
from thinkgap.errors import RowError
from thinkgap.responses.channels import joined
from thinkgap.types import Response

_TEXT_CHANNELS = ("reasoning", "reasoning_content")
_DETAILS = "reasoning_details"
_MOST = 1 << 63
"""Beyond what a count in a file of results can be."""


def response_of(row: Row, model: str) -> Response:
    """The response of a row of our own schema.

    Raises:
        RowError: a channel that is no text, or counts that are no numbers.
    """
    channels = {name: text for name in _TEXT_CHANNELS if (text := verbatim(row, name))}
    texts, summaries = _details(row.values.get(_DETAILS))
    if texts or summaries:
        channels[_DETAILS] = _blocks([*texts, *summaries])
    usage = _usage(row.values.get("usage"))
    return Response(
        content=verbatim(row, "response"),
        reasoning=joined([*(channels.get(name, "") for name in _TEXT_CHANNELS), _blocks(texts), _blocks(summaries)]),
        channels=channels,
        finish_reason=readable(row.text("finish_reason"), "'finish_reason'"),
        refusal=verbatim(row, "refusal"),
        prompt_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        completion_tokens=_count(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=_reasoning_tokens(usage),
        model=readable(row.text("model"), "'model'") or model,
    )


def verbatim(row: Row, key: str) -> str:
    """Text as it came, blanks and all; empty where the value is null or absent."""
    value = row.values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        row.text(key)  # NaN, which is what Parquet files of pandas hold for a missing text, is accepted there
        return ""
    return readable(value, repr(key))


def _details(value: object) -> tuple[list[str], list[str]]:
    """Readable texts of `reasoning_details`, and its summaries; encrypted parts say nothing."""
    if value is None:
        return [], []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise RowError(f"{_DETAILS!r} is {type(value).__name__}, not a list of objects")
    return _said(value, "text"), _said(value, "summary")


def _said(parts: list[dict[str, Any]], kind: str) -> list[str]:
    found = [part[kind] for part in parts if part.get(kind)]
    for text in found:
        if not isinstance(text, str):
            raise RowError(f"{_DETAILS!r} holds a {type(text).__name__} where a text belongs")
    return [readable(text, repr(_DETAILS)) for text in found]


def _blocks(parts: Sequence[str]) -> str:
    """The blocks of a channel; one that is there twice counts once."""
    return "\n\n".join(dict.fromkeys(parts))


def _usage(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RowError(f"'usage' is {type(value).__name__}, not an object of counts")
    return value


def _reasoning_tokens(usage: Mapping[str, Any]) -> int | None:
    """As chat completions, Responses, or a flat count give it."""
    for key in ("completion_tokens_details", "output_tokens_details"):
        inner = _usage(usage.get(key))
        if inner.get("reasoning_tokens") is not None:
            return _count(inner, "reasoning_tokens")
    return _count(usage, "reasoning_tokens")


def _count(usage: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = usage.get(key)
        # Parquet files of pandas keep whole numbers with gaps as floats, and the gaps as NaN.
        if value is None or value != value:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST or value % 1:
            raise RowError(f"'usage.{key}' is {value!r:.40}, not a number of tokens")
        return int(value)
    return None
