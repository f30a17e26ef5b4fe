"""Which split a handwritten digit or a scene belongs to.

Each has a position from 0 to 1, a digest of its content, and a split is a part of that range. So where it belongs
depends on no seed: train items of one seed and test items of another share nothing. It does not know what is at a
position.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from thinkgap.errors import ConfigError

SPLITS = ("train", "validation", "test")
SETTING = "dataset.generation.splits"
NARROWEST = 0.02
"""In a narrower part too few scenes are left to draw from."""


@dataclass(frozen=True)
class Part:
    """Positions from `low`, included, to `high`, excluded."""

    low: float
    high: float

    def __contains__(self, position: float) -> bool:
        return self.low <= position < self.high


def position(kind: str, content: bytes) -> float:
    """Where `content` stands between 0 and 1; things of another `kind` stand elsewhere."""
    return int(hashlib.sha256(kind.encode() + b"\0" + content).hexdigest()[:13], 16) / 16**13


def parts_of(splits: Mapping[str, Sequence[float]]) -> dict[str, Part]:
    """The part of each split, from the setting.

    Raises:
        ConfigError: A split that is missing or unknown, or limits that are no part of 0 to 1.
    """
    if set(splits) != set(SPLITS):
        raise ConfigError(f"{SETTING} gives the parts of {', '.join(splits) or 'nothing'}; give {', '.join(SPLITS)}")
    for name, limits in splits.items():
        if len(limits) != 2 or not 0 <= limits[0] < limits[1] <= 1:
            raise ConfigError(f"{SETTING}.{name} is {list(limits)}; give two limits from 0 to 1, such as [0.8, 1]")
        if limits[1] - limits[0] < NARROWEST:
            raise ConfigError(f"{SETTING}.{name} is {list(limits)}, narrower than {NARROWEST}: widen it")
    return {name: Part(*splits[name]) for name in SPLITS}


def overlap(parts: Mapping[str, Part]) -> tuple[str, str] | None:
    """Two splits whose parts overlap, or None."""
    for first, second in combinations(parts, 2):
        if max(parts[first].low, parts[second].low) < min(parts[first].high, parts[second].high):
            return first, second
    return None
