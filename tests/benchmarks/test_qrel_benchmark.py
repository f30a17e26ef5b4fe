"""The benchmark of QRel runs from end to end with equal cosines; how fast is not tested."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import qrel


def test_a_quick_run(tmp_path: Path) -> None:
    qrel.main(["--quick", "--threads", "1", "--out", str(tmp_path)])
    result = json.loads((tmp_path / "qrel-quick.json").read_text())
    assert (result["responses"], result["per_problem"]) == (40, None)
    assert 20 < result["pairs"] < 40
    assert 0 < result["largest_difference"] < 1e-5
    assert result["ratio"] == pytest.approx(result["plain_s"] / result["seconds"]["thinkgap"])
    assert (result["memory"]["responses"], result["memory"]["kb_of_a_vector"]) == (80, 1.5)
    assert 50 < result["memory"]["texts"] < 70
    # What the system gives back of earlier work counts against it, so it may be below zero in a busy process.
    assert isinstance(result["memory"]["after_all_mb"], float)
    assert len(result["table"]) == 4


def test_shares_are_those_of_the_study() -> None:
    made = qrel.made_up(20_000)
    assert len(made) == 20_000
    # 391,010 of 572,688 outputs have a trace; 15.75 outputs share a problem, as 36,350 problems have 572,688 outputs.
    assert sum(bool(pair.trace) for pair in made) / len(made) == pytest.approx(391_010 / 572_688, abs=0.01)
    outputs = Counter(pair.problem for pair in made)
    assert len(made) / len(outputs) == pytest.approx(572_688 / 36_350, rel=0.05)
    assert set(list(outputs.values())[:-1]) == {12, 36}
    assert set(Counter(pair.problem for pair in qrel.made_up(60, 6)).values()) == {6}
    traces = Counter(pair.trace for pair in made if pair.trace)
    assert traces["Answer:"] > 20
    assert len(traces) > 0.9 * sum(traces.values())
