"""Traces of real model output with labels by the rubric, which ship with the project to measure judges on.

How they were made and labelled, and what that is worth, is in `docs/labelling_note.md`. It knows no judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from thinkgap.errors import DataError, nearest
from thinkgap.types import Pair, TraceLabel

Split = Literal["dev", "held_out"]
"""The rules were changed by their errors on `dev`, and by none on `held_out`; no problem is in both."""

LABELS: tuple[TraceLabel, ...] = get_args(TraceLabel)
SPLITS: tuple[Split, ...] = get_args(Split)
FILE = "examples/traces.jsonl"


@dataclass(frozen=True)
class Source:
    """Where a trace comes from; a judge never sees it."""

    model: str
    dataset: str
    mode: str


@dataclass(frozen=True)
class LabelledTrace:
    """A trace, what it answers, and its label."""

    id: str
    split: Split
    problem: str
    trace: str
    label: TraceLabel
    """After both passes were compared."""
    label_first: TraceLabel
    label_second: TraceLabel
    """Of a second pass of the same labeller, in another order."""
    source: Source
    note: str
    """Why, where it was a hard case or the passes differ; empty for most."""

    @property
    def pair(self) -> Pair:
        """What a judge sees."""
        return Pair(self.problem, self.trace)


@cache
def labelled_traces() -> tuple[LabelledTrace, ...]:
    """All labelled traces, in the order of their file.

    Raises:
        DataError: the packaged file is missing or damaged.
    """
    place = files("thinkgap.judging").joinpath(FILE)
    try:
        lines = place.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"the packaged file {FILE} cannot be read ({error}): install thinkgap again") from None
    return tuple(_parse(line, number) for number, line in enumerate(lines, 1))


def of_split(split: Split) -> tuple[LabelledTrace, ...]:
    """The labelled traces of one half."""
    return tuple(one for one in labelled_traces() if one.split == split)


def _parse(line: str, number: int) -> LabelledTrace:
    where = f"{FILE}, line {number}"
    try:
        row: Any = json.loads(line)
        return LabelledTrace(
            id=row["id"],
            split=_one_of(row, "split", SPLITS),
            problem=row["problem"],
            trace=row["trace"],
            label=_one_of(row, "label", LABELS),
            label_first=_one_of(row, "label_first", LABELS),
            label_second=_one_of(row, "label_second", LABELS),
            source=Source(**row["source"]),
            note=row["note"],
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{where}: no labelled trace ({error!r}); install thinkgap again") from None
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _one_of(row: Mapping[str, Any], key: str, known: Sequence[Any]) -> Any:
    if row[key] not in known:
        raise DataError(f"{key} {row[key]!r} is unknown{nearest(str(row[key]), known)}")
    return row[key]
