"""Draws the sample that people label: in proportion to the cells of a pool of responses, shuffled, under opaque ids.

Knows responses and the files of a sample, not the page and not what comes back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from thinkgap.errors import ConfigError, DataError, StoreError, nearest
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.store.atomic import write_parquet

KEY_FILE = "key.parquet"
BY = ("model", "mode", "space")
"""Columns whose combinations are the cells, unless others are asked for."""
CAN_BE_CELLS = (*BY, "dataset", "subject", "area")

_KEY_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("id", *KEY, "space", "trace_sha256")),
        pa.field("empty", pa.bool_(), nullable=False),
    ]
)
_DIGEST = b"sample"


@dataclass(frozen=True)
class Sample:
    """What was drawn, in the order in which it is shown."""

    rows: pd.DataFrame
    """Columns id, dataset, item_id, mode, model, space, trace_sha256, empty, problem, trace."""
    digest: str
    """Of all the rows; annotators' files carry it, so that a file of another sample is recognised."""
    notes: tuple[str, ...] = ()
    """What is not as it was asked for."""


@dataclass(frozen=True)
class Key:
    """Which response stands behind each opaque id."""

    rows: pd.DataFrame
    """Columns id, dataset, item_id, mode, model, space, trace_sha256, empty, in the order of the sample."""
    digest: str


def read_pool(folders: Sequence[str | Path]) -> pd.DataFrame:
    """The responses of finished no-thinking runs: key, space, subject, area, problem, trace, empty, sorted by key.

    Raises:
        StoreError: a folder without readable responses.
        DataError: two runs hold a response of the same key, or there is no response at all.
    """
    tables = [read_responses(Path(folder) / RESPONSES_FILE) for folder in folders]
    names = [*KEY, "space", "subject", "area", "problem", "trace"]
    pool = pa.concat_tables([table.select(names) for table in tables]).to_pandas()
    pool["empty"] = [not trace.strip() for trace in pool["trace"]]
    twice = pool.duplicated(list(KEY))
    if twice.any():
        key = pool.loc[twice, list(KEY)].iloc[0].to_dict()
        raise DataError(f"{int(twice.sum())} responses are in two of the runs, such as {key}: give each run once")
    if pool.empty:
        raise DataError(f"no responses in {', '.join(map(str, folders))}")
    return pool.sort_values(list(KEY), ignore_index=True)


def apportion(quotas: Sequence[Fraction], order: Sequence[int]) -> list[int]:
    """Whole numbers as close to `quotas` as can be, whose sum is theirs, rounded half up (largest remainders).

    Args:
        quotas: exact shares, none below 0.
        order: which of equal remainders is rounded up first: a permutation of the places. Drawn by chance, it favours
            no cell for its name.
    """
    whole = [int(quota) for quota in quotas]
    total = int(sum(quotas, Fraction(0)) + Fraction(1, 2))
    rank = {place: position for position, place in enumerate(order)}
    by_remainder = sorted(rank, key=lambda place: (whole[place] - quotas[place], rank[place]))
    for place in by_remainder[: total - sum(whole)]:
        whole[place] += 1
    return whole


def draw(
    pool: pd.DataFrame, n: int, seed: int, by: Sequence[str] = BY, *, include_empty: bool = True, source: str = "pool"
) -> Sample:
    """Draws exactly `n` responses without replacement, or all of a smaller pool.

    Each cell gets its share of `n` and, within that, its empty traces their share, both by largest remainders. So a
    cell is less than one response away from its share, and so are its empty traces.

    Args:
        pool: as `read_pool` gives it.
        n: how many.
        seed: of all that is left to chance; the same pool and seed give the same sample.
        by: columns whose combinations are the cells.
        include_empty: whether empty traces are in the pool.
        source: what the pool is called in notes.

    Raises:
        ConfigError: `n` below 1, or a column that cannot define cells.
        DataError: nothing to draw from.
    """
    if n < 1:
        raise ConfigError(f"a sample of {n} responses: ask for 1 or more")
    for name in by:
        if name not in CAN_BE_CELLS:
            raise ConfigError(f"no cells by {name!r}{nearest(name, CAN_BE_CELLS)}")
    if not include_empty:
        pool = pool.loc[~pool["empty"]].reset_index(drop=True)
    if all(pool["empty"]):
        raise DataError(f"all traces of the {source} are empty: there is nothing to label")
    notes = []
    if len(pool) < n:
        notes.append(f"the {source} has {len(pool):,} responses, fewer than the {n:,} asked for: all are in the sample")
    rng = np.random.default_rng(seed)
    places = _draw_places(pool, min(n, len(pool)), list(by), rng)
    rng.shuffle(places)
    if unseen := _n_cells(pool, by) - _n_cells(pool.loc[places], by):
        notes.append(f"{unseen} of {_n_cells(pool, by)} cells are too small for a place in the sample")
    rows = pool.loc[places].reset_index(drop=True)
    width = max(3, len(str(len(rows))))
    # Spreadsheets turn ids such as 007 and 1e5 into numbers; these they leave alone.
    rows["id"] = [f"t{place:0{width}d}" for place in range(1, len(rows) + 1)]
    rows["trace_sha256"] = [trace_digest(trace) for trace in rows["trace"]]
    rows = rows[[*_KEY_SCHEMA.names, "problem", "trace"]]
    if unknown := int((rows["problem"].str.strip() == "").sum()):
        notes.append(f"{unknown} responses have no problem text: nobody can judge their relevance")
    return Sample(rows, _digest(rows), tuple(notes))


def write_key(folder: Path, sample: Sample) -> Path:
    """Writes `key.parquet`, unless another sample's is there.

    Raises:
        StoreError: the folder holds another sample, or cannot be written.
    """
    path = folder / KEY_FILE
    if path.exists() and read_key(folder).digest != sample.digest:
        raise StoreError(f"{folder} holds another sample, which people may be labelling: give another folder")
    table = pa.Table.from_pandas(sample.rows[_KEY_SCHEMA.names], schema=_KEY_SCHEMA, preserve_index=False)
    write_parquet(path, table.replace_schema_metadata({_DIGEST: sample.digest.encode()}))
    return path


def read_key(folder: Path) -> Key:
    """Reads what `write_key` wrote.

    Raises:
        StoreError: no such file, or a damaged one.
    """
    path = folder / KEY_FILE
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist: give the folder in which the sample was made, with its key") from None
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is damaged ({error}); make the sample again with the same runs and seed") from None
    digest = (table.schema.metadata or {}).get(_DIGEST, b"").decode()
    if not digest or table.schema.remove_metadata() != _KEY_SCHEMA:
        raise StoreError(f"{path} is no key of a sample: make the sample again with the same runs and seed")
    return Key(table.to_pandas(), digest)


def trace_digest(trace: str) -> str:
    """SHA-256 of a trace, as the key holds it."""
    return hashlib.sha256(trace.encode("utf-8")).hexdigest()


def _draw_places(pool: pd.DataFrame, n: int, by: list[str], rng: np.random.Generator) -> list[int]:
    cells = [group for _, group in pool.groupby(by, sort=True)]
    sizes = apportion([Fraction(n * len(cell), len(pool)) for cell in cells], rng.permutation(len(cells)).tolist())
    empty = [cell.loc[cell["empty"]].index.to_numpy() for cell in cells]
    shares = [Fraction(size * len(own), len(cell)) for size, own, cell in zip(sizes, empty, cells, strict=True)]
    n_empty = apportion(shares, rng.permutation(len(cells)).tolist())
    found: list[int] = []
    for cell, size, own, silent in zip(cells, sizes, empty, n_empty, strict=True):
        found += rng.choice(own, silent, replace=False).tolist()
        found += rng.choice(cell.index.difference(own).to_numpy(), size - silent, replace=False).tolist()
    return found


def _n_cells(pool: pd.DataFrame, by: Sequence[str]) -> int:
    return len(pool[list(by)].drop_duplicates())


def _digest(rows: pd.DataFrame) -> str:
    text = json.dumps(rows.drop(columns="trace").to_numpy().tolist(), ensure_ascii=True)
    # The letter keeps spreadsheets from reading digests such as 123e45 as numbers.
    return "s" + hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
