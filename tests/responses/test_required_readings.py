"""The required readings of the method, read from where they are and never copied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from thinkgap.nothinking.equality import MathEquality
from thinkgap.responses.cases import parse_case, run_case

FILE = Path(os.environ.get("THINKGAP_SHARED", ROOT.parent / "shared")) / "cases" / "extraction.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.is_file() else []


@pytest.fixture(scope="module")
def equality() -> Iterator[MathEquality]:
    with MathEquality() as found:
        yield found


def test_the_cases_are_here() -> None:
    if not CASES:
        pytest.skip(f"the required readings are not here: {FILE} (set THINKGAP_SHARED to the folder that holds cases/)")
    assert len(CASES) >= 52
    assert sum("equal" in case["expect"] for case in CASES) >= 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reply_is_read_as_required(case: dict[str, Any], equality: MathEquality) -> None:
    assert run_case(parse_case(case), lambda answer, gold: equality(gold, answer) is True) == []
