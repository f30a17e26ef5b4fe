"""What presentations are called, and the labels of each ready-made set, for what makes them and for what reads them.

Imports the core types alone, so that tables can be made of records without loading anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinkgap.types import LETTERS

IDENTITY = "identity"
"""The source's order under its own letters; readouts are compared with each other on it."""
LABELS = "letters_"
FACTORIAL = "factorial_"
CONTROL = "control_"
VERIFICATION = "verification_"
OPENED = "open_"
SURFACE = "surface_"
"""How the names of presentations begin that are no plain order of the options under the source's letters."""
CONTROLS = ("text_only", "options_only", "shuffled_images")
POSITIVE = f"{VERIFICATION}positive"
NEGATIVE = f"{VERIFICATION}negative"
OPEN_NUMERIC = f"{OPENED}numeric"
OPEN_TEXT = f"{OPENED}text"
REWRITES: Mapping[str, tuple[str, ...]] = {
    "verification": (POSITIVE, NEGATIVE),
    "open_numeric": (OPEN_NUMERIC,),
    "open_text": (OPEN_TEXT,),
}
"""Rewrite -> the presentations that it makes of an item."""
SHUFFLE = f"{SURFACE}shuffle"
BULLETS = f"{SURFACE}bullets"


def is_order(name: str) -> bool:
    """Whether a presentation of that name shows the whole item under its own letters: identity, or another order."""
    return not name.startswith((LABELS, FACTORIAL, CONTROL, VERIFICATION, OPENED, SURFACE))


def is_rewrite(name: str) -> bool:
    """Whether a presentation of that name asks for another kind of answer than the item does."""
    return name.startswith((VERIFICATION, OPENED))


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


_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii")

LABEL_SETS = {
    "reversed": LabelSet(tuple(LETTERS), backwards=True),
    "late": LabelSet(tuple("PQRSTUVWXY")),
    "lower": LabelSet(tuple("abcdefghijklmnopqrst")),
    "numeric": LabelSet(tuple(str(number) for number in range(1, 21))),
    "roman": LabelSet(_ROMAN),
    # Nine: most tokenizers write 10 as two tokens.
    "digits": LabelSet(tuple("123456789")),
    # Those that mathematics has made common, so that most tokenizers know them; capitals look like Latin letters.
    "greek": LabelSet(tuple("αβγδεθλμπσ")),
    # Without those that look like a Latin letter, А above all.
    "cyrillic": LabelSet(tuple("БГДЖЗИЛПФЦ")),
    # Single signs that open no word and no sentence.
    "nonword": LabelSet(tuple("#@&%+=~^$*")),
}
"""By name. `reversed` is the item's own letters from last to first: A stands in the last slot. `numeric`, `lower` and
`roman` are surface perturbations; where a label is read as one token, `digits` is `numeric` for up to nine options."""
