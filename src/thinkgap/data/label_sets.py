"""Other labels than A, B, C: ready-made sets under which the same options are shown in the same slots.

In most benchmarks the first slot always carries the letter A, so a model that prefers the first slot cannot be told
from one that prefers the token A. Whether a set can be read, one token to a label, is the tokenizer's matter and is
found out in `evaluation.presentations`; this file knows no tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thinkgap.data.present import LABELS
from thinkgap.errors import ConfigError, nearest
from thinkgap.types import LETTERS, Presentation


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


def check_label_set(name: str) -> None:
    """Refuse a name that is no label set.

    Raises:
        ConfigError: with the nearest names.
    """
    if name not in LABEL_SETS:
        raise ConfigError(f"evaluation.permutation.label_sets: no label set {name!r}{nearest(name, LABEL_SETS)}")


def with_labels(presentation: Presentation, name: str) -> Presentation | None:
    """`presentation` under the labels of a set, named `letters_{name}`.

    Returns:
        None for an item that shows no labels (yes/no, open), or has more options than the set has labels.

    Raises:
        ConfigError: no such set.
    """
    check_label_set(name)
    chosen = LABEL_SETS[name]
    if presentation.item.answer_space != "mcq" or presentation.k > len(chosen.labels):
        return None
    return replace(presentation, labels=chosen.shown(presentation.k), name=f"{LABELS}{name}")
