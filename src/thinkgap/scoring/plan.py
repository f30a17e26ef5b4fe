"""Linear prompts -> one trie of token ids, so that a prefix which several prompts share is computed once.

A prompt is tokenised whole before it comes here: merges at a joint differ when pieces are tokenised apart. Image
tokens all have the same id, so they are told apart by the image they stand for. Pure numpy; knows no model, no mask
layout and no image processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
# Codes of image tokens start above every vocabulary.
_IMAGE_CODES = 1 << 30


@dataclass(frozen=True)
class Span:
    """The run of image tokens that stands for one image of a linear prompt."""

    start: int
    length: int
    content: str
    """Digest of the image."""


@dataclass(frozen=True)
class LinearPrompt:
    """What planning needs of one prompt."""

    ids: Sequence[int]
    spans: tuple[Span, ...] = ()
    """Its images in order."""
    positions: Ints | None = None
    """The model's own positions of this prompt alone, `[A, T]` with A = 1 or 3; None counts from 0."""


@dataclass(frozen=True)
class Occurrence:
    """One image of a trie, shared by every prompt that passes through it."""

    start: int
    """Its first node; its nodes are consecutive."""
    length: int
    prompt: int
    """A prompt that shows it, by its number in the plan."""
    ordinal: int
    """Which image of that prompt it is."""


@dataclass(frozen=True)
class Trie:
    """Distinct prefixes of some prompts, in preorder: a node's subtree is `node .. ends[node] - 1`.

    So node `j` is an ancestor of `i`, or `i` itself, exactly if `j <= i < ends[j]`.
    """

    tokens: Ints
    """`[N]` token ids."""
    parents: Ints
    """`[N]` parent node, -1 at a root."""
    depths: Ints
    """`[N]` index of the node's token in every linear prompt that holds it."""
    ends: Ints
    """`[N]` one past the last node of the subtree."""
    positions: Ints
    """`[A, N]` positions, those of the linear prompts."""
    blocks: Ints
    """`[N]` number of the image occurrence that the node belongs to, or -1."""
    reads: Ints
    """`[P]` read node per prompt; may be inner, and equal prompts share one."""
    images: tuple[Occurrence, ...]
    """In node order."""
    n_linear: int
    """Tokens that the prompts have when each is computed alone."""

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.tokens)

    def path(self, prompt: int) -> Ints:
        """Nodes of a prompt from its root to its read node."""
        read = int(self.reads[prompt])
        return np.flatnonzero(self.ends[: read + 1] > read)


def build_trie(prompts: Sequence[LinearPrompt]) -> Trie:
    """The trie of `prompts`.

    Sorted prompts differ from their predecessor in a suffix only, and those suffixes in order are the preorder.

    Raises:
        ValueError: a prompt is empty, or two prompts disagree on the positions of a prefix they share.
    """
    if not prompts or min(len(prompt.ids) for prompt in prompts) == 0:
        raise ValueError("a trie needs at least one prompt, and every prompt at least one token")
    codes = _codes(prompts)
    # Big-endian bytes compare like the sequences of numbers they hold, a prefix before what extends it.
    order = sorted(range(len(prompts)), key=[code.astype(">u4").tobytes() for code in codes].__getitem__)
    lengths = np.array([len(codes[index]) for index in order])
    shared = _shared(codes, order, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths - shared)])
    size = int(starts[-1])

    parents, ends = np.arange(-1, size - 1), np.full(size, size)
    depths, tokens = np.empty(size, np.int64), np.empty(size, np.int64)
    reads = np.empty(len(prompts), np.int64)
    given = [prompt.positions for prompt in prompts if prompt.positions is not None]
    positions = np.empty((given[0].shape[0] if given else 1, size), np.int64)
    path = np.empty(int(lengths.max()), np.int64)
    for row, index in enumerate(order):
        kept, length = int(shared[row]), int(lengths[row])
        first, past = int(starts[row]), int(starts[row + 1])
        if row:
            ends[path[kept : lengths[row - 1]]] = first
        if kept < length:
            parents[first] = path[kept - 1] if kept else -1
            path[kept:length] = np.arange(first, past)
            depths[first:past] = np.arange(kept, length)
            tokens[first:past] = np.asarray(prompts[index].ids[kept:length])
        own = _positions(prompts[index], length, len(positions))
        positions[:, first:past] = own[:, kept:]
        if not np.array_equal(positions[:, path[:kept]], own[:, :kept]):
            raise ValueError(f"prompt {index} has other positions than an earlier one on {kept} shared tokens")
        reads[index] = path[length - 1]
    images, blocks = _occurrences(prompts, order, shared, starts, size)
    return Trie(tokens, parents, depths, ends, positions, blocks, reads, images, int(lengths.sum()))


def _codes(prompts: Sequence[LinearPrompt]) -> list[NDArray[np.uint32]]:
    """Per prompt its tokens as numbers that are equal exactly if the tokens may be merged."""
    known: dict[tuple[str, int, int], int] = {}
    codes = []
    for prompt in prompts:
        code = np.array(prompt.ids, dtype=np.uint32)
        for ordinal, span in enumerate(prompt.spans):
            key = (span.content, span.length, ordinal)
            code[span.start : span.start + span.length] = _IMAGE_CODES + known.setdefault(key, len(known))
        codes.append(code)
    return codes


def _shared(codes: Sequence[NDArray[np.uint32]], order: Sequence[int], lengths: Ints) -> Ints:
    """Per sorted prompt, how many of its first tokens its predecessor has too; 0 for the first."""
    table = np.zeros((len(order), int(lengths.max())), np.int64) - 1
    for row, index in enumerate(order):
        table[row, : lengths[row]] = codes[index]
    equal = table[1:] == table[:-1]
    common = np.where(equal.all(axis=1), table.shape[1], equal.argmin(axis=1))
    return np.concatenate([[0], np.minimum(common, lengths[1:])])


def _positions(prompt: LinearPrompt, length: int, axes: int) -> Ints:
    if prompt.positions is None:
        return np.broadcast_to(np.arange(length), (axes, length))
    if prompt.positions.shape != (axes, length):
        raise ValueError(f"positions of shape {prompt.positions.shape} for {length} tokens on {axes} axes")
    return prompt.positions


def _occurrences(
    prompts: Sequence[LinearPrompt], order: Sequence[int], shared: Ints, starts: Ints, size: int
) -> tuple[tuple[Occurrence, ...], Ints]:
    """Images in node order, and per node the number of its image. An image is shared whole or not at all."""
    images: list[Occurrence] = []
    blocks = np.full(size, -1)
    for row, index in enumerate(order):
        for ordinal, span in enumerate(prompts[index].spans):
            if span.start >= shared[row]:
                first = int(starts[row] + span.start - shared[row])
                blocks[first : first + span.length] = len(images)
                images.append(Occurrence(first, span.length, index, ordinal))
    return tuple(images), blocks
