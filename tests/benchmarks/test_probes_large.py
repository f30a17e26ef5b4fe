"""The benchmark of large banks runs from end to end on a small file; how fast is not tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import probes_large
from benchmarks.probes_large import Size, main, measure, part_of, write_states

SMALL = Size(600, 4, 16)


def test_blocks_share_the_states_out(tmp_path: Path) -> None:
    """Room for three of four states of 600 rows x 16 features x 4 bytes: a block of three and a block of one."""
    result = measure(SMALL, tmp_path, epochs=2, block_bytes=3 * 600 * 16 * 4)
    assert [block["states"] for block in result["blocks"]] == [["layer_0", "layer_1", "layer_2"], ["final_norm"]]
    assert (result["fit_rows"], result["select_rows"], result["heads"]) == (500, 100, 24)
    assert result["select_accuracy"]["final_norm"] > 0.9 > result["select_accuracy"]["layer_0"]
    assert [file.name for file in tmp_path.iterdir()] == ["states.safetensors"], "checkpoints are gone"


def test_the_file_is_what_the_reader_reads(tmp_path: Path) -> None:
    """The signal is 12 in the last state, along the axis of the right slot; rows of several written pieces."""
    gold = torch.arange(600) % 5
    part = part_of(write_states(tmp_path / "states.safetensors", SMALL, gold), SMALL, gold)
    states = part.states("direct", ["final_norm", "layer_0"])
    assert torch.equal(states[:, 0].argmax(-1), gold)
    assert states[:, 0].gather(1, gold[:, None]).mean().item() == pytest.approx(12, abs=0.2)
    assert states[:, 1].std().item() == pytest.approx(1, abs=0.05)


def test_a_quick_run_reports_and_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes_large, "QUICK", SMALL)
    states = tmp_path / "states"
    states.mkdir()
    threads = torch.get_num_threads()
    given = ["--quick", "--epochs", "1", "--threads", str(threads), "--folder", str(states), "--out", str(tmp_path)]
    main(given)
    assert not list(states.iterdir())
    result = json.loads((tmp_path / "probes_large-quick.json").read_text())
    assert result["file_mib"] == pytest.approx(600 * 4 * 16 * 2 / 2**20, rel=0.01)
    assert 0 < result["peak_mib"] < result["limit_mib"]
    monkeypatch.setattr(probes_large, "LIMIT_MIB", 1)
    with pytest.raises(SystemExit, match="the limit is 1"):
        main(given)
