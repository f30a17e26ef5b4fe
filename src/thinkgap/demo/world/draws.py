"""Random choices that no platform, Python hash seed or library release can change.

Only PCG64's raw output is used: numpy guarantees that stream, while the methods of its `Generator` may draw otherwise
in a later release. It does not know what is chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Generic, TypeVar

from numpy.random import PCG64

Card = TypeVar("Card")


class Draws:
    """A stream of choices that depends on its key only.

    Args:
        key: what the stream is for and what it depends on, such as ("picture", split, seed, number).
    """

    def __init__(self, *key: object) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
        self._raw = PCG64(int.from_bytes(digest, "big")).random_raw

    def below(self, n: int) -> int:
        """A whole number from 0 to `n - 1`."""
        return (int(self._raw()) * n) >> 64

    def chance(self, share: float) -> bool:
        """True with probability `share`; a draw that is true for a share is true for every larger one."""
        return (int(self._raw()) >> 11) / 2**53 < share

    def one(self, cards: Sequence[Card]) -> Card:
        """One of `cards`."""
        return cards[self.below(len(cards))]

    def several(self, cards: Sequence[Card], n: int) -> list[Card]:
        """`n` of `cards` in random order, none twice."""
        left = list(cards)
        for place in range(n):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:n]

    def shuffled(self, cards: Sequence[Card]) -> list[Card]:
        """All of `cards` in random order."""
        return self.several(cards, len(cards))


class Deck(Generic[Card]):
    """Cards in shuffled rounds, so that counts are even over any long stretch.

    Args:
        draws: shuffles each round.
        cards: one round.
    """

    def __init__(self, draws: Draws, cards: Sequence[Card]) -> None:
        self._draws, self._cards = draws, cards
        self._left: list[Card] = []

    def draw(self) -> Card:
        """The next card."""
        self._left = self._left or self._draws.shuffled(self._cards)
        return self._left.pop()
