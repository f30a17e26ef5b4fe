"""One `Answered` to its reading: the extractor's, with what the finish reason and the refusal channel say.

It does not know files or servers; the names of finish reasons are those that public servers and harnesses use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from thinkgap.responses.extract import Extraction, extract
from thinkgap.types import Answered

Ending = Literal["", "limit", "filter", "refusal"]

_ENDINGS: dict[str, Ending] = {
    # OpenAI and its kin, Anthropic and Gemini, inspect_ai, OpenAI Responses, Anthropic: cut by a limit on tokens.
    "length": "limit",
    "max_tokens": "limit",
    "model_length": "limit",
    "max_output_tokens": "limit",
    "model_context_window_exceeded": "limit",
    # OpenAI and Azure, then Gemini: stopped by a filter.
    "content_filter": "filter",
    "safety": "filter",
    "recitation": "filter",
    "blocklist": "filter",
    "prohibited_content": "filter",
    "spii": "filter",
    # Anthropic.
    "refusal": "refusal",
}


def ending(finish_reason: str) -> Ending:
    """Why a reply broke off; empty if it ended by itself, or if nobody said."""
    return _ENDINGS.get(finish_reason.strip().lower(), "")


def read_answered(answered: Answered) -> Extraction:
    """Reads the answer out of one response.

    A reply that a filter stopped is read as one that the limit cut: the last number of it may not be whole. Without an
    answer its status is `content_filtered`; that of a refusal is `refused`.

    Raises:
        ConfigError: see `extract`.
    """
    question, response = answered.question, answered.response
    how = ending(response.finish_reason)
    read = extract(
        response.content,
        question.space,
        labels=question.labels,
        options=question.options,
        mode=answered.mode or None,
        truncated=how in ("limit", "filter"),
        reasoning=response.reasoning,
    )
    if read.answer is not None:
        return read
    if how == "filter":
        return replace(read, status="content_filtered")
    if how == "refusal" or response.refusal.strip():
        return replace(read, status="refused")
    return read
