"""The distinct texts of one side of many pairs, and the blocks in which they are encoded.

Texts themselves are not copied: each is known by its key and by the first pair that has it. Knows no encoder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from thinkgap.data.checks import normalise
from thinkgap.errors import DataError
from thinkgap.types import Pair

# A block is what is tokenised, encoded and written at once: what a killed run loses, and what memory has to hold.
_BLOCK_TEXTS, _BLOCK_CHARS = 512, 1 << 20
_SHOWN = 60

Side = Literal["problem", "trace"]


@dataclass(frozen=True)
class Texts:
    """The distinct texts of one side of the pairs, in the order in which they first occur."""

    side: Side
    prompt: str
    chunks: bool
    """Whether those that are too long are read to their end."""
    keys: list[bytes]
    """Of each text, 32 bytes."""
    pairs: list[int]
    """For each text, the number of the first pair that has it."""
    lengths: list[int]
    """In characters, white space normalised."""
    of: np.ndarray
    """`[n]`, for each pair the number of its text."""

    def text(self, pairs: Sequence[Pair], number: int) -> str:
        """A text, white space normalised, without its prompt."""
        return normalise(getattr(pairs[self.pairs[number]], self.side))

    def where(self, number: int) -> str:
        """How messages name a text."""
        return _where(self.side, self.pairs[number])


def distinct(pairs: Sequence[Pair], side: Side, prompt: str, chunks: bool, context: str) -> Texts:
    """The distinct texts of one side.

    Args:
        pairs: all of them.
        side: which text of a pair.
        prompt: that the encoder puts before them.
        chunks: whether those that are too long are read to their end.
        context: digest of what else a vector depends on; part of the key.

    Raises:
        DataError: a text without anything but white space, or one that is no valid text.
    """
    kind = json.dumps([context, "chunks" if chunks else "beginning", prompt])
    start = hashlib.sha256(kind.encode() + b"\0")
    numbers: dict[bytes, int] = {}
    firsts: list[int] = []
    lengths: list[int] = []
    of = np.empty(len(pairs), np.int32)
    for place, pair in enumerate(pairs):
        text = normalise(getattr(pair, side))
        if not text:
            raise DataError(
                f"{_where(side, place)} is empty or only white space; an empty trace is no pair, its relevance is 0 by "
                "definition"
            )
        digest = start.copy()
        try:
            digest.update(text.encode())
        except UnicodeEncodeError:
            raise DataError(
                f"{_where(side, place)} holds a lone surrogate, so it is no valid text: {ascii(text)[:_SHOWN]}"
            ) from None
        number = numbers.setdefault(digest.digest(), len(firsts))
        if number == len(firsts):
            firsts.append(place)
            lengths.append(len(text))
        of[place] = number
    return Texts(side, prompt, chunks, list(numbers), firsts, lengths, of)


def blocks(lengths: Sequence[int]) -> Iterator[range]:
    """Places cut into blocks of at most 512 texts and about a million characters; a longer text is a block alone."""
    start = chars = 0
    for place, length in enumerate(lengths):
        if place > start and (place - start >= _BLOCK_TEXTS or chars + length > _BLOCK_CHARS):
            yield range(start, place)
            start, chars = place, 0
        chars += length
    if start < len(lengths):
        yield range(start, len(lengths))


def _where(side: Side, place: int) -> str:
    return f"the {side} of pair {place} (counted from 0)"
