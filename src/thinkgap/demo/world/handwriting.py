"""Real handwritten digits: the 1,797 samples of 8 x 8 greys from the UCI set that scikit-learn ships, by split.

A sample is named by its row in `sklearn.datasets.load_digits`. It does not know pictures or questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from thinkgap.demo.world.parts import SETTING, Part, overlap, position
from thinkgap.errors import ConfigError, DataError

_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


@dataclass(frozen=True)
class Handwriting:
    """All samples, by row."""

    greys: np.ndarray
    """`[row, y, x]`, 0 (ground) to 16 (ink), uint8."""
    labels: tuple[int, ...]
    """The digit that each writer was asked for."""
    positions: tuple[float, ...]
    """Digest of each sample's greys (`thinkgap.demo.world.parts`); equal greys stand together."""


@cache
def handwriting() -> Handwriting:
    """The samples, read once.

    Raises:
        DataError: This scikit-learn ships other digits, so that the same seed would not give the same items.
    """
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    greys, labels = bunch["images"].astype(np.uint8), bunch["target"].astype(np.uint8)
    if hashlib.sha256(greys.tobytes() + labels.tobytes()).hexdigest() != _SHA256:
        raise DataError(
            "load_digits of this scikit-learn gives other digits than the world is made of: install >=1.6,<2"
        )
    positions = tuple(position("handwriting", sample.tobytes()) for sample in greys)
    return Handwriting(greys, tuple(int(label) for label in labels), positions)


def rows_of(part: Part) -> list[int]:
    """Rows of the samples in a part."""
    return [row for row, place in enumerate(handwriting().positions) if place in part]


def check_disjoint(rows: Mapping[str, Iterable[int]]) -> None:
    """Require that no handwritten digit is in two splits.

    Args:
        rows: by split, the rows of `load_digits` that it uses; those of an item are in its `meta["handwriting"]`.

    Raises:
        ConfigError: Which digit is in which two splits.
    """
    used: dict[int, str] = {}
    for split, own in rows.items():
        for row in sorted(set(own)):
            if row in used:
                raise ConfigError(
                    f"{SETTING}: the handwritten {handwriting().labels[row]} in row {row} of scikit-learn's "
                    f"load_digits would be in {used[row]} and in {split}; give each split a part of its own"
                )
            used[row] = split


def check_parts(parts: Mapping[str, Part]) -> None:
    """Require that no digit and no scene can be in two splits; digits are looked at only if parts overlap.

    Raises:
        ConfigError: Which digit, or which parts.
    """
    if shared := overlap(parts):
        check_disjoint({split: rows_of(parts[split]) for split in shared})
        raise ConfigError(f"{SETTING}: {shared[0]} and {shared[1]} overlap, so that scenes would be in both")


def pools(split: str, parts: Mapping[str, Part]) -> dict[int, list[int]]:
    """By digit, the rows that a split may use, after the check that no other split has any of them.

    Raises:
        ConfigError: A digit that is in two splits, or a split that has none of some digit.
    """
    rows = {name: rows_of(part) for name, part in parts.items()}
    check_disjoint(rows)
    found: dict[int, list[int]] = {digit: [] for digit in range(10)}
    for row in rows[split]:
        found[handwriting().labels[row]].append(row)
    for digit, own in found.items():
        if not own:
            raise ConfigError(f"{SETTING}.{split} holds no handwritten {digit}: widen it")
    return found
