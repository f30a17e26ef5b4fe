"""Two audits of what the empty-thinking rates cannot see: copies of the question, and answers explained afterwards.

A trace that repeats the question is text without inference; an answer that comes first leaves an empty trace although
a rationale follows. Thresholds: arXiv 2610.11765, table E.1, completed in `docs/etr.md`. Knows no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from thinkgap.metrics import Estimate
from thinkgap.metrics.intervals import MISSING
from thinkgap.nothinking.reading import ResponseReading
from thinkgap.responses.noise import lexical_tokens
from thinkgap.responses.normalise import normalise

N = 4
LEAST = 5
"""Four-grams that a component of a question has at least (8 words), to be looked for."""
COPY = 0.8
"""Containment and cover from which on a trace is a copy."""
SWEEP = (0.6, 0.7, 0.8, 0.9)
"""Thresholds that the tables show."""

Gram = tuple[str, str, str, str]


@dataclass(frozen=True)
class Copy:
    """How much of a question a trace repeats. Shares in [0, 1]."""

    n_components: int
    """Parts of the question that are long enough to be looked for."""
    containment: float | None
    """Largest share of a component's four-grams that are in the trace; None without a component."""
    cover: float | None
    """Share of the trace's four-grams that are in some component; 0 for a trace of fewer than 4 words; None without a
    component."""

    def is_copy(self, containment: float = COPY, cover: float = COPY) -> bool:
        """Whether both shares reach their thresholds: a worked solution that quotes the question is no copy."""
        if self.containment is None or self.cover is None:
            return False
        return self.containment >= containment and self.cover >= cover


def copied(parts: Sequence[str], trace: str) -> Copy | None:
    """Four-gram containment of a question's components in a trace, on lower-cased lexical tokens, as multisets.

    Args:
        parts: context, question stem and each option apart; None comes back if there are none.
        trace: the pre-answer trace.
    """
    return copied_words(parts, lexical_tokens(trace))


def copied_words(parts: Sequence[str], words: Sequence[str]) -> Copy | None:
    """`copied` of a trace whose lexical tokens are known."""
    if not parts:
        return None
    components, known = _components(tuple(parts))
    if not components:
        return Copy(0, None, None)
    # Most traces share nothing with the question; those that do are counted.
    found = known.intersection(_grams(words))
    if not found:
        return Copy(len(components), 0.0, 0.0)
    grams = Counter(gram for gram in _grams(words) if gram in found)
    most = max(
        sum(min(component[gram], grams[gram]) for gram in found & component.keys()) / component.total()
        for component in components
    )
    return Copy(len(components), most, grams.total() / (len(words) - N + 1))


def is_answer_first(reading: ResponseReading) -> bool | None:
    """Whether the first box comes after at most 3 words and before at least 3; None for a response without a box."""
    return reading.answer_first if reading.boxed else None


def exact_rate(hits: int, n: int) -> Estimate:
    """A share with its 95% Clopper-Pearson interval, for rates close to 0; rows count as independent.

    Raises:
        ValueError: more hits than rows.
    """
    if hits > n or hits < 0:
        raise ValueError(f"{hits} of {n} is no rate")
    if not n:
        return MISSING
    from scipy import stats  # slow to import

    interval = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    return Estimate(hits / n, float(interval.low), float(interval.high), n)


def _grams(words: Sequence[str]) -> Iterator[Gram]:
    lower = [word.lower() for word in words]
    return zip(lower, lower[1:], lower[2:], lower[3:], strict=False)


@lru_cache(maxsize=4096)
def _components(parts: tuple[str, ...]) -> tuple[list[Counter[Gram]], frozenset[Gram]]:
    """The four-grams of the components that are long enough, and all of them; kept for other modes."""
    counted = [Counter(_grams(lexical_tokens(normalise(part)))) for part in parts]
    components = [grams for grams in counted if grams.total() >= LEAST]
    return components, frozenset(gram for grams in components for gram in grams)
