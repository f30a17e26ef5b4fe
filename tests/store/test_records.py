"""Records to Parquet and back without loss, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.store.examples import record, run_records
from thinkgap.errors import StoreError
from thinkgap.store import atomic
from thinkgap.store.records import (
    KEY,
    SCHEMA,
    RecordFacts,
    facts_of,
    read_records,
    read_run,
    to_records,
    to_table,
    with_facts,
)
from thinkgap.types import Record


def test_columns_are_the_fields_of_record():
    assert [field.name for field in dataclasses.fields(Record)] == SCHEMA.names
    assert record().key == tuple(getattr(record(), name) for name in KEY)


def test_round_trip_is_exact(tmp_path: Path):
    records = run_records()
    records[0] = dataclasses.replace(
        records[0],
        label_logprobs=(-math.inf, 0.1 + 0.2),  # 0.30000000000000004: lost by float32
        label_mass=5e-324,
        top_token="\n\u0120\ufffd",
        subject="",
    )
    atomic.write_parquet(tmp_path / "records.parquet", to_table(records))
    again = read_records(tmp_path)
    assert again == records
    assert type(again[0].label_token_ids[0]) is tuple
    assert type(again[0].correct) is bool


def test_no_records_round_trip():
    assert to_records(to_table([])) == []


def test_nan_survives():
    again = to_records(to_table([record(label_mass=math.nan)]))
    assert math.isnan(again[0].label_mass)


def test_equal_tables_give_equal_bytes():
    assert atomic.parquet_bytes(to_table(run_records())) == atomic.parquet_bytes(to_table(run_records()))


def test_facts_travel_inside_the_file(tmp_path: Path):
    facts = RecordFacts(("direct", "think"), "m on d", "direct", {"too long": 3})
    atomic.write_parquet(tmp_path / "records.parquet", with_facts(to_table(run_records()), facts))
    assert facts_of(read_run(tmp_path)) == facts
    assert facts_of(to_table([])) == RecordFacts()


def test_values_that_do_not_fit_name_their_column():
    with pytest.raises(StoreError, match="'gold_slot'"):
        to_table([dataclasses.replace(record(), gold_slot=None)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreError, match="'label_mass'"):
        to_table([dataclasses.replace(record(), label_mass="much")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreError, match="'n_tokens'"):
        to_table([dataclasses.replace(record(), n_tokens=2**40)])


def test_folders_without_records_are_explained(tmp_path: Path):
    with pytest.raises(StoreError, match="is no folder"):
        read_records(tmp_path / "absent")
    with pytest.raises(StoreError, match="holds no records"):
        read_records(tmp_path)
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "part-r000-000000.parquet").touch()
    with pytest.raises(StoreError, match="unfinished run"):
        read_records(tmp_path)
    (tmp_path / "records.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(StoreError, match="is damaged"):
        read_records(tmp_path)


def test_a_flipped_byte_is_noticed(tmp_path: Path):
    file = tmp_path / "records.parquet"
    atomic.write_parquet(file, to_table(run_records(300)))
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 0xFF
    file.write_bytes(bytes(data))
    with pytest.raises(StoreError, match="is damaged"):
        read_records(tmp_path)


def test_other_versions_are_refused(tmp_path: Path):
    table = to_table([record()])
    pq.write_table(table.drop_columns("tied"), tmp_path / "records.parquet")
    with pytest.raises(StoreError, match="no column tied"):
        read_records(tmp_path)
    pq.write_table(table.append_column("more", pa.array([1])), tmp_path / "records.parquet")
    assert read_records(tmp_path) == [record()]


def test_every_column_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "records.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)[: len(SCHEMA)] == SCHEMA.names
