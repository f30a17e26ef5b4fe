"""The required readings of the method, read from where they are and never copied."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from thinkgap.responses import extract, permissive

FILE = Path(os.environ.get("THINKGAP_SHARED", ROOT.parent / "shared")) / "cases" / "extraction.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.is_file() else []
FLAGS = ("leadin_only", "answer_first", "channel_swap")


def test_the_cases_are_here() -> None:
    if not CASES:
        pytest.skip(f"the required readings are not here: {FILE} (set THINKGAP_SHARED to the folder that holds cases/)")
    assert len(CASES) >= 52


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reply_is_read_as_required(case: dict[str, Any]) -> None:
    expect, content, space = case["expect"], case["content"] or "", case["space"]
    labels = case.get("labels", list("ABCD")) if space == "mcq" else ()
    truncated = case.get("finish_reason") == "length"
    read = extract(
        content,
        space,
        labels=labels,
        options=case.get("options", ()),
        mode=case.get("mode"),
        truncated=truncated,
        reasoning=case.get("reasoning", ""),
    )
    assert (read.status, read.answer) == (expect["status"], expect["answer"])
    for field in ("trace", "post"):
        if expect[field] is not None:
            assert getattr(read, field) == expect[field]
    for flag in FLAGS:
        if flag in expect:
            assert (flag in read.flags) is expect[flag]
    if "trace_visible" in expect:
        assert read.trace == expect["trace_visible"]
    for key, text in (
        ("trace_nonempty", read.trace),
        ("post_nonempty", read.post),
        ("reasoning_nonempty", read.reasoning),
    ):
        if key in expect:
            assert bool(text) is expect[key]
    if "permissive" in expect:
        assert permissive(content, space, labels=labels, truncated=truncated) == expect["permissive"]
