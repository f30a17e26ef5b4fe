"""The benchmark of probe solvers runs from end to end on a tiny setting; how fast is not tested."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from benchmarks import probes


def test_it_measures_all_sides_and_each_finds_the_optimum_it_claims(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    try:
        probes.main(["--quick", "--threads", "1", "--places", "2", "--out", str(tmp_path)])
    finally:
        torch.set_num_threads(threads)
    found = json.loads((tmp_path / "probes-quick.json").read_text())
    assert [row["side"] for row in found["table"]] == list(probes.SOLVERS)
    assert [row["places"] for row in found["table"]] == [6, 2, 2, 2, 2]
    # The first layer of one condition and the last of the other.
    assert found["data"]["sampled"] == ["condition_0 layer_0", "condition_1 layer_2"]
    for side in (probes.OURS, probes.TIGHT, probes.TIGHT + probes.WARM):
        distances = found["sides"][side]["distances"]
        assert list(distances) == found["data"]["sampled"]
        assert all(len(of_place) == 8 and max(of_place) <= 1e-3 for of_place in distances.values())
    # The default tolerance does not find them all, or the two sides would be the same.
    assert max(map(max, found["sides"][probes.LOOSE]["distances"].values())) > 1e-3
