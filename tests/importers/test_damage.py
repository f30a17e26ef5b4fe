"""Damaged and odd files: whatever is in a file, it is read or refused with a reason, and good rows stay."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkgap.errors import ThinkgapError
from thinkgap.importers import FORMATS, load_responses
from thinkgap.importers.found import OPTIONAL, REQUIRED
from thinkgap.responses.answered import read_answered

NAMES = ("samples_own_open_*", "samples_own_choice_*", "own_open.eval", "own_choices.eval", "model_own.tsv")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


KEYS = [*REQUIRED, *OPTIONAL]


def read(file: Path, format: Any = "auto") -> int:
    """How many rows are read, none of a file that is refused; the refusal has to name it."""
    found, refusal = None, ""
    try:
        found = load_responses(file, format)
    except ThinkgapError as error:
        refusal = str(error)
    if found is None:
        assert str(file) in refusal
        return 0
    for one in found.answered:
        read_answered(one)
    return len(found.answered)


@pytest.mark.parametrize("name", NAMES)
def test_cut_and_changed_bytes(files: Path, tmp_path: Path, name: str) -> None:
    (source,) = files.glob(name)
    data, file, draw = source.read_bytes(), tmp_path / "f", random.Random(0)
    file.write_bytes(data)
    assert read(file) > 0
    for _ in range(40):
        changed = bytearray(data)
        for _ in range(draw.randint(1, 5)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        file.write_bytes(changed)
        read(file)
        file.write_bytes(data[: draw.randrange(len(data))])
        read(file)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60))
def test_any_bytes(tmp_path: Path, format: str, data: bytes) -> None:
    file = tmp_path / "f"
    file.write_bytes(data)
    read(file, format)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(KEYS), value=JSON)
def test_any_value_of_our_schema(lines: Callable[..., Path], key: str, value: object) -> None:
    good = {"id": "good", "question": "1 + 1?", "gold": "2", "space": "open", "response": "2"}
    odd = {"id": "odd", "question": "Which?", "gold": "A", "space": "mcq", "options": ["r", "b"], "response": "A"}
    file = lines([good, odd | {key: value}])
    found = load_responses(file)
    assert found.answered[0].question.item_id == "good"
    assert len(found.answered) + len(found.bad) == 2


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(["doc_id", "doc", "target", "arguments", "resps", "filter"]), value=JSON)
def test_any_value_of_a_sample(files: Path, lines: Callable[..., Path], key: str, value: object) -> None:
    (source,) = files.glob("samples_own_choice_*")
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    found = load_responses(lines([rows[0], rows[1] | {key: value}]))
    assert found.answered[0].question.answer == "A"
