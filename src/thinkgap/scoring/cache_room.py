"""A cache layer with room for tokens to come, so that a step writes one column and does not copy all others.

transformers' own layer joins old and new tensors in every step, which on a CPU is a third of the time of a batch of 32.
Knows no row and no mask.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer

# Columns. More of them are copied less often and held in vain; 32 make the copying a few percent of a step.
ROOM = 32


class RoomyLayer(DynamicLayer):
    """Full attention's keys and values. Other tensors may be put in their place; the next token gives these room."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: tuple[Tensor, Tensor] | None = None
        self._views: tuple[Tensor, Tensor] | None = None

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Put `[B, heads, t, d]` behind what is there; returns all keys and values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states[:, :, :0], value_states[:, :, :0]
        assert self.keys is not None
        assert self.values is not None
        start = self.keys.shape[-2]
        stop = start + key_states.shape[-2]
        rooms = self._rooms
        own = self._views is not None and self._views[0] is self.keys and self._views[1] is self.values
        if rooms is None or not own or rooms[0].shape[-2] < stop:
            rooms = self._rooms = (_roomier(self.keys, stop + ROOM), _roomier(self.values, stop + ROOM))
        rooms[0][:, :, start:stop], rooms[1][:, :, start:stop] = key_states, value_states
        self.keys, self.values = self._views = (rooms[0][:, :, :stop], rooms[1][:, :, :stop])
        return self.keys, self.values

    def drop_room(self) -> None:
        """Free the room of what other tensors have replaced, which may be far larger than these."""
        self._rooms = self._views = None

    def reset(self) -> None:
        """Forget everything."""
        self.drop_room()
        super().reset()


def _roomier(held: Tensor, width: int) -> Tensor:
    batch, heads, length, size = held.shape
    rooms = held.new_empty((batch, heads, width, size))
    rooms[:, :, :length] = held
    return rooms
