"""The benchmark of the AdamW bank's accuracy runs, and compares what it says it compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import probes_adamw


def test_the_bank_and_scikit_learn_are_told_apart_by_test_accuracy(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    try:
        probes_adamw.main(["--quick", "--threads", "1", "--out", str(tmp_path)])
    finally:
        torch.set_num_threads(threads)
    found = json.loads((tmp_path / "probes_adamw-quick.json").read_text())
    *layers, mean = found["table"]
    assert [row["layer"] for row in layers] == ["condition_0 layer_0", "condition_0 layer_2"]
    assert mean["difference"] == pytest.approx(sum(row["bank"] - row["scikit-learn"] for row in layers) / 2)
    assert all(0 <= row[side] <= 1 for row in layers for side in ("bank", "scikit-learn"))
