"""Seconds to load a made-up file of records, beside plain pandas: `python -m benchmarks.load_records [--rows N]`.

Loads no model. The file has the columns, the compression and the checksums of a run's; `--layers` gives it lens
columns, which no plain run has.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import thinkgap
from thinkgap.store.records import RECORDS_FILE, SCHEMA

CONDITIONS = ("direct", "let_me_think", "lets_think", "answer")
K, TOP = 4, 5
_BLOCK = 50_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the file, load it both ways, print seconds and sizes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_records", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="records (default: 1,000,000)")
    parser.add_argument("--layers", type=int, default=0, help="layers of the lens in every record (default: none)")
    parser.add_argument("--folder", type=Path, help="keep the file here (default: a temporary folder)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        file = write_records(folder, options.rows, options.layers)
        print(f"{options.rows:,} records, {file.stat().st_size / 1e6:,.0f} MB on disk")
        for name, seconds, size in measured(folder):
            print(f"{name:<42} {seconds:6.2f} s  {size / 1e6:8,.0f} MB")
    return 0


def measured(folder: Path) -> list[tuple[str, float, int]]:
    """(what, seconds, bytes of its frame) of each way to read the records of `folder`; the last adds the long frame."""
    runs = thinkgap.load(folder)
    ways: dict[str, Callable[[], pd.DataFrame]] = {
        "pandas.read_parquet": lambda: pd.read_parquet(folder / RECORDS_FILE),
        "thinkgap.load(run).records": lambda: thinkgap.load(folder).records,
        "thinkgap.load(run).labels": lambda: runs.labels,
    }
    found = []
    for name, read in ways.items():
        start = time.perf_counter()
        frame = read()
        found.append((name, time.perf_counter() - start, int(frame.memory_usage().sum())))
        del frame
    return found


def write_records(folder: Path, rows: int, layers: int = 0) -> Path:
    """`folder/records.parquet` with so many made-up records, as a finished run has it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RECORDS_FILE
    draw = np.random.default_rng(0)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", write_page_checksum=True) as writer:
        for start in range(0, rows, _BLOCK):
            writer.write_table(_block(draw, np.arange(start, min(start + _BLOCK, rows)), layers))
    return path


def _block(draw: np.random.Generator, number: np.ndarray[Any, Any], layers: int) -> pa.Table:
    n = len(number)
    item, condition = number // len(CONDITIONS), number % len(CONDITIONS)
    gold, pred = draw.integers(0, K, n), draw.integers(0, K, n)
    logprobs = -draw.exponential(3.0, (n, K))
    top_ids, top = draw.integers(0, 50_000, (n, TOP)), -draw.exponential(3.0, (n, TOP))
    words = np.array([f" word{place}" for place in range(2_000)])
    lens = _lists(_lists(-draw.exponential(3.0, n * layers * K), K), layers, n)
    columns: dict[str, Any] = {
        "item_id": [f"made_up/test/{one:08d}" for one in item],
        "presentation": ["identity"] * n,
        "condition": np.array(CONDITIONS)[condition],
        "readout": ["native"] * n,
        "group_id": [f"{one // 2:016x}" for one in item],
        "split": ["test"] * n,
        "subject": np.array([f"subject {place}" for place in range(50)])[item % 50],
        "k": np.full(n, K),
        "order": _lists(np.tile(np.arange(K), n), K),
        "labels": _lists(np.tile(np.array(list("ABCD")), n), K),
        "gold_slot": gold,
        "gold_content": gold,
        "pred_slot": pred,
        "pred_content": pred,
        "correct": gold == pred,
        "tied": np.zeros(n, dtype=bool),
        "label_logprobs": _lists(logprobs.ravel(), K),
        "label_mass": draw.random(n),
        "label_token_ids": _lists(_lists(np.tile(np.arange(32, 32 + K), n), 1), K),
        "top_token_id": top_ids[:, 0],
        "top_token": words[top_ids[:, 0] % len(words)],
        "top_logprob": top[:, 0],
        "entropy": draw.random(n),
        "gold_rank": draw.integers(1, 100, n),
        "reasoning_mass": draw.random(n),
        "reasoning_mass_strict": draw.random(n),
        "top_ids": _lists(top_ids.ravel(), TOP),
        "top_tokens": _lists(words[top_ids.ravel() % len(words)], TOP),
        "top_logprobs": _lists(top.ravel(), TOP),
        "lens_label_logprobs": lens,
        "lens_label_mass": _lists(draw.random(n * layers), layers, n),
        "n_tokens": draw.integers(50, 400, n),
        "n_image_tokens": np.zeros(n, dtype=np.int64),
        "prompt_sha256": [f"{one:064x}" for one in number],
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _lists(values: Any, size: int, n: int | None = None) -> pa.Array:
    """Consecutive values in lists of one size, `n` of them."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    count = len(array) // size if n is None else n
    offsets: Any = pa.array(np.arange(count + 1) * size, pa.int32())
    return pa.ListArray.from_arrays(offsets, array)


if __name__ == "__main__":
    sys.exit(main())
