"""Joins what people said with judges and encoders by the key of the sample, and has the tables of agreement made.

Knows files of runs and which rows belong together; what agreement is, is `nothinking.people`'s.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from analysis.annotation.sample import Key, trace_digest
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import EMPTY, read_judgements, read_relevance
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet


@dataclass(frozen=True)
class Joined:
    """People, judges and encoders on the same texts. Every frame also has dataset, model, mode and space."""

    annotations: pd.DataFrame
    """item, annotator, label, relevance, note, seconds."""
    judged: pd.DataFrame
    """item, judge, label, status, of responses of the sample only; empty texts have the label `empty`."""
    relevance: pd.DataFrame
    """item, encoder, cosine, empty, of responses of the sample only; empty texts have 0."""
    notes: tuple[str, ...]


def join(annotations: pd.DataFrame, key: Key, runs: Sequence[str | Path]) -> Joined:
    """Everything by opaque id.

    Args:
        annotations: rows of `read.Annotations`.
        key: of the sample.
        runs: folders of runs whose judgements and relevance are wanted.

    Raises:
        StoreError: a run without readable responses, or a damaged file of one.
    """
    notes: list[str] = []
    own = [(Path(run), _of_run(Path(run), key, notes)) for run in runs]
    judged = [_joined(read_judgements(run), ("judge", "label", "status"), rows) for run, rows in own]
    relevance = [_joined(read_relevance(run), ("encoder", "cosine", "empty"), rows) for run, rows in own]
    return Joined(
        _with_cells(annotations, key),
        _with_cells(_united(judged, ("item", "judge", "label", "status"), key, notes), key),
        _with_cells(_united(relevance, ("item", "encoder", "cosine", "empty"), key, notes), key),
        tuple(notes),
    )


def agreement_sheets(joined: Joined, key: Key) -> list[Sheet]:
    """How much each annotator did, then the study's tables of agreement."""
    # Merge: `thinkgap.nothinking.people` is written elsewhere; drop the comment for pyright when it is here.
    from thinkgap.nothinking.people import people_sheets  # pyright: ignore[reportMissingImports]

    return [
        coverage_sheet(joined.annotations, key),
        *people_sheets(joined.annotations, joined.judged, joined.relevance),
    ]


def coverage_sheet(annotations: pd.DataFrame, key: Key) -> Sheet:
    """How many of the texts that are not empty each annotator labelled, and the median time for one."""
    columns = (
        Column("annotator", "annotator", "text"),
        Column("labelled", "labelled", "count"),
        Column("rated", "relevance given", "count"),
        Column("to_label", "of", "count"),
        Column("seconds", "median seconds", "number"),
    )
    n_empty = sum(key.rows["empty"])
    wanted = len(key.rows) - n_empty
    rows: list[tuple[Cell, ...]] = []
    partial = False
    for annotator, said in annotations.loc[annotations["label"] != EMPTY].groupby("annotator", sort=False):
        labelled, rated = (len(said.dropna(subset=[name])) for name in ("label", "relevance"))
        partial = partial or min(labelled, rated) < wanted
        times = [float(one) for one in said.dropna(subset=["seconds"])["seconds"]]
        median: Cell = statistics.median(times) if times else Missing("the file has no times")
        rows.append((str(annotator), labelled, rated, wanted, median))
    notes = [f"{n_empty} further texts are empty: label {EMPTY} and relevance 1 by definition, for every annotator."]
    if partial:
        notes.append("Not all annotators did all texts: their figures over all outputs hold too many empty ones.")
    return Sheet("annotators", "What was labelled", columns, tuple(rows), tuple(notes))


def _of_run(run: Path, key: Key, notes: list[str]) -> pd.DataFrame:
    """The responses of the sample that are this run's: key columns and id."""
    responses = read_responses(run / RESPONSES_FILE).select([*KEY, "trace"]).to_pandas()
    rows = key.rows.merge(responses, on=list(KEY), how="inner", validate="one_to_one")
    if rows.empty:
        notes.append(f"{run} holds no response of the sample")
    same = [trace_digest(trace) == known for trace, known in zip(rows["trace"], rows["trace_sha256"], strict=True)]
    if other := len(rows) - sum(same):
        notes.append(f"{other} responses of {run} have another trace than the one that was labelled: they are left out")
    return rows.loc[same, [*KEY, "id"]]


def _joined(table: pa.Table, columns: tuple[str, ...], rows: pd.DataFrame) -> pd.DataFrame:
    frame = table.select([*KEY, *columns]).to_pandas().merge(rows, on=list(KEY), how="inner")
    return frame.rename(columns={"id": "item"}).loc[:, ["item", *columns]]


def _united(frames: Sequence[pd.DataFrame], columns: tuple[str, ...], key: Key, notes: list[str]) -> pd.DataFrame:
    """The rows of all runs, each text and judge (or encoder) once."""
    name = columns[1]
    found = pd.concat([pd.DataFrame(columns=list(columns), dtype=object), *frames], ignore_index=True)
    twice = found.duplicated(["item", name])
    if any(twice):
        notes.append(f"{sum(twice)} rows of a {name} are in two runs: those of the run named first count")
        found = found.loc[~twice]
    for one, own in found.groupby(name):
        if len(own) < len(key.rows):
            notes.append(f"the {name} {one} has {len(own):,} of the {len(key.rows):,} texts")
    return found


def _with_cells(frame: pd.DataFrame, key: Key) -> pd.DataFrame:
    cells = key.rows.rename(columns={"id": "item"}).loc[:, ["item", "dataset", "model", "mode", "space"]]
    return frame.merge(cells, on="item", how="left", validate="many_to_one")
