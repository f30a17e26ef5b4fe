"""Readings as columns: every value there and back, and which prompts share a key."""

from __future__ import annotations

import dataclasses
import math
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.items import mcq, shown
from tests.store.cell_examples import open_prompt, prompt, reading
from thinkgap.errors import StoreError
from thinkgap.store.atomic import parquet_bytes
from thinkgap.store.cell_rows import READING, SCHEMA, cell_key, to_lenses, to_readings, to_table
from thinkgap.types import Reading

FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
IDS = st.integers(0, 2**31 - 1)
READINGS = st.builds(
    Reading,
    label_logprobs=st.lists(FLOATS, max_size=3).map(tuple),
    label_mass=FLOATS,
    top_token_id=IDS,
    top_logprob=FLOATS,
    entropy=FLOATS,
    gold_rank=st.none() | IDS,
    reasoning_mass=st.none() | FLOATS,
    reasoning_mass_strict=st.none() | FLOATS,
    top_tokens=st.lists(st.tuples(IDS, FLOATS), max_size=3).map(tuple),
)


def test_columns_are_the_fields_of_reading():
    assert [field.name for field in dataclasses.fields(Reading)] == list(READING)


def test_every_column_is_documented():
    text = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    documented = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", text, flags=re.MULTILINE)))
    assert [name for name in SCHEMA.names if name not in documented] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(READINGS, st.lists(READINGS, max_size=2).map(tuple)), min_size=1, max_size=3))
def test_any_reading_comes_back(cells: list[tuple[Reading, tuple[Reading, ...]]]):
    readings, lenses = zip(*cells, strict=True)
    table = to_table(["k"] * len(cells), [prompt()] * len(cells), readings, lenses)
    table = pq.read_table(pa.BufferReader(parquet_bytes(table)))
    # repr and not ==: NaN equals itself, 0.0 is not -0.0, and 1 is not 1.0.
    assert repr(to_readings(table)) == repr(list(readings))
    assert repr(to_lenses(table)) == repr(list(lenses))


def test_missing_is_not_nan():
    odd = dataclasses.replace(reading(), entropy=math.nan, gold_rank=None, reasoning_mass=None)
    (again,) = to_readings(to_table(["k"], [prompt()], [odd], [()]))
    assert math.isnan(again.entropy)
    assert (again.gold_rank, again.reasoning_mass, again.reasoning_mass_strict) == (None, None, 0.0)


def test_values_that_do_not_fit_name_their_column():
    with pytest.raises(StoreError, match="'top_token_id'"):
        to_table(["k"], [prompt()], [dataclasses.replace(reading(), top_token_id=2**40)], [()])
    with pytest.raises(StoreError, match="'label_mass'"):
        to_table(["k"], [prompt()], [dataclasses.replace(reading(), label_mass="much")], [()])  # pyright: ignore[reportArgumentType]


def test_keys_tell_what_a_reading_depends_on():
    base = prompt()
    same = dataclasses.replace(
        base,
        text="other",
        condition=dataclasses.replace(base.condition, name="other"),
        presentation=shown(mcq("other", subject="s")),
    )
    assert cell_key(same) == cell_key(base)
    others = [
        dataclasses.replace(base, sha256="0" * 64),
        dataclasses.replace(base, label_ids=((32,), (362, 33), (34,))),
        dataclasses.replace(base, label_ids=((33,), (32, 362), (34,))),
        dataclasses.replace(base, presentation=shown(mcq(gold=0))),
        dataclasses.replace(base, presentation=shown(mcq(), order=(0, 2, 1))),
        open_prompt(),
        dataclasses.replace(open_prompt(), sha256=base.sha256),
    ]
    assert len({cell_key(each) for each in [base, *others]}) == len(others) + 1
    assert re.fullmatch("[0-9a-f]{64}", cell_key(base))


def test_the_gold_slot_counts_and_not_the_gold_content():
    base = prompt()
    moved = dataclasses.replace(base, presentation=shown(mcq(gold=0), order=(1, 0, 2)))
    assert cell_key(moved) == cell_key(base)


def test_prompts_without_a_digest_have_no_key():
    with pytest.raises(ValueError, match="item q1, condition direct has no sha256"):
        cell_key(dataclasses.replace(prompt(), sha256=""))
