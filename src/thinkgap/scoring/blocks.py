"""How the attention of packed tries is cut into blocks, so that little is computed only to be masked.

Branches never see each other, so a block is a run of nodes with the nodes that any of them may see. Pure numpy; knows
no tensor of a model and no mask of a layer's kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinkgap.scoring.plan import Ints, Trie

Range = tuple[int, int]
# A further block costs about what so many query-key pairs cost.
_PAIRS_PER_BLOCK = 4096
# Branches shorter than this share a block.
_SHORT = 32


@dataclass(frozen=True)
class Block:
    """Queries `queries[0] .. queries[1] - 1` of a trie, and the ranges of nodes that hold all their ancestors."""

    queries: Range
    keys: tuple[Range, ...]
    """Ascending; the last ends where the queries end."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of queries and keys."""
        return self.queries[1] - self.queries[0], sum(end - start for start, end in self.keys)

    @property
    def is_chain(self) -> bool:
        """Whether it may be one chain from the root on, each node seeing all before it."""
        return self.keys == (self.queries,) and self.queries[0] == 0


def blocks_of(trie: Trie) -> list[Block]:
    """Blocks that cover every node of `trie` once as a query, in order; the first is its root chain, if it has one."""
    return _cut(trie.ends, (), 0, trie.size)


def _cut(ends: Ints, path: tuple[Range, ...], start: int, end: int) -> list[Block]:
    """Blocks of the subtrees that fill `start .. end - 1`, all of whose roots hang on the last node of `path`."""
    chain = start
    # The nodes whose subtree is the whole range are one chain, unless several subtrees stand side by side.
    while chain < end and ends[chain] == end:
        chain += 1
    below = path if chain == start else _joined(path, (start, chain))
    runs = _runs(ends, chain, end)
    whole = Block((start, end), _joined(path, (start, end)))
    if len(runs) > 1 or (runs and chain > start):
        parts = [Block((start, chain), below)] if chain > start else []
        seen = sum(stop - begin for begin, stop in below)
        estimate = sum(_pairs(part) for part in parts) + sum((b - a) * (seen + b - a) for a, b in runs)
        n_blocks = len(runs) + len(parts)
        if _pairs(whole) - estimate > _PAIRS_PER_BLOCK * (n_blocks - 1):
            return parts + [block for a, b in runs for block in _cut(ends, below, a, b)]
    return [whole]


def _runs(ends: Ints, start: int, end: int) -> list[Range]:
    """The subtrees that fill a range, short neighbours together."""
    runs: list[list[int]] = []
    while start < end:
        past = int(ends[start])
        if runs and min(past - start, runs[-1][1] - runs[-1][0]) < _SHORT:
            runs[-1][1] = past
        else:
            runs.append([start, past])
        start = past
    return [(a, b) for a, b in runs]


def _joined(path: Sequence[Range], last: Range) -> tuple[Range, ...]:
    if path and path[-1][1] == last[0]:
        return (*path[:-1], (path[-1][0], last[1]))
    return (*path, last)


def _pairs(block: Block) -> int:
    queries, keys = block.shape
    return queries * keys
