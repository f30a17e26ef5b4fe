"""Whether a label depends on what else was in its request: labels of a second reading beside those of the first.

Gives the pairs of labels and their counts; coefficients are `thinkgap.metrics`'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgap.judging.rubric import EXPLICIT
from thinkgap.types import Judgement, Pair, TraceLabel


@dataclass(frozen=True)
class Check:
    """Labels of the same traces, asked about in two ways."""

    name: str
    """`order check`: batches in reverse; `single check`: each trace alone."""
    labels: tuple[tuple[TraceLabel, TraceLabel], ...]
    """(first, second) of each trace that has a label both times."""
    unlabelled: int
    """Traces of the sample that have no label in at least one of the two readings."""

    @property
    def n(self) -> int:
        """Traces that are compared."""
        return len(self.labels)

    @property
    def same(self) -> int:
        """Of them, those with the same of the five labels."""
        return sum(first == second for first, second in self.labels)

    @property
    def same_explicit(self) -> int:
        """Of them, those that are explicit reasoning both times or neither time."""
        return sum((first == EXPLICIT) == (second == EXPLICIT) for first, second in self.labels)


def compare(
    name: str, pairs: Sequence[Pair], first: Mapping[Pair, Judgement], second: Mapping[Pair, Judgement]
) -> Check:
    """Two readings of a sample.

    Args:
        name: of the check.
        pairs: the sample.
        first: judgements of the first reading; a pair may lack one.
        second: of the second.
    """
    labels: list[tuple[TraceLabel, TraceLabel]] = []
    for pair in pairs:
        one, other = first.get(pair), second.get(pair)
        if one and other and one.label is not None and other.label is not None:
            labels.append((one.label, other.label))
    return Check(name, tuple(labels), len(pairs) - len(labels))
