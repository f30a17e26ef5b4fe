"""State files: every number type there and back, headers that lie, and reading no more than is asked."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from thinkgap.errors import StoreError
from thinkgap.store.states import DTYPES, StateFile, lost_states, state_bytes

ODD = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 3e-5]


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.flatten().view(torch.uint8).tolist()


def written(path: Path, states: torch.Tensor) -> Path:
    path.write_bytes(state_bytes(states))
    return path


def with_header(path: Path, header: object, n_bytes: int) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(n_bytes))
    return path


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_come_back_bit_by_bit(tmp_path: Path, dtype: str):
    states = torch.tensor([[ODD, ODD[::-1]], [[1e-8] * 8, [65504.0] * 8], [[7.0] * 8, [8.0] * 8]])
    states = states.to(DTYPES[dtype].torch)
    path = written(tmp_path / "a.safetensors", states)
    assert bits(load_file(path)["states"]) == bits(states)
    file = StateFile.open(path)
    assert (file.dtype, file.shape) == (dtype, (3, 2, 8))
    for rows, columns in [([0, 1, 2], [0, 1]), ([2, 0, 2], [1]), ([1], [1, 0, 1]), ([], [0])]:
        found = file.gather(rows, columns)
        assert found.dtype == states.dtype
        assert found.shape == (len(rows), len(columns), 8)
        assert bits(found) == bits(states[rows][:, columns])
    found += 1  # a copy: writing to it is allowed and changes nothing on disk
    assert bits(file.gather([0, 1, 2], [0, 1])) == bits(states)


def test_views_are_written_as_they_look(tmp_path: Path):
    states = torch.arange(24.0).view(4, 3, 2).transpose(0, 1)
    assert torch.equal(StateFile.open(written(tmp_path / "a", states)).gather([0, 1, 2], [0, 1, 2, 3]), states)


def test_rows_and_states_out_of_range_are_errors(tmp_path: Path):
    file = StateFile.open(written(tmp_path / "a", torch.zeros(2, 2, 2)))
    with pytest.raises(IndexError):
        file.gather([2], [0])
    with pytest.raises(IndexError):
        file.gather([0], [2])


@pytest.mark.parametrize("shape", [(2**22, 32, 1024), (2, 2**26, 1024)], ids=["many rows", "many states"])
def test_a_selection_reads_only_itself(tmp_path: Path, shape: tuple[int, int, int]):
    """A file with a hole of 256 GB: the whole, or whole rows, or one state of all rows would not fit into memory."""
    n, n_states, d = shape
    n_bytes = math.prod(shape) * 2
    header = {"states": {"dtype": "BF16", "shape": shape, "data_offsets": [0, n_bytes]}}
    path = with_header(tmp_path / "a", header, 0)
    start = path.stat().st_size
    written_row, written_state = n - 1, n_states - 2
    state = torch.arange(d, dtype=torch.float32).to(torch.bfloat16)
    with path.open("r+b") as file:
        file.truncate(start + n_bytes)
        file.seek(start + (written_row * n_states + written_state) * d * 2)
        file.write(bytes(bits(state)))
    found = StateFile.open(path).gather([written_row, 0, 0], [0, written_state])
    assert torch.equal(found[0, 1], state)
    assert found.count_nonzero() == state.count_nonzero()


def test_states_are_read_through_a_memory_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = StateFile.open(written(tmp_path / "a", torch.zeros(2, 2, 2)))
    modes = []
    original = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *a, **k: (modes.append(k["mode"]), original(*a, **k))[1])
    file.gather([0], [0])
    assert modes == ["r"]


def test_no_file_stays_open_between_calls(tmp_path: Path):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no /proc")
    before = len(list(descriptors.iterdir()))
    files = [StateFile.open(written(tmp_path / str(number), torch.zeros(1, 1, 4))) for number in range(20)]
    kept = [file.gather([0], [0]) for file in files]
    assert len(kept) == 20
    assert len(list(descriptors.iterdir())) <= before + 1


def test_files_cut_short_or_grown_are_named(tmp_path: Path):
    path = written(tmp_path / "a.safetensors", torch.zeros(3, 2, 4))
    data = path.read_bytes()
    for changed in (data[:-1], data + b"\0", data[:20], data[:4], b""):
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=r"a\.safetensors is damaged"):
            StateFile.open(path)
    with pytest.raises(StoreError, match="does not exist"):
        StateFile.open(tmp_path / "absent")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"other": {}}, "no tensor 'states'"),
        ([], "no tensor 'states'"),
        ({"states": 3}, "no tensor 'states'"),
        ({"states": {"dtype": "F32", "shape": [1, 2, 2]}}, "no tensor 'states'"),
        ({"states": {"dtype": "F64", "shape": [1, 1, 2], "data_offsets": [0, 16]}}, "type F64"),
        ({"states": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, "instead of"),
        ({"states": {"dtype": "F32", "shape": [0, 2, 2], "data_offsets": [0, 0]}}, "instead of"),
        ({"states": {"dtype": "F32", "shape": [-1, -2, 2], "data_offsets": [0, 16]}}, "instead of"),
        ({"states": {"dtype": "F32", "shape": [1, 2, 2], "data_offsets": [4, 20]}}, "does not lie at"),
        ({"states": {"dtype": "F16", "shape": [1, 2, 2], "data_offsets": [0, 8]}}, "takes"),
        ({"states": {"dtype": "F32", "shape": [1, 2, 2], "data_offsets": [0, 16]}, "b": {}}, "more than"),
    ],
)
def test_headers_that_do_not_fit_are_refused(tmp_path: Path, header: object, reason: str):
    with pytest.raises(StoreError, match=reason):
        StateFile.open(with_header(tmp_path / "a", header, 16))


def test_files_of_others_with_metadata_are_read(tmp_path: Path):
    states = torch.rand(2, 3, 4)
    save_file({"states": states}, tmp_path / "a", metadata={"by": "hand"})
    assert torch.equal(StateFile.open(tmp_path / "a").gather([0, 1], [0, 1, 2]), states)


def test_a_header_that_is_no_json_is_refused(tmp_path: Path):
    (tmp_path / "a").write_bytes(struct.pack("<Q", 4) + b"\xff{]}")
    with pytest.raises(StoreError, match="no tensor"):
        StateFile.open(tmp_path / "a")


def test_numbers_that_overflow_are_found():
    states = torch.tensor([[[1.0, math.inf]], [[math.nan, 2.0]], [[65504.0, 7e4]]])
    assert lost_states(states, states.half()) == (2, 0)
    assert lost_states(states[:2], states[:2].half()) is None
    assert lost_states(states, states.bfloat16()) is None
    wide = torch.zeros(2, 3, 4)
    wide[1, 2, 3] = -1e6
    assert lost_states(wide, wide.half()) == (1, 2)


def test_headers_longer_than_the_file_are_not_read(tmp_path: Path):
    (tmp_path / "a").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    with pytest.raises(StoreError, match="header should have 4611686018427387904 bytes, the file has 10"):
        StateFile.open(tmp_path / "a")
