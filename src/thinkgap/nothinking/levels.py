"""Levels 2 and 3 of a run's responses as files beside `responses.parquet`: relevance by encoders, labels by judges.

`relevance.parquet` has a row for each response and encoder, `judgements.parquet` for each response and judge, both with
the key of `responses.parquet`. An empty trace was sent nowhere: its cosine is 0 and its label `empty`, by definition.
Knows no encoder and no judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.store import checked_keys, read_columns
from thinkgap.store.atomic import write_parquet
from thinkgap.types import Judgement, JudgeStatus, Pair, Relevance, TraceLabel

RELEVANCE_FILE = "relevance.parquet"
JUDGEMENTS_FILE = "judgements.parquet"
EMPTY = "empty"
"""Label of an empty trace."""
EXPLICIT: TraceLabel = "explicit_reasoning"
TRACE_LABELS: tuple[TraceLabel, ...] = get_args(TraceLabel)

_KEY = [pa.field(name, pa.string(), nullable=False) for name in KEY]
RELEVANCE_SCHEMA = pa.schema(
    [
        *_KEY,
        pa.field("encoder", pa.string(), nullable=False),
        pa.field("empty", pa.bool_(), nullable=False),
        pa.field("cosine", pa.float64(), nullable=False),
        pa.field("problem_tokens", pa.int32()),
        pa.field("trace_tokens", pa.int32()),
        pa.field("truncated", pa.bool_(), nullable=False),
        pa.field("chunk_mean", pa.float64(), nullable=False),
        pa.field("chunk_max", pa.float64(), nullable=False),
    ]
)
JUDGEMENTS_SCHEMA = pa.schema(
    [
        *_KEY,
        pa.field("judge", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("status", pa.string(), nullable=False),
        pa.field("evidence", pa.string(), nullable=False),
        pa.field("verbatim", pa.bool_(), nullable=False),
        pa.field("shortened", pa.bool_(), nullable=False),
        pa.field("asked", pa.int32(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
_NO_RELEVANCE: Mapping[str, Any] = {
    "empty": True,
    "cosine": 0.0,
    "problem_tokens": None,
    "trace_tokens": None,
    "truncated": False,
    "chunk_mean": 0.0,
    "chunk_max": 0.0,
}
_NO_TRACE = asdict(Judgement(None, asked=0)) | {"label": EMPTY}


def pairs_of(rows: Sequence[Analysed]) -> list[Pair]:
    """What encoders and judges get of some responses: each distinct pair of problem and trace once, no empty trace."""
    return list(dict.fromkeys(pair for row in rows if (pair := _pair(row)) is not None))


def relevance_table(rows: Sequence[Analysed], found: Mapping[str, Mapping[Pair, Relevance]]) -> pa.Table:
    """Rows of `relevance.parquet`.

    Args:
        rows: the responses.
        found: encoder -> relevance of every pair of `pairs_of(rows)`.
    """
    dicts = [
        {**_named(row), "encoder": encoder}
        | ({**_NO_RELEVANCE} if (pair := _pair(row)) is None else {"empty": False, **asdict(one[pair])})
        for encoder, one in found.items()
        for row in rows
    ]
    return _sorted(dicts, RELEVANCE_SCHEMA, "encoder")


def judgements_table(
    rows: Sequence[Analysed], found: Mapping[str, Mapping[Pair, Judgement]], kinds: Mapping[str, str]
) -> pa.Table:
    """Rows of `judgements.parquet`.

    Args:
        rows: the responses.
        found: judge -> what it said of every pair of `pairs_of(rows)`.
        kinds: judge -> `rules`, `served` or `local`.
    """
    dicts = [
        {**_named(row), "judge": judge, "kind": kinds[judge]}
        | (_NO_TRACE if (pair := _pair(row)) is None else asdict(one[pair]))
        for judge, one in found.items()
        for row in rows
    ]
    return _sorted(dicts, JUDGEMENTS_SCHEMA, "judge")


def write_levels(folder: Path, relevance: pa.Table, judgements: pa.Table) -> None:
    """Write both files of a run's folder, each replaced whole; one without rows is not written.

    Raises:
        StoreError: the disk is full or cannot be written.
    """
    for name, table in ((RELEVANCE_FILE, relevance), (JUDGEMENTS_FILE, judgements)):
        if table.num_rows:
            write_parquet(folder / name, table)
        else:
            (folder / name).unlink(missing_ok=True)


def read_relevance(folder: Path) -> pa.Table:
    """`relevance.parquet` of a run's folder; without rows if the run measured none.

    Raises:
        StoreError: a file that is damaged, or does not hold what `write_levels` writes.
    """
    return _read(folder / RELEVANCE_FILE, RELEVANCE_SCHEMA, "encoder")


def read_judgements(folder: Path) -> pa.Table:
    """`judgements.parquet` of a run's folder; without rows if nothing was judged.

    Raises:
        StoreError: a file that is damaged, or does not hold what `write_levels` writes.
    """
    path = folder / JUDGEMENTS_FILE
    table = _read(path, JUDGEMENTS_SCHEMA, "judge")
    for name, allowed in (("label", {*TRACE_LABELS, EMPTY, None}), ("status", set(get_args(JudgeStatus)))):
        if unknown := set(table.column(name).unique().to_pylist()) - allowed:
            raise StoreError(f"{path}: column {name!r} holds {sorted(map(str, unknown))}, which it cannot")
    for label, status in zip(table.column("label").to_pylist(), table.column("status").to_pylist(), strict=True):
        if (status == "ok") != (label is not None):
            raise StoreError(f"{path}: a row has status {status!r} and label {label!r}, which contradict")
    return table


def _read(path: Path, schema: pa.Schema, by: str) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    table = read_columns(path, schema)
    checked_keys(path, table, (*KEY, by))
    return table


def _pair(row: Analysed) -> Pair | None:
    trace = row.reading.trace
    return Pair(row.answered.question.problem, trace) if trace.strip() else None


def _named(row: Analysed) -> dict[str, str]:
    return dict(zip(KEY, row.key, strict=True))


def _sorted(dicts: list[dict[str, Any]], schema: pa.Schema, by: str) -> pa.Table:
    dicts.sort(key=lambda one: tuple(one[name] for name in (*KEY, by)))
    return pa.Table.from_pylist(dicts, schema=schema)
