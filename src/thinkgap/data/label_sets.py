"""Other labels than A, B, C: ready-made sets under which the same options are shown in the same slots.

In most benchmarks the first slot always carries the letter A, so a model that prefers the first slot cannot be told
from one that prefers the token A. Whether a set can be read, one token to a label, is the tokenizer's matter and is
found out in `evaluation.presentations`; this file knows no tokenizer.
"""

from __future__ import annotations

from dataclasses import replace

from thinkgap.errors import ConfigError, nearest
from thinkgap.presentation_names import LABEL_SETS, LABELS
from thinkgap.types import Presentation


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
