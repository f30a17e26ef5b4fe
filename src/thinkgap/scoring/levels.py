"""A trie -> two levels of shared prefixes, for models that continue from a cache but take no mask of our own.

First what all prompts share, then stems: what some of them share beyond that (an order of the options, say), then each
prompt's own rest. The stems are those that leave the fewest tokens to compute. Pure numpy; knows no model and no cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from thinkgap.scoring.plan import Ints, Trie

# Stems are cut shorter, to the length of others, where that computes at most so many tokens again: every length has
# passes of its own, whose fixed cost is larger.
_LENGTH_WORTH = 32


@dataclass(frozen=True)
class Stem:
    """A prefix, and the prompts that continue from it."""

    stop: int
    """Tokens of the prefix."""
    leaves: tuple[int, ...]
    """Prompts, by their number in the plan; of equal prompts the first stands for all."""


@dataclass(frozen=True)
class Levels:
    """What is computed in which pass. Every prompt keeps at least one token for the last."""

    root: int
    """Tokens that all prompts share."""
    groups: tuple[tuple[Stem, ...], ...]
    """Stems of equal length share their passes. Those that end with the root need no pass of their own."""
    tokens: int
    """Tokens that go through the model, padding left out."""

    @property
    def passes(self) -> int:
        """Forward passes."""
        return (self.root > 0) + sum(1 + (group[0].stop > self.root) for group in self.groups)


def plan_levels(trie: Trie) -> Levels:
    """The root and the stems of a trie; no prefix ends inside an image."""
    reads, leaves = np.unique(trie.reads, return_index=True)
    lengths = trie.depths[reads] + 1
    inside = _inside_images(trie)
    root = 0
    if len(reads) > 1:
        # Nodes that are ancestors of all reads, or the first of them; in preorder they come first of all.
        nodes = np.arange(trie.size)
        shared = int(((nodes <= reads[0]) & (trie.ends > reads[-1])).sum())
        root = min(shared, int(lengths.min()) - 1)
        while root and inside[root - 1]:
            root -= 1
    chosen = _cheapest(_candidates(trie, reads, root, inside), root)
    stems = [Stem(stop, tuple(leaves[below].tolist())) for stop, below in chosen]
    rest = sorted(set(leaves.tolist()) - {leaf for stem in stems for leaf in stem.leaves})
    groups = _of_equal_length(trie, stems, inside)
    if rest:
        groups.insert(0, [Stem(root, tuple(rest))])
    saved = sum(stem.stop * len(stem.leaves) - (stem.stop - root) for group in groups for stem in group)
    return Levels(root, tuple(map(tuple, groups)), root + int(lengths.sum()) - saved)


def _inside_images(trie: Trie) -> NDArray[np.bool_]:
    """`[N]` whether a prefix that ends with the node would cut an image."""
    inside = trie.blocks >= 0
    inside[[image.start + image.length - 1 for image in trie.images]] = False
    return inside


@dataclass
class _Candidate:
    """A prefix that may become a stem."""

    stop: int
    end: int
    """One past the last of the reads below it."""
    shorter: tuple[int, ...]
    """Lengths of those that it lies below, the root's first."""
    own: list[int] = field(default_factory=list)
    """Reads below it and below no longer candidate."""
    inner: list[_Candidate] = field(default_factory=list)
    """Longer candidates, of some of its reads."""


def _candidates(trie: Trie, reads: Ints, root: int, inside: NDArray[np.bool_]) -> list[_Candidate]:
    """The root, and all longer prefixes that several prompts continue from; each after the one that it lies below.

    Of those that the same prompts continue from, the longest.
    """
    first = np.searchsorted(reads, np.arange(trie.size), side="right")  # reads strictly below a node are first:end
    end = np.searchsorted(reads, trie.ends)
    usable = np.flatnonzero((end - first > 1) & (trie.depths + 1 > root) & ~inside)
    longest = {(int(first[node]), int(end[node])): int(trie.depths[node]) + 1 for node in usable}
    found = [_Candidate(root, len(reads), ())]
    nested, spans = [found[0]], sorted(longest, key=lambda span: (-span[0], span[1]))
    for read in range(len(reads)):
        while read >= nested[-1].end:
            nested.pop()
        while spans and spans[-1][0] == read:
            span, above = spans.pop(), nested[-1]
            nested.append(_Candidate(longest[span], span[1], (*above.shorter, above.stop)))
            above.inner.append(nested[-1])
            found.append(nested[-1])
        nested[-1].own.append(read)
    return found


def _cheapest(candidates: Sequence[_Candidate], root: int) -> list[tuple[int, list[int]]]:
    """The stems with which the fewest tokens are computed: length and reads of each.

    A prompt continues from the longest stem that it has, so what a candidate is worth depends on the shorter one that
    its reads would continue from instead.
    """
    cost: dict[tuple[int, int], int] = {}
    chosen: set[tuple[int, int]] = set()

    def below(one: _Candidate, stop: int) -> int:
        """Tokens for its reads, less those that they have beyond the root, if they continue from `stop` tokens."""
        return sum(cost[id(inner), stop] for inner in one.inner) - (stop - root) * len(one.own)

    for one in reversed(candidates[1:]):
        with_it = one.stop - root + below(one, one.stop)
        for stop in one.shorter:
            without = below(one, stop)
            cost[id(one), stop] = min(with_it, without)
            if with_it < without:
                chosen.add((id(one), stop))
    stems: list[tuple[int, list[int]]] = []
    left: list[tuple[_Candidate, int, list[int]]] = [(candidates[0], root, [])]
    while left:
        one, stop, reads = left.pop()
        reads += one.own
        for inner in one.inner:
            if (id(inner), stop) in chosen:
                stems.append((inner.stop, []))
                left.append((inner, *stems[-1]))
            else:
                left.append((inner, stop, reads))
    return [(stop, sorted(reads)) for stop, reads in stems]


def _of_equal_length(trie: Trie, stems: Sequence[Stem], inside: NDArray[np.bool_]) -> list[list[Stem]]:
    """Stems by length, where some may have been cut shorter."""
    groups: list[list[Stem]] = []
    by_length = sorted(stems, key=lambda stem: stem.stop)
    for stop, same in groupby(by_length, key=lambda stem: stem.stop):
        group = list(same)
        shortest = groups[-1][0].stop if groups else stop
        again = sum((len(stem.leaves) - 1) * (stop - shortest) for stem in group)
        if groups and again <= _LENGTH_WORTH and not inside[[_node(trie, stem, shortest) for stem in group]].any():
            groups[-1] += [replace(stem, stop=shortest) for stem in group]
        else:
            groups.append(group)
    return groups


def _node(trie: Trie, stem: Stem, length: int) -> int:
    """The last node of a stem's first `length` tokens."""
    return int(trie.path(stem.leaves[0])[length - 1])
