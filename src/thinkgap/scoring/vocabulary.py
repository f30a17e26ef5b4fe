"""Which tokens count as the start of a rationale.

Study A sums next-token probability over a fixed set of continuation tokens ("First", "Let", "The", ...) and does not
publish the full list; `types.REASONING_WORDS` is ours, and a setting. Knows a tokenizer only as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thinkgap.prompts.labels import label_tokens
from thinkgap.types import AMBIGUOUS_WORDS, REASONING_WORDS


@dataclass(frozen=True)
class ReasoningTokens:
    """Ids of both sets, sorted."""

    all: tuple[int, ...]
    strict: tuple[int, ...]


def reasoning_tokens(
    tokenize: Callable[[str], list[int]],
    words: Sequence[str] = REASONING_WORDS,
    ambiguous: Sequence[str] = AMBIGUOUS_WORDS,
) -> ReasoningTokens:
    """Single-token forms of the words, with and without a leading space.

    Args:
        tokenize: whole text -> ids.
        words: what opens a rationale.
        ambiguous: those of them that open an answer as well.
    """

    def ids(words: Sequence[str]) -> set[int]:
        found = [label_tokens(tokenize, "x\n", word) for word in words]
        return {token for one in found for token in (one.bare, one.spaced) if token is not None}

    every = ids(words)
    # A token that two words share, if a tokenizer folds case, is ambiguous too.
    return ReasoningTokens(tuple(sorted(every)), tuple(sorted(every - ids(ambiguous))))
