"""A trie -> two levels of shared prefixes, for models that continue from a cache but take no mask of our own.

First what all prompts share, then stems: what some of them share beyond that (an order of the options, say), then each
prompt's own rest. The stems are those that leave the fewest tokens to compute. Pure numpy; knows no model and no cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    stems = [
        Stem(stop, tuple(int(leaf) for leaf in leaves[(reads > node) & (reads < trie.ends[node])]))
        for node, stop in _stem_nodes(trie, reads, root, inside)
    ]
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


def _stem_nodes(trie: Trie, reads: Ints, root: int, inside: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Last node and length of every stem: the prompts below the node continue from it, all others from the root.

    Children come after their parent, so one sweep from the end decides for each node whether its prompts are cheaper
    from a stem that ends with it, or from stems further down.
    """
    kept, parents = (trie.depths + 1).tolist(), trie.parents.tolist()
    ends, cut = trie.ends.tolist(), inside.tolist()
    ending = set(reads.tolist())
    # Of the prompts that read strictly below a node: how many, their tokens, and the tokens computed without its stem.
    below, linear, split = ([0] * trie.size for _ in range(3))
    stem = [False] * trie.size
    for node in reversed(range(trie.size)):
        best = split[node]
        if kept[node] > root and not cut[node] and below[node] > 1:
            whole = kept[node] - root + linear[node] - below[node] * kept[node]
            stem[node] = whole < best
            best = min(whole, best)
        parent = parents[node]
        if parent >= 0:
            reads_here = node in ending
            below[parent] += below[node] + reads_here
            linear[parent] += linear[node] + reads_here * kept[node]
            split[parent] += best + reads_here * (kept[node] - root)
    found = []
    node = 0
    while node < trie.size:
        if stem[node]:
            found.append((node, kept[node]))
        node = ends[node] if stem[node] else node + 1
    return found


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
