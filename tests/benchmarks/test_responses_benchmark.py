"""The benchmark of level 1 runs from end to end; how fast is not tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import responses


def test_a_quick_run(tmp_path: Path) -> None:
    responses.main(["--quick", "--words", "50", "--out", str(tmp_path)])
    result = json.loads((tmp_path / "responses-quick.json").read_text())
    assert (result["responses"], result["words"], result["bound_per_s"]) == (60, 50, 3_000)
    assert list(result["steps"])[:2] == ["extract", "read"]
    assert len(result["table"]) == len(result["steps"])
    assert result["per_s"] == pytest.approx(60 / result["steps"]["analyse_all"]["median_s"])
    assert 0 < result["copies"] < result["answered"] < 60


def test_what_is_made_up_is_various() -> None:
    made = responses.made_up(300, 200)
    assert len({one.response.content for one in made}) > 290
    assert {one.question.space for one in made} == {"mcq", "bool", "open"}
    assert len({(one.question.dataset, one.question.item_id, one.mode) for one in made}) == 300
    assert 200 <= sum(len(one.response.content.split()) for one in made) / 300 < 206
    assert responses.made_up(300, 200) == made
