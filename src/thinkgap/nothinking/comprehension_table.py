"""The sheet of the comprehension check: what a model said of each mode's instructions, beside the mode's ETR.

Replies are shown and not graded. Only a closed question is read, by the rules that read yes/no answers everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap.nothinking.comprehension import Exchange
from thinkgap.nothinking.figures import FIGURES, Rows
from thinkgap.nothinking.reading import read
from thinkgap.prompts.wordings import WORDINGS
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, by_condition
from thinkgap.types import Answered, Question

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 120
"""Characters of a reply that are shown."""
_ETR = next(figure for figure in FIGURES if figure.column.name == "etr_strict")
_OPEN = Missing("the wording asks for no yes or no")
_UNSAID = Missing('the instructions do not say it: the line for open answers alone has no "only"')
_INVISIBLE = Missing("no visible text came; comprehension.parquet has the other channels")


def comprehension_sheet(exchanges: Sequence[Exchange], frame: pd.DataFrame, modes: Sequence[str] = ()) -> Sheet:
    """`nothinking_comprehension`: a row for each question that was answered.

    Args:
        exchanges: what was asked and what came back.
        frame: rows of the run's `responses.parquet`.
        modes: order of the modes.
    """
    order = by_condition(modes, list(dict.fromkeys(one.question.mode for one in exchanges)))
    # A folder of another version may hold wordings that are no longer asked.
    wordings = by_condition(list(WORDINGS), list(dict.fromkeys(one.question.wording for one in exchanges)))
    ordered = sorted(
        exchanges,
        key=lambda one: (
            one.model,
            order.index(one.question.mode),
            one.question.space,
            wordings.index(one.question.wording),
        ),
    )
    rows = Rows.of(frame)
    return Sheet(
        "nothinking_comprehension",
        "What the model says that its instructions permit",
        (
            Column("model", "model", "text"),
            Column("mode", "mode", "text"),
            Column("space", "answer space", "text"),
            Column("wording", "wording", "text"),
            _ETR.column,
            Column("says", "says", "text"),
            Column("reading", "reading", "text"),
            Column("reply", "reply", "text"),
        ),
        tuple(_row(one, rows) for one in ordered),
        (
            "ETR strict: of all responses of this run to items of the same mode and answer space.",
            *(f"{name}: {wording.question}" for name, wording in WORDINGS.items()),
            "Reading: whether a yes or no is what instructions that ask for an answer only imply; a reply that holds "
            "more than the word asked for may be unparsed. One greedy reply to each question: no rate of anything.",
            f"Replies are cut at {_SHOWN} characters; comprehension.parquet has questions and replies whole.",
        ),
    )


def _row(one: Exchange, rows: Rows) -> tuple[Cell, ...]:
    asked, frame = one.question, rows.frame
    places = np.flatnonzero(
        (frame["model"] == one.model) & (frame["mode"] == asked.mode) & (frame["space"] == asked.space)
    )
    return (one.model, asked.mode, asked.space, asked.wording, _ETR.cell(rows, places), *_said(one), _reply(one))


def _said(one: Exchange) -> tuple[Cell, Cell]:
    """Yes or no, and whether that was to be expected; of a reply without either why there is none."""
    asked = one.question
    if not asked.closed:
        return _OPEN, _OPEN
    question = Question(asked.id, asked.id, "", "bool", asked.text, asked.expected)
    # No mode's name: a forced prefix or the like belongs to items.
    reading = read(Answered(question, "", asked.thinking, one.response))
    if reading.answer is None:
        return Missing("no yes or no could be read"), reading.status
    if not asked.expected:
        return reading.answer, _UNSAID
    return reading.answer, "expected" if reading.correct else "unexpected"


def _reply(one: Exchange) -> Cell:
    text = " ".join(one.response.content.split())
    if not text:
        return _INVISIBLE
    return text if len(text) <= _SHOWN else text[:_SHOWN].rstrip() + " ..."
