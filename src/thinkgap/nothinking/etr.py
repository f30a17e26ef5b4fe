"""Empty-thinking rates: whether a response is an answer and nothing else, in every sense that the study's tables use.

Five events of one response; a rate is their share of all responses, those without an answer included. The length of
what stands before the answer is here too. Definitions and their sources: `docs/etr.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinkgap.nothinking.reading import ResponseReading
from thinkgap.responses.noise import lexical_tokens


@dataclass(frozen=True)
class EmptyThinking:
    """Which kinds of answer-only a response is (arXiv 2610.11765); none without an answer."""

    strict: bool
    """Nothing before the answer in any channel, and nothing after it (the study's definition in words)."""
    prefix: bool
    """Nothing before the answer in any channel, whatever follows (what the study's scorer counts)."""
    leadin: bool
    """As `prefix`, with a lead-in ("The answer is") counted as nothing."""
    all: bool
    """Nothing in the reasoning channels or before the answer: the event of `prefix`, as the counterpart of
    `content`."""
    content: bool
    """Nothing before the answer in the visible text, whatever the reasoning channels hold."""


@dataclass(frozen=True)
class TraceLength:
    """How long the pre-answer trace is; 0 if it is empty."""

    words: int
    """Lexical tokens of the whole trace T."""
    visible_words: int
    """Lexical tokens of the visible part, T_vis (the study's visible length)."""
    tokens: int | None
    """Of the whole trace, by the given counter; None without one."""
    visible_tokens: int | None


def empty_thinking(reading: ResponseReading) -> EmptyThinking:
    """The five events for one response."""
    answered = reading.answer is not None
    nothing = answered and not reading.trace
    only_lead_in = answered and reading.leadin_only and not reading.reasoning
    return EmptyThinking(
        strict=nothing and not reading.post,
        prefix=nothing,
        leadin=nothing or only_lead_in,
        all=nothing,
        content=answered and not reading.visible_trace,
    )


def trace_length(reading: ResponseReading, count: Callable[[str], int] | None = None) -> TraceLength:
    """Words, and tokens if they can be counted, of the trace.

    Args:
        reading: whose trace.
        count: number of tokens of a text, by a tokenizer of the caller's choice, special tokens apart; it is not asked
            for empty texts.
    """
    return measured(lexical_tokens(reading.trace), reading, count)


def measured(words: list[str], reading: ResponseReading, count: Callable[[str], int] | None) -> TraceLength:
    """`trace_length` of a trace whose lexical tokens are known."""
    trace, visible = reading.trace, reading.visible_trace
    n_visible = len(words) if trace == visible else len(lexical_tokens(visible))
    if count is None:
        return TraceLength(len(words), n_visible, None, None)
    n_tokens = count(trace) if trace else 0
    return TraceLength(
        len(words), n_visible, n_tokens, n_tokens if trace == visible else count(visible) if visible else 0
    )
