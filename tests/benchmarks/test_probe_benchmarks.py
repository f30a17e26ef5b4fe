"""The benchmarks of linear probes run, and compare what they say they compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import probes, probes_adamw


def test_all_solvers_reach_one_optimum_on_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probes.main(["--quick", "--threads", "1", "--places", "2", "--out", str(tmp_path)])
    assert "times ours" in capsys.readouterr().out
    found = json.loads((tmp_path / "probes-quick.json").read_text())
    assert set(found["sides"]) == set(probes.SOLVERS)
    table = {row["side"]: row for row in found["table"]}
    assert table[probes.OURS]["places"] == 6
    assert table[probes.TIGHT]["places"] == 2
    for side in (probes.OURS, probes.TIGHT, probes.TIGHT + probes.WARM):
        assert table[side]["largest distance"] <= probes.CLOSE, side
        assert table[side]["largest difference of accuracy"] <= 0.01 + 1e-9, "two of 200 rows"


def test_the_bank_and_scikit_learn_are_told_apart_by_test_accuracy(tmp_path: Path) -> None:
    probes_adamw.main(["--quick", "--threads", "1", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "probes_adamw-quick.json").read_text())
    *layers, mean = found["table"]
    assert [row["layer"] for row in layers] == ["condition_0 layer_0", "condition_0 layer_2"]
    assert mean["difference"] == pytest.approx(sum(row["bank"] - row["scikit-learn"] for row in layers) / 2)
    assert all(0 <= row[side] <= 1 for row in layers for side in ("bank", "scikit-learn"))
