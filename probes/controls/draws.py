"""Seeded draws of questions, and rows that exchange their states: the same whatever the order of the rows is.

A question is an item, in all its presentations. Knows no probe and no states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from probes.part import Part


def digest(seed: int, purpose: str, name: str) -> int:
    """An integer below 2^256 that is as good as random, and the same for the same arguments on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{purpose}\x1f{name}".encode()).digest())


def question_order(part: Part, seed: int, purpose: str) -> list[str]:
    """The part's items in a seeded order; the first of it among those with the most options stands in front.

    So a probe that is fitted on the beginning of the order, however short, has a logit for each slot that any row of
    the part has.
    """
    k = dict(zip(part.item_id.tolist(), part.k.tolist(), strict=True))
    order = sorted(k, key=lambda item: digest(seed, purpose, item))
    # `max` takes the first of equal ones.
    widest = max(order, key=lambda item: k[item], default=None)
    return sorted(order, key=lambda item: item != widest)


def rows_of(part: Part, questions: Iterable[str]) -> NDArray[np.bool_]:
    """Which rows `[n]` are of these items."""
    chosen = set(questions)
    return np.array([item in chosen for item in part.item_id.tolist()], dtype=bool)


def givers(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each of `n` rows the row whose state it gets: never its own (from two rows on), and each is given once.

    Rows stand on a random circle, and each gets the state of the next.
    """
    circle = rng.permutation(n)
    found = np.empty(n, dtype=np.int64)
    found[circle] = np.roll(circle, -1)
    return found
