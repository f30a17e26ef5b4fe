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
import pyarrow.parquet as pq

from analysis.annotation.read import Annotations
from analysis.annotation.rubric import EMPTY
from analysis.annotation.sample import Key, trace_digest
from thinkgap.errors import StoreError
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

JUDGEMENTS_FILE = "judgements.parquet"
RELEVANCE_FILE = "relevance.parquet"
_JUDGED = ("judge", "label", "status")
_RELEVANCE = ("encoder", "cosine")


@dataclass(frozen=True)
class Joined:
    """People, judges and encoders on the same texts."""

    annotations: pd.DataFrame
    """item, annotator, label, relevance, note, seconds, and model, mode, space, dataset of the response."""
    judged: pd.DataFrame | None
    """item, judge, label, status, and the same four; None without judgements. Empty texts have the label `empty`."""
    relevance: pd.DataFrame | None
    """item, encoder, cosine, empty, and the same four; None without figures. Empty texts have 0."""
    notes: tuple[str, ...]


def join(annotations: Annotations, key: Key, runs: Sequence[str | Path]) -> Joined:
    """Everything by opaque id.

    Raises:
        StoreError: a run without readable responses, or a damaged file of one.
    """
    notes: list[str] = []
    own = [_of_run(Path(run), key, notes) for run in runs]
    judged = _united([_joined(Path(run) / JUDGEMENTS_FILE, _JUDGED, rows) for run, rows in own])
    relevance = _united([_joined(Path(run) / RELEVANCE_FILE, _RELEVANCE, rows) for run, rows in own])
    if judged is not None:
        judged = _with_empty(judged, key, "judge", {"label": EMPTY, "status": "ok"}, notes)
    if relevance is not None:
        relevance = _with_empty(relevance, key, "encoder", {"cosine": 0.0}, notes)
    return Joined(_with_cells(annotations.rows, key), judged, relevance, tuple(notes))


def agreement_sheets(joined: Joined, key: Key) -> list[Sheet]:
    """How much each annotator did, then the study's tables of agreement."""
    # Merge: `thinkgap.nothinking.people` is written elsewhere; drop the comment for pyright when it is here.
    from thinkgap.nothinking.people import people_sheets  # pyright: ignore[reportMissingImports]

    sheets = people_sheets(annotations=joined.annotations, judged=joined.judged, relevance=joined.relevance)
    return [coverage_sheet(joined.annotations, key), *sheets]


def coverage_sheet(annotations: pd.DataFrame, key: Key) -> Sheet:
    """How many of the texts that are not empty each annotator labelled, and the median time for one."""
    columns = (
        Column("annotator", "annotator", "text"),
        Column("labelled", "labelled", "count"),
        Column("rated", "relevance given", "count"),
        Column("to_label", "of", "count"),
        Column("seconds", "median seconds", "number"),
    )
    empty = _empty_ids(key)
    wanted = len(key.rows) - len(empty)
    rows: list[tuple[Cell, ...]] = []
    partial = False
    for annotator, said in annotations.loc[~annotations["item"].isin(empty)].groupby("annotator", sort=False):
        labelled, rated = (len(said.dropna(subset=[name])) for name in ("label", "relevance"))
        times = list(said.dropna(subset=["seconds"])["seconds"])
        median: Cell = statistics.median(times) if times else Missing("the file has no times")
        rows.append((str(annotator), labelled, rated, wanted, median))
        partial = partial or min(labelled, rated) < wanted
    notes = [f"{len(empty)} further texts are empty: label {EMPTY} by definition, for every annotator."]
    if partial:
        notes.append("Not all annotators did all texts: their figures over all outputs hold too many empty ones.")
    return Sheet("annotators", "What was labelled", columns, tuple(rows), tuple(notes))


def _empty_ids(key: Key) -> list[str]:
    return list(key.rows.loc[key.rows["empty"], "id"])


def _of_run(run: Path, key: Key, notes: list[str]) -> tuple[Path, pd.DataFrame]:
    """The rows of the key that this run's judges and encoders have read: key columns and id."""
    responses = read_responses(run / RESPONSES_FILE).select([*KEY, "trace"]).to_pandas()
    rows = key.rows.merge(responses, on=list(KEY), how="inner", validate="one_to_one")
    if rows.empty:
        notes.append(f"{run} holds no response of the sample")
    same = [trace_digest(trace) == known for trace, known in zip(rows["trace"], rows["trace_sha256"], strict=True)]
    if other := len(rows) - sum(same):
        notes.append(f"{other} responses of {run} have another trace than the one that was labelled: they are left out")
    return run, rows.loc[same, [*KEY, "id"]]


def _joined(path: Path, columns: tuple[str, ...], rows: pd.DataFrame) -> pd.DataFrame | None:
    if not path.exists():
        return None
    try:
        frame = pq.read_table(path, columns=[*KEY, *columns], page_checksum_verification=True).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} cannot be read ({error}); make it again with the same command") from None
    if lacking := [name for name in (*KEY, *columns) if name not in frame]:
        raise StoreError(f"{path} has no column {', '.join(lacking)}: it was written by another version of thinkgap")
    return frame.merge(rows, on=list(KEY), how="inner").rename(columns={"id": "item"})[["item", *columns]]


def _united(frames: Sequence[pd.DataFrame | None]) -> pd.DataFrame | None:
    there = [frame for frame in frames if frame is not None]
    return pd.concat(there, ignore_index=True) if there else None


def _with_empty(frame: pd.DataFrame, key: Key, name: str, values: dict[str, object], notes: list[str]) -> pd.DataFrame:
    """Rows of the texts that are not empty as they are, and of each empty one what it has by definition."""
    empty = _empty_ids(key)
    frame = frame.loc[~frame["item"].isin(empty)]
    twice = frame.duplicated(["item", name])
    if twice.any():
        notes.append(f"{int(twice.sum())} rows of a {name} are there twice, as two runs have them: the first counts")
        frame = frame.loc[~twice]
    wanted = len(key.rows) - len(empty)
    parts = []
    for one, own in frame.groupby(name, sort=True):
        if len(own) < wanted:
            notes.append(f"the {name} {one} has {len(own):,} of the {wanted:,} texts that are not empty")
        by_definition = pd.DataFrame({"item": empty, name: one, **{k: [v] * len(empty) for k, v in values.items()}})
        parts.append(pd.concat([own, by_definition], ignore_index=True) if empty else own)
    found = pd.concat(parts, ignore_index=True) if parts else frame
    return _with_cells(found, key)


def _with_cells(frame: pd.DataFrame, key: Key) -> pd.DataFrame:
    cells = key.rows.rename(columns={"id": "item"}).loc[:, ["item", "empty", "dataset", "model", "mode", "space"]]
    return frame.merge(cells, on="item", how="left", validate="many_to_one")
