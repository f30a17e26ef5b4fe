"""Joins what people said with judges and encoders by the key of the sample, and has the tables of agreement made.

Knows files of runs and which rows belong together; what agreement is, is `nothinking.people`'s.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.annotation.sample import Key, trace_digest
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import EMPTY, read_judgements, read_relevance
from thinkgap.nothinking.people import people_sheets
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet


@dataclass(frozen=True)
class Joined:
    """People, judges and encoders on the same texts, in the form that `people_sheets` takes."""

    annotations: pd.DataFrame
    """item, annotator, label, relevance, note, seconds, and dataset, model, mode and space of the response."""
    judged: pd.DataFrame
    """item, judge, kind, label, status, dataset, group_id, of all responses of the runs that the sample was drawn from;
    those that are not in the sample have no item, and count for a judge's rate only."""
    relevance: pd.DataFrame
    """item, encoder, cosine, empty, of responses of the sample only."""
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
    own = [(Path(run), rows) for run in runs if (rows := _of_run(Path(run), key, notes)) is not None]
    judged = [_joined(read_judgements(run), ("judge", "kind", "label", "status"), rows) for run, rows in own]
    relevance = [_joined(read_relevance(run), ("encoder", "cosine", "empty"), rows) for run, rows in own]
    labels = _united(judged, ("item", "judge", "kind", "label", "status", "dataset", "group_id"), key, notes)
    if not any(key.rows["empty"]):
        # Drawn without empty traces, the sample says nothing of a judge's errors on a pool that has them.
        labels = labels.loc[labels["label"].isna() | (labels["label"] != EMPTY)]
    cosines = _united(relevance, ("item", "encoder", "cosine", "empty"), key, notes)
    cells = key.rows.rename(columns={"id": "item"}).loc[:, ["item", "dataset", "model", "mode", "space"]]
    return Joined(
        annotations.merge(cells, on="item", how="left", validate="many_to_one"),
        labels,
        cosines.dropna(subset=["item"]),
        tuple(notes),
    )


def agreement_sheets(joined: Joined, key: Key) -> list[Sheet]:
    """How much each annotator did, then the study's tables of agreement."""
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


def _of_run(run: Path, key: Key, notes: list[str]) -> pd.DataFrame | None:
    """All responses of a run: key columns, group and, if they were labelled, opaque id; None if none was drawn."""
    responses = read_responses(run / RESPONSES_FILE).select([*KEY, "group_id", "trace"]).to_pandas()
    rows = responses.merge(key.rows[[*KEY, "id", "trace_sha256"]], on=list(KEY), how="left", validate="one_to_one")
    drawn = rows["id"].notna().to_numpy()
    if not drawn.any():
        notes.append(f"{run} holds no response of the sample, and is left out")
        return None
    same = [trace_digest(trace) == known for trace, known in zip(rows["trace"], rows["trace_sha256"], strict=True)]
    other = drawn & ~np.array(same)
    if n := int(other.sum()):
        notes.append(f"{n} responses of {run} have another trace than the one that was labelled: they are not compared")
    rows["item"] = rows["id"].mask(other)
    return rows[[*KEY, "group_id", "item"]]


def _joined(table: pa.Table, columns: tuple[str, ...], rows: pd.DataFrame) -> pd.DataFrame:
    return table.select([*KEY, *columns]).to_pandas().merge(rows, on=list(KEY), how="inner")


def _united(frames: Sequence[pd.DataFrame], columns: tuple[str, ...], key: Key, notes: list[str]) -> pd.DataFrame:
    """The rows of all runs, each response and judge (or encoder) once."""
    name = columns[1]
    found = pd.concat(
        [pd.DataFrame(columns=list(dict.fromkeys((*KEY, *columns))), dtype=object), *frames], ignore_index=True
    )
    twice = found.duplicated([*KEY, name])
    if any(twice):
        notes.append(f"{sum(twice)} rows by {name} are in two runs: those of the run named first count")
        found = found.loc[~twice]
    for one, own in found.dropna(subset=["item"]).groupby(name):
        if len(own) < len(key.rows):
            notes.append(f"the {name} {one} has {len(own):,} of the {len(key.rows):,} texts")
    return found.loc[:, list(columns)]
