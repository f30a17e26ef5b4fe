"""Which tokens count as the start of a rationale.

Study A sums next-token probability over a fixed set of continuation tokens ("First", "Let", "The", ...) and does not
publish the full list; this one is ours. Knows a tokenizer only as a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinkgap.prompts.labels import label_tokens

REASONING_WORDS = (
    "First",
    "Let",
    "The",
    "To",
    "We",
    "Step",
    "Since",
    "Because",
    "So",
    "Given",
    "Based",
    "Looking",
    "In",
    "It",
    "This",
    "If",
    "Now",
    "Okay",
    "Sure",
    "I",
)
AMBIGUOUS_WORDS = ("The", "It", "This", "In", "I")
"""These open an answer ("The answer is") as well as a rationale, so the mass is also given without them."""


@dataclass(frozen=True)
class ReasoningTokens:
    """Ids of both sets, sorted."""

    all: tuple[int, ...]
    strict: tuple[int, ...]


def reasoning_tokens(tokenize: Callable[[str], list[int]]) -> ReasoningTokens:
    """Single-token forms of the words, with and without a leading space.

    Args:
        tokenize: whole text -> ids.
    """

    def ids(words: tuple[str, ...]) -> set[int]:
        found = [label_tokens(tokenize, "x\n", word) for word in words]
        return {token for one in found for token in (one.bare, one.spaced) if token is not None}

    every = ids(REASONING_WORDS)
    # A token that two words share, if a tokenizer folds case, is ambiguous too.
    return ReasoningTokens(tuple(sorted(every)), tuple(sorted(every - ids(AMBIGUOUS_WORDS))))
