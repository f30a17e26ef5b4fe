"""The benchmark of local generation runs from end to end and compares tokens; how fast is not tested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import local_responses
from thinkgap.scoring.decode import Decoder

ITEMS = [
    {"id": f"o{number}", "question": f"What is {number} + 4? " * number, "answer": str(number + 4)}
    for number in range(1, 8)
]


@pytest.fixture
def arguments(tiny_model: Callable[[str], Path], tmp_path: Path) -> list[str]:
    # Hydra would read the name of such a folder as more than a name.
    data = tmp_path / "a=b, c" / "items.jsonl"
    data.parent.mkdir()
    data.write_text("".join(json.dumps(item) + "\n" for item in ITEMS), encoding="utf-8")
    model = str(tiny_model("llama"))
    return ["--quick", "--data", str(data), "--model", model, "--batch-size", "3", "--out", str(tmp_path)]


def test_both_sides_write_the_same(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local_responses.main([*arguments, "--parts", "2"])
    result = json.loads((tmp_path / "local_responses-quick.json").read_text())
    assert result["equal"]
    assert (result["mode"], result["method"], result["target"]) == ("strict", "shared", 3)
    assert (result["prompts"], result["batch_size"], result["max_new_tokens"]) == (6, 3, 8)
    assert 6 <= result["new_tokens"] <= 48
    generate, decoder = result["seconds"]["generate"], result["seconds"]["decoder"]
    assert len(generate) == len(decoder) == 2
    assert result["ratio"] == pytest.approx((generate[0] + generate[1]) / (decoder[0] + decoder[1]))
    assert result["processor_ratio"] == result["processor_s"]["generate"] / result["processor_s"]["decoder"]
    assert f"{result['ratio']:.2f} times the one-by-one loop" in capsys.readouterr().out
    assert str(tmp_path) not in json.dumps(result)


def test_other_tokens_are_no_result(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    decode = Decoder.decode

    def other(self: Decoder, *given: Any, **named: Any) -> Any:
        return decode(self, *given, **named)[::-1]

    monkeypatch.setattr(Decoder, "decode", other)
    with pytest.raises(SystemExit, match="the two sides wrote different tokens"):
        local_responses.main(arguments)
