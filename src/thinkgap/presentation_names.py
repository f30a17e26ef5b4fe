"""What presentations are called, and the labels of each ready-made set, for what makes them and for what reads them.

Imports the core types alone, so that tables can be made of records without loading anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from thinkgap.types import LETTERS

IDENTITY = "identity"
"""The source's order under its own letters; readouts are compared with each other on it."""
LABELS = "letters_"
FACTORIAL = "factorial_"
CONTROL = "control_"
"""How the names of presentations begin that are no plain order of the options under the source's letters."""
CONTROLS = ("text_only", "options_only", "shuffled_images")


def is_order(name: str) -> bool:
    """Whether a presentation of that name shows the whole item under its own letters: identity, or another order."""
    return not name.startswith((LABELS, FACTORIAL, CONTROL))


@dataclass(frozen=True)
class LabelSet:
    """Labels in their own order, and how they go over the slots."""

    labels: tuple[str, ...]
    backwards: bool = False
    """Whether the labels that an item needs run from its last slot to its first."""

    def shown(self, k: int) -> tuple[str, ...]:
        """The labels of `k` slots."""
        own = self.labels[:k]
        return own[::-1] if self.backwards else own


LABEL_SETS = {
    "reversed": LabelSet(tuple(LETTERS), backwards=True),
    "late": LabelSet(tuple("PQRSTUVWXY")),
    "lower": LabelSet(tuple("abcdefghij")),
    # Nine: most tokenizers write 10 as two tokens.
    "digits": LabelSet(tuple("123456789")),
    # Those that mathematics has made common, so that most tokenizers know them; capitals look like Latin letters.
    "greek": LabelSet(tuple("αβγδεθλμπσ")),
    # Without those that look like a Latin letter, А above all.
    "cyrillic": LabelSet(tuple("БГДЖЗИЛПФЦ")),
    # Single signs that open no word and no sentence.
    "nonword": LabelSet(tuple("#@&%+=~^$*")),
}
"""By name. `reversed` is the item's own letters from last to first: A stands in the last slot."""
