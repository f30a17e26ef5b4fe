"""Hidden states on disk: one safetensors file with one tensor `states` `[n, S, d]`, read through a memory map.

Knows bytes, shapes and number types; nothing of prompts, or of what the `S` states of a row are called. NumPy has no
bfloat16, so a file is mapped as integers of the same width and the bits are handed to torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from thinkgap.errors import StoreError


class _Type(NamedTuple):
    torch: torch.dtype
    code: str
    """Its name in a safetensors header."""
    bits: str
    """NumPy's integer of the same width; the format is little-endian."""


DTYPES = {
    "float16": _Type(torch.float16, "F16", "<i2"),
    "bfloat16": _Type(torch.bfloat16, "BF16", "<i2"),
    "float32": _Type(torch.float32, "F32", "<i4"),
}
"""The number types in which states can be kept."""
_BY_CODE = {kind.code: name for name, kind in DTYPES.items()}
_TENSOR = "states"
_LENGTH = 8
"""Bytes before the header, which hold its length."""


def state_bytes(states: Tensor) -> bytes:
    """`states` `[n, S, d]`, in one of `DTYPES`, as the content of a state file."""
    from safetensors.torch import save

    return save({_TENSOR: states.contiguous()})


def lost_states(states: Tensor, kept: Tensor) -> tuple[int, int] | None:
    """The first (row, state) of `[n, S, d]` with a finite number that is not finite in `kept`; None if all survive."""
    lost = (torch.isfinite(states) & ~torch.isfinite(kept)).any(-1)
    if not bool(lost.any()):
        return None
    row, state = lost.nonzero()[0].tolist()
    return row, state


@dataclass(frozen=True)
class StateFile:
    """A state file whose header was found to fit its size. Between calls of `gather` nothing is open or mapped."""

    path: Path
    dtype: str
    """One of `DTYPES`."""
    shape: tuple[int, int, int]
    """(n, S, d)"""
    start: int
    """Where the numbers begin, in bytes."""

    @classmethod
    def open(cls, path: Path) -> StateFile:
        """Read the header of `path`.

        Raises:
            StoreError: No such file, no state file, or one whose size is not what its header says.
        """
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                length = int.from_bytes(file.read(_LENGTH), "little")
                if _LENGTH + length > size:
                    raise _damaged(path, f"its header should have {length} bytes, the file has {size}")
                header = file.read(length)
        except FileNotFoundError:
            raise StoreError(f"{path} does not exist") from None
        dtype, shape = _parsed(path, header)
        expected = _LENGTH + length + math.prod(shape) * DTYPES[dtype].torch.itemsize
        if size != expected:
            raise _damaged(path, f"{dtype} {list(shape)} takes {expected} bytes, the file has {size}")
        return cls(path, dtype, shape, _LENGTH + length)

    def gather(self, rows: Sequence[int], states: Sequence[int]) -> Tensor:
        """Copy some states of some rows; no other bytes are touched.

        Args:
            rows: Row numbers, in any order, repeated or not.
            states: Places along `S`, likewise.

        Returns:
            `[len(rows), len(states), d]` in the stored type.
        """
        kind = DTYPES[self.dtype]
        # Python keeps a file descriptor per map; a folder of a thousand shards would use up what a process may have.
        mapped = np.memmap(self.path, dtype=kind.bits, mode="r", offset=self.start, shape=self.shape)
        picked = mapped[np.asarray(rows, np.intp)[:, None], np.asarray(states, np.intp)]
        return torch.from_numpy(np.asarray(picked)).view(kind.torch)


def _parsed(path: Path, header: bytes) -> tuple[str, tuple[int, int, int]]:
    """Number type and shape that a header declares."""
    try:
        entries: dict[str, Any] = json.loads(header)
        entry = entries[_TENSOR]
        code, shape, offsets = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"its header names no tensor '{_TENSOR}' ({type(error).__name__})") from None
    if set(entries) - {_TENSOR, "__metadata__"}:
        raise _damaged(path, f"it holds more than the tensor '{_TENSOR}'")
    if code not in _BY_CODE:
        raise _damaged(path, f"numbers of type {code} (known: {', '.join(_BY_CODE)})")
    if len(shape) != 3 or not all(isinstance(length, int) and length > 0 for length in shape):
        raise _damaged(path, f"shape {list(shape)} instead of [n, S, d]")
    dtype = _BY_CODE[code]
    if offsets != [0, math.prod(shape) * DTYPES[dtype].torch.itemsize]:
        raise _damaged(path, f"{dtype} {list(shape)} does not lie at {offsets}")
    return dtype, (shape[0], shape[1], shape[2])


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged or no state file: {reason}")
