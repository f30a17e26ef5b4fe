"""Blocks come back bit for bit; damage of any kind means "fit again", never another number."""

from __future__ import annotations

import json
import logging
import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from probes import block_store
from probes.block_store import finished_blocks, read_block, write_block
from probes.heads import Fitted, Place, Setting
from probes.linear_probe import LinearProbe, Standard

D, K = 3, 2
PLACES = [Place("direct", "layer_0"), Place("direct", "final_norm"), Place("let_me_think", "layer_0")]
ODD = torch.tensor([-0.0, 1e-45, math.inf, -math.inf, math.nan, 0.1, 3.4e38, 1 / 3])
"""Numbers that text, or a look at equality alone, would lose."""
FLOATS = (0.1 + 0.2, 5e-324, 1 / 3, 1.0, -0.0, math.nan, math.inf, -math.inf, 1.7976931348623157e308)


def numbers(seed: int, *shape: int) -> Tensor:
    """Random ones with odd ones among them."""
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    drawn.view(-1)[0] = ODD[seed % len(ODD)]
    return drawn


def fitted(places: list[Place] = PLACES, seed: int = 0, d: int = D, k: int = K) -> list[Fitted]:
    found = []
    for row, place in enumerate(places):
        at = 100 * seed + 4 * row
        standard = Standard(numbers(at, d), numbers(at + 1, d))
        probe = LinearProbe(standard, numbers(at + 2, d, k), numbers(at + 3, k))
        settings = tuple(
            Setting(f"C={number}", FLOATS[number], FLOATS[-number], 0.5, number or None, FLOATS[row], None)
            for number in range(len(FLOATS))
        )
        found.append(Fitted(place, probe, row + 1, settings))
    return found


def bits(results: list[Fitted] | None) -> list[object]:
    """Everything in a form in which NaN equals itself and -0.0 is not 0.0."""
    assert results is not None
    return [
        [repr((one.place, one.chosen, one.settings))]
        + [
            (tensor.dtype, tuple(tensor.shape), tensor.numpy().tobytes())
            for tensor in (one.probe.weight, one.probe.bias, one.probe.standard.mean, one.probe.standard.scale)
        ]
        for one in results
    ]


def test_a_block_comes_back_bit_for_bit(tmp_path: Path) -> None:
    write_block(tmp_path / "blocks", 7, fitted())
    assert sorted(file.name for file in (tmp_path / "blocks").iterdir()) == ["block-007.json", "block-007.safetensors"]
    found = read_block(tmp_path / "blocks", 7, PLACES, D, K)
    assert bits(found) == bits(fitted())
    assert bits(found) != bits(fitted(seed=1))
    assert found is not None
    assert type(found[0].place) is Place
    assert type(found[0].settings[1].epoch) is int
    assert found[0].setting.select_accuracy == 5e-324


def test_json_is_json(tmp_path: Path) -> None:
    """Other readers know no NaN."""
    write_block(tmp_path, 0, fitted())

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads((tmp_path / "block-000.json").read_text(), parse_constant=refuse)


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_block(tmp_path / name, 0, fitted())
    for file in ("block-000.json", "block-000.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_views_of_one_bank_are_stored_as_what_they_show(tmp_path: Path) -> None:
    bank = numbers(2, 5, K, D)
    one = fitted()[0]
    probe = LinearProbe(one.probe.standard, bank[3].T, one.probe.bias)
    write_block(tmp_path, 0, [Fitted(one.place, probe, 0, one.settings)])
    found = read_block(tmp_path, 0, PLACES[:1], D, K)
    assert found is not None
    assert torch.equal(found[0].probe.weight, bank[3].T)


def test_a_block_that_is_not_there_is_none_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_block(tmp_path / "nowhere", 0, PLACES, D, K) is None
    assert finished_blocks(tmp_path / "nowhere", [PLACES]) == set()
    assert not caplog.records


def test_a_writer_that_was_stopped_leaves_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(block_store, "write_text", stop)
    with pytest.raises(KeyboardInterrupt):
        write_block(tmp_path, 0, fitted())
    assert read_block(tmp_path, 0, PLACES, D, K) is None
    assert not caplog.records
    monkeypatch.undo()
    write_block(tmp_path, 0, fitted())
    assert bits(read_block(tmp_path, 0, PLACES, D, K)) == bits(fitted())


@pytest.mark.parametrize("name", ["block-000.json", "block-000.safetensors"])
@pytest.mark.parametrize("damage", ["empty", "half", "last", "flip"])
def test_a_damaged_file_is_fitted_again(
    tmp_path: Path, name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_block(tmp_path, 0, fitted())
    file = tmp_path / name
    whole = file.read_bytes()
    if damage == "flip":
        # A digit that still is JSON, or a bit of a weight.
        changed = whole.replace(b"0.30000000000000004", b"0.30000000000000014") if name.endswith("json") else None
        file.write_bytes(changed or whole[:-1] + bytes([whole[-1] ^ 1]))
        assert file.read_bytes() != whole
    else:
        # The JSON file ends with a line break that nothing depends on.
        file.write_bytes(whole[: {"empty": 0, "half": len(whole) // 2, "last": len(whole.rstrip()) - 1}[damage]])
    assert read_block(tmp_path, 0, PLACES, D, K) is None
    assert "block 0" in caplog.text
    assert "fitted again" in caplog.text
    assert name in caplog.text
    assert finished_blocks(tmp_path, [PLACES]) == set()


@pytest.mark.parametrize("content", [b"[]", b"{}", b"7", b"\xff\xfe", b'{"facts": {}, "sha256": "0"}'])
def test_a_foreign_json_file_is_fitted_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "block-000.json").write_bytes(content)
    assert read_block(tmp_path, 0, PLACES, D, K) is None


def test_another_version_is_fitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(block_store, "_SCHEMA", 99)
    write_block(tmp_path, 0, fitted())
    monkeypatch.undo()
    assert read_block(tmp_path, 0, PLACES, D, K) is None
    assert "schema 99" in caplog.text


def test_files_of_two_writers_are_never_mixed(tmp_path: Path) -> None:
    write_block(tmp_path / "a", 0, fitted())
    write_block(tmp_path / "b", 0, fitted(seed=1))
    (tmp_path / "a" / "block-000.safetensors").write_bytes((tmp_path / "b" / "block-000.safetensors").read_bytes())
    assert read_block(tmp_path / "a", 0, PLACES, D, K) is None
    (tmp_path / "a" / "block-000.safetensors").unlink()
    assert read_block(tmp_path / "a", 0, PLACES, D, K) is None


@pytest.mark.parametrize(
    ("places", "d", "k", "told"),
    [
        (PLACES[:2], D, K, "holds 3 places from direct layer_0 to let_me_think layer_0 instead of 2 places"),
        (PLACES[::-1], D, K, "instead of 3 places from let_me_think layer_0"),
        ([], D, K, "instead of no places"),
        (PLACES, D + 1, K, r"its weight is \[3, 3, 2\] instead of \[3, 4, 2\]"),
        (PLACES, D, K + 1, r"its weight is \[3, 3, 2\] instead of \[3, 3, 3\]"),
    ],
)
def test_a_block_of_other_probes_is_fitted_again(
    tmp_path: Path, places: list[Place], d: int, k: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_block(tmp_path, 0, fitted())
    assert read_block(tmp_path, 0, places, d, k) is None
    assert re.search(told, caplog.text)


def test_finished_blocks_are_the_whole_ones_of_these_places(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blocks = [[place] for place in PLACES]
    for number in (0, 1, 2):
        write_block(tmp_path, number, fitted(blocks[number]))
    (tmp_path / ".block-000.json.abc.tmp").write_text("left by a killed writer")
    assert finished_blocks(tmp_path, blocks) == {0, 1, 2}
    assert finished_blocks(tmp_path, blocks[:1]) == {0}
    assert finished_blocks(tmp_path, [blocks[0], blocks[2], blocks[1]]) == {0}
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        (tmp_path / "block-001.safetensors").write_bytes(b"")
        (tmp_path / "block-002.json").unlink()
        assert finished_blocks(tmp_path, blocks) == {0}
    assert len(caplog.records) == 1


def test_what_would_not_come_back_exactly_is_not_written(tmp_path: Path) -> None:
    one = fitted()[0]
    wide = LinearProbe(one.probe.standard, one.probe.weight.double(), one.probe.bias)
    with pytest.raises(ValueError, match="weight of a block must be float32"):
        write_block(tmp_path, 0, [Fitted(one.place, wide, 0, one.settings)])
    with pytest.raises(ValueError, match="of one shape"):
        write_block(tmp_path, 0, [one, fitted(d=D + 1)[1]])
    with pytest.raises(ValueError, match="must be float32 of one shape"):
        write_block(tmp_path, 0, [])
    assert not list(tmp_path.iterdir())
