"""Level 1 of one response, and of many: reading, empty-thinking events, length and copies; a row of the table to be.

Pure functions; open answers are compared by what the caller brings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from thinkgap.nothinking.audits import Copy, copied_words
from thinkgap.nothinking.correct import Equal, takes_algebra
from thinkgap.nothinking.etr import EmptyThinking, TraceLength, empty_thinking, measured
from thinkgap.nothinking.reading import ResponseReading, judged, read
from thinkgap.responses.noise import lexical_tokens
from thinkgap.types import Answered

Decide = Callable[[Sequence[tuple[str, str]]], Sequence[bool | None]]
"""Compares many pairs of reference answer and open answer at once, such as `MathEquality.many`."""


@dataclass(frozen=True)
class Analysed:
    """One response with all that level 1 says of it; a row of `responses.parquet`."""

    answered: Answered
    model: str
    """What tables call the model."""
    reading: ResponseReading
    etr: EmptyThinking
    length: TraceLength
    copy: Copy | None
    """None where the question's parts are not known apart."""

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What identifies this row: data set, item, presentation, mode, model."""
        asked = self.answered.question
        return (asked.dataset, asked.item_id, asked.presentation, self.answered.mode, self.model)


def analyse(
    answered: Answered,
    *,
    model: str = "",
    equal: Equal | None = None,
    count_tokens: Callable[[str], int] | None = None,
    read_swapped: bool = False,
) -> Analysed:
    """Level 1 of one response.

    Args:
        answered: the question, the mode, and what came back.
        model: what tables call the model; empty takes the id that the server gave.
        equal: compares open answers; see `read`.
        count_tokens: counts the tokens of a trace; see `trace_length`.
        read_swapped: see `read`.

    Raises:
        ConfigError, DataError: as `read`.
    """
    reading = read(answered, equal=equal, read_swapped=read_swapped)
    words = lexical_tokens(reading.trace)
    return Analysed(
        answered,
        model or answered.response.model,
        reading,
        empty_thinking(reading),
        measured(words, reading, count_tokens),
        copied_words(answered.question.parts, words),
    )


def analyse_all(
    responses: Iterable[Answered],
    *,
    model: str = "",
    decide: Decide | None = None,
    count_tokens: Callable[[str], int] | None = None,
    read_swapped: bool = False,
) -> list[Analysed]:
    """`analyse` of many, in their order; each pair of open answers is compared once, all of them in one call.

    Args:
        responses: what came back.
        model: see `analyse`.
        decide: compares open answers; without it `correct` is None for them.
        count_tokens: see `analyse`.
        read_swapped: see `analyse`.

    Raises:
        ConfigError, DataError: as `read`.
    """
    rows = [analyse(one, model=model, count_tokens=count_tokens, read_swapped=read_swapped) for one in responses]
    if decide is None:
        return rows
    pairs = list(dict.fromkeys(pair for row in rows for pair in open_pairs(row.answered, row.reading)))
    known = dict(zip(pairs, decide(pairs), strict=True)) if pairs else {}
    return [
        dataclasses.replace(row, reading=judged(row.answered, row.reading, lambda gold, said: known[gold, said]))
        if row.answered.question.space == "open"
        else row
        for row in rows
    ]


def open_pairs(answered: Answered, reading: ResponseReading) -> list[tuple[str, str]]:
    """The comparisons that judging an open answer takes: (reference answer, answer) by the strict and permissive
    columns; none for other answer spaces, nor for rewrites that are compared without algebra.
    """
    gold = answered.question.answer.strip()
    if answered.question.space != "open" or not gold or not takes_algebra(answered.question):
        return []
    return [(gold, said) for said in dict.fromkeys((reading.answer, reading.permissive)) if said is not None]
