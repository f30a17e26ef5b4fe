"""The side table of option likelihoods: exact, sorted, whole or refused."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_parquet
from thinkgap.store.likelihoods import LIKELIHOODS_FILE, OptionScores, read_likelihoods, write_likelihoods

ROWS = [
    OptionScores("b", "identity", "let", (-0.1 - 0.2, -math.inf), (-1.0, -2.0), (1, 2), (3, 4)),
    OptionScores("a", "identity", "direct", (-1.5, -2.5, -3.5), (-1.0, -2.0, -5e-324), (1, 2, 3), (3, 4, 5)),
    OptionScores("b", "identity", "direct", (-1.5,), (math.nan,), (1,), (3,)),
]


def test_round_trip_is_exact_and_sorted(tmp_path: Path) -> None:
    path = write_likelihoods(tmp_path, ROWS)
    assert path.name == LIKELIHOODS_FILE
    again = read_likelihoods(tmp_path)
    assert repr(again) == repr([ROWS[1], ROWS[2], ROWS[0]])
    first = path.read_bytes()
    write_likelihoods(tmp_path, ROWS[::-1])
    assert path.read_bytes() == first
    assert not list(tmp_path.glob(".*")), "no temporary file is left"


def test_a_missing_file_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="run with evaluation.likelihood.enabled=true"):
        read_likelihoods(tmp_path)


def test_damage_and_foreign_columns_are_refused(tmp_path: Path) -> None:
    path = write_likelihoods(tmp_path, ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="is damaged"):
        read_likelihoods(tmp_path)
    write_parquet(path, pa.table({"item_id": ["a"]}))
    with pytest.raises(StoreError, match="has the columns item_id, which another version"):
        read_likelihoods(tmp_path)
