"""Cases of the extractor: every expectation can fail, and a misspelt one is no case."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import ROOT
from thinkgap.errors import RowError
from thinkgap.responses.cases import FLAGS, parse_case, run_case

BOX = {"id": "box", "space": "mcq", "content": "So \\boxed{C}.", "expect": {"status": "ok", "answer": "C"}}


def expecting(**expect: Any) -> dict[str, Any]:
    return BOX | {"expect": BOX["expect"] | expect}


@pytest.mark.parametrize(
    ("case", "expect", "field", "found"),
    [
        ({}, {"status": "unparsed"}, "status", "ok"),
        ({}, {"answer": None}, "answer", "C"),
        ({}, {"trace": ""}, "trace", "So"),
        ({}, {"trace_visible": "Hence"}, "trace_visible", "So"),
        ({}, {"trace_nonempty": False}, "trace_nonempty", True),
        ({}, {"post_nonempty": True}, "post_nonempty", False),
        ({}, {"reasoning_nonempty": True}, "reasoning_nonempty", False),
        ({}, {"rule": "statement"}, "rule", "box"),
        ({}, {"permissive": None}, "permissive", "C"),
        ({}, {"truncated": True}, "truncated", False),
        ({"finish_reason": "length"}, {"truncated": False}, "truncated", True),
        ({"finish_reason": "max_tokens"}, {"truncated": False}, "truncated", True),
        ({"labels": ["X", "C"]}, {"slot": 0}, "", None),
        ({"gold": "D"}, {"equal": True}, "equal", False),
        ({"gold": "C"}, {"equal": False}, "equal", True),
    ],
)
def test_every_expectation_can_fail(case: dict[str, Any], expect: dict[str, Any], field: str, found: object) -> None:
    values = BOX | case | {"expect": BOX["expect"] | expect}
    if not field:
        with pytest.raises(RowError, match="expectation 'slot' is unknown"):
            parse_case(values)
        return
    (difference,) = run_case(parse_case(values), str.__eq__)
    assert (difference.field, difference.expected, difference.found) == (field, expect[field], found)


def test_a_text_that_is_null_is_not_looked_at_but_an_answer_is() -> None:
    assert run_case(parse_case(expecting(trace=None, post=None, note="x")), str.__eq__) == []
    assert len(run_case(parse_case(expecting(answer=None)), str.__eq__)) == 1


def test_all_flags_are_explained() -> None:
    page = (ROOT / "docs" / "extraction.md").read_text(encoding="utf-8")
    assert [flag for flag in FLAGS if f"`{flag}`" not in page] == []
