"""The figures of the no-thinking tables: of which rows each one is, and why it may not be there.

Knows the columns of `responses.parquet`; which rows share a cell is the tables' business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.readouts.sheet import Cell, Column, Missing
from thinkgap.responses.extract import THINKING_MODE
from thinkgap.types import Thinking

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """The rows of all cells."""

    frame: pd.DataFrame
    group: NDArray[np.intp]
    """Group of each row within its data set, as integers, shape [n]."""
    dataset: NDArray[np.intp]
    values: dict[str, Values]
    """Figure -> its value in each row, shape [n]; NaN in rows that are not of its denominator."""

    @classmethod
    def of(cls, frame: pd.DataFrame, figures: Sequence[Figure] = ()) -> Rows:
        """The rows of `frame`, with the values of `figures` (all of level 1 where none are given)."""
        datasets = np.unique(frame["dataset"].astype(str), return_inverse=True)[1]
        groups = np.unique(frame["group_id"].astype(str), return_inverse=True)[1]
        pairs = np.unique(np.stack([datasets, groups]), axis=1, return_inverse=True)[1].reshape(-1)
        values = {figure.column.name: figure.values(frame) for figure in figures or (*FIGURES, *OUTCOMES)}
        return cls(frame, pairs, datasets, values)


@dataclass(frozen=True)
class Figure:
    """One column of a table."""

    column: Column
    values: Callable[[pd.DataFrame], Values]
    missing: str = "no rows"
    """Why a cell has no figure where no row is of its denominator."""
    note: str = ""
    """What the figure is a share or a mean of."""
    kind: Literal["rate", "mean"] = "rate"

    def cell(self, rows: Rows, places: NDArray[np.intp]) -> Cell:
        """The figure over some rows, with its interval and the number of rows of its denominator."""
        values, groups = self.counted(rows, places)
        if not len(values):
            return Missing(self.missing)
        return metrics.rate(values, groups) if self.kind == "rate" else metrics.mean(values, groups)

    def counted(self, rows: Rows, places: NDArray[np.intp]) -> tuple[Values, NDArray[np.intp]]:
        """Values and groups of those rows that are of the denominator."""
        values = rows.values[self.column.name][places]
        there = ~np.isnan(values)
        return values[there], rows.group[places][there]


def numbers(frame: pd.DataFrame, name: str) -> Values:
    """A column of numbers or booleans as numbers; missing values are NaN."""
    return np.array([np.nan if value is None else value for value in frame[name]], dtype=np.float64)


def _column(name: str) -> Callable[[pd.DataFrame], Values]:
    return lambda frame: numbers(frame, name)


def _status(status: str) -> Callable[[pd.DataFrame], Values]:
    return lambda frame: np.asarray(frame["status"] == status, dtype=np.float64)


def _within(name: str, kept: Callable[[pd.DataFrame], NDArray[np.bool_]]) -> Callable[[pd.DataFrame], Values]:
    return lambda frame: np.where(kept(frame), numbers(frame, name), np.nan)


def _asked(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Rows whose answer was compared, with or without a result."""
    return ~np.isnan(numbers(frame, "correct")) | (numbers(frame, "undecided") == 1)


def _off(frame: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray(frame["thinking"] == Thinking.disabled.value)


def _not_on(frame: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray((frame["thinking"] != Thinking.enabled.value) & (frame["mode"] != THINKING_MODE))


def _counts_reasoning(frame: pd.DataFrame) -> Values:
    return (~np.isnan(numbers(frame, "reasoning_tokens"))).astype(np.float64)


_ALL = "Rates are shares of all n responses, those without an answer included, where no other denominator is named."
_ACCURACY = (
    "Accuracy: of the responses whose right answer is known and was compared; no answer is wrong. Permissive: the last "
    "thing that could pass for an answer counts as one. Undecided: of the compared ones, those that came to no result, "
    "which are in neither accuracy."
)
_ETR = (
    "ETR, all of all n responses: strict has an answer and nothing before or after it; prefix nothing before it in any "
    'channel (as the study\'s scorer counts); lead-in as prefix, with "The answer is" and its like as nothing; all is '
    "prefix; content looks at the visible text before the answer only."
)
_WORDS = "Words and tokens: means over all n responses, an empty trace being 0; visible: without reasoning channels."
_OUTCOME = (
    "Answer, unparsed, cut without answer, empty, refused and filtered sum to 100 % of n; cut: the limit on tokens "
    "ended the response, with or without an answer."
)
_LEAK = (
    "Leak: of the responses with thinking asked off, those with reasoning text, counted reasoning tokens or encrypted "
    "reasoning. It shows only where a server sends or counts reasoning: see counted, the share of n with a count. "
    "Hidden: of n, reasoning was counted or encrypted and none of its text came. Swap: of the responses not asked to "
    "think, those with all text in the reasoning channel."
)
_NOT_COMPARED = "no response has a right answer that is known and compared"
_NO_TOKENS = "no tokenizer was given to count tokens"
_NOT_OFF = "thinking was not asked to be off"

FIGURES = (
    Figure(Column("accuracy", "accuracy %", "percent"), _column("correct"), _NOT_COMPARED, _ACCURACY),
    Figure(
        Column("accuracy_permissive", "permissive %", "percent"),
        _column("correct_permissive"),
        _NOT_COMPARED,
        _ACCURACY,
    ),
    Figure(Column("undecided", "undecided %", "percent"), _within("undecided", _asked), _NOT_COMPARED, _ACCURACY),
    *(
        Figure(Column(f"etr_{name}", f"ETR {heading} %", "percent"), _column(f"etr_{name}"), note=_ETR)
        for name, heading in (
            ("strict", "strict"),
            ("prefix", "prefix"),
            ("leadin", "lead-in"),
            ("content", "content"),
        )
    ),
    Figure(Column("visible_words", "visible words", "count"), _column("visible_words"), note=_WORDS, kind="mean"),
    Figure(Column("trace_words", "trace words", "count"), _column("trace_words"), note=_WORDS, kind="mean"),
    Figure(Column("trace_tokens", "trace tokens", "count"), _column("trace_tokens"), _NO_TOKENS, _WORDS, kind="mean"),
)
"""Of the tables of level 1."""
OUTCOMES = (
    Figure(Column("ok", "answer %", "percent"), _status("ok"), note=_ALL),
    *(
        Figure(Column(status, f"{heading} %", "percent"), _status(status), note=_OUTCOME)
        for status, heading in (
            ("unparsed", "unparsed"),
            ("truncated", "cut without answer"),
            ("empty", "empty"),
            ("refused", "refused"),
            ("content_filtered", "filtered"),
        )
    ),
    Figure(Column("cut", "cut %", "percent"), _column("truncated"), note=_OUTCOME),
    Figure(Column("control_leak", "leak %", "percent"), _within("control_leak", _off), _NOT_OFF, _LEAK),
    Figure(Column("counted", "counted %", "percent"), _counts_reasoning, note=_LEAK),
    Figure(Column("hidden_reasoning", "hidden %", "percent"), _column("hidden_reasoning"), note=_LEAK),
    Figure(
        Column("channel_swap", "swap %", "percent"),
        _within("channel_swap", _not_on),
        "all responses were asked to think",
        _LEAK,
    ),
)
"""Of the table of outcomes."""
