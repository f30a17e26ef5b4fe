"""The benchmark of generation runs from end to end, and every side writes the same tokens; how fast is not tested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks import generation


def test_all_sides_write_the_same(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    model = tiny_model("llama")
    generation.main(["--quick", "--items", "2", "--threads", "1", "--model", str(model), "--out", str(tmp_path)])
    result = json.loads((tmp_path / "generation-quick.json").read_text())
    assert result["max_new_tokens"] == 8
    assert [step["model"] for step in result["steps"]] == ["demo_vlm", "text"]
    for step in result["steps"]:
        assert step["method"] == "shared"
        assert step["equal"]
        assert (step["prompts"], len(step["sides"])) == (12, 6)
        assert step["shapes"] > 1
        assert step["new_tokens"] > 12
        best = step["sides"][step["best_generate"]]["median_s"]
        assert step["ratio"] == best / step["sides"][step["best_shared"]]["median_s"]
        assert best == min(side["median_s"] for name, side in step["sides"].items() if name.startswith("generate"))
    assert 0 < result["steps"][0]["stopped"] < 12
    assert len(result["table"]) == 12
    assert str(model) not in json.dumps(result)


def test_a_reply_before_its_stop_token() -> None:
    assert generation._before([5, 6, 2, 0, 2], [2]) == [5, 6]
    assert generation._before([2, 5], [2]) == []
    assert generation._before([5, 6], [2]) == [5, 6]
