"""All rewrites and surface perturbations of an item that a run asks for, and why some cannot be shown.

Checks the names that are asked for; knows no prompt and no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgap.data.label_sets import check_label_set, with_labels
from thinkgap.data.open_form import open_numeric, open_text
from thinkgap.data.present import identity
from thinkgap.data.surface import bullets, shuffled
from thinkgap.data.verification import verification
from thinkgap.errors import ConfigError, nearest
from thinkgap.presentation_names import LABEL_SETS, REWRITES
from thinkgap.schema import Negative, VariantsConfig
from thinkgap.types import Item, Presentation

Rankings = Mapping[str, Sequence[int]]
"""Item id -> contents from the likeliest to the least likely one."""
SURFACES = ("shuffle", "bullets")
"""Surface perturbations that are no label sets."""


@dataclass(frozen=True)
class Variants:
    """An item in the ways that are asked for, its own apart."""

    shown: tuple[Presentation, ...]
    missing: Mapping[str, str]
    """Rewrite or perturbation -> why the item cannot be shown so."""


def check_variants(asked: VariantsConfig) -> None:
    """Refuse names that are no rewrite and no perturbation, and settings that contradict each other.

    Raises:
        ConfigError: with the nearest names.
    """
    for name in asked.rewrites:
        if name not in REWRITES:
            raise ConfigError(f"evaluation.variants.rewrites: no rewrite {name!r}{nearest(name, REWRITES)}")
    for name in asked.surface:
        if name not in SURFACES and name not in LABEL_SETS:
            known = (*SURFACES, *LABEL_SETS)
            raise ConfigError(f"evaluation.variants.surface: no perturbation {name!r}{nearest(name, known)}")
    if (asked.negative is Negative.hardest) != (asked.hardest_from is not None):
        raise ConfigError(
            "evaluation.variants.negative=hardest takes the second label of an earlier run: set "
            "evaluation.variants.hardest_from=RUN with it, and only with it"
        )


def variants_of(item: Item, asked: VariantsConfig, seed: int, rankings: Rankings | None = None) -> Variants:
    """An item under every rewrite and perturbation, in the order in which they are asked for.

    Args:
        item: the item.
        asked: checked settings (`check_variants`).
        seed: of the run.
        rankings: for `negative=hardest`.
    """
    shown: list[Presentation] = []
    missing: dict[str, str] = {}
    for name in dict.fromkeys([*asked.rewrites, *asked.surface]):
        found = _variant(item, name, asked, seed, (rankings or {}).get(item.id, ()))
        if isinstance(found, str):
            missing[name] = found
        else:
            shown += found
    return Variants(tuple(shown), missing)


def _variant(
    item: Item, name: str, asked: VariantsConfig, seed: int, ranking: Sequence[int]
) -> list[Presentation] | str:
    if name == "verification":
        return verification(item, asked.negative, seed, ranking)
    if name == "open_numeric":
        found = open_numeric(item)
    elif name == "open_text":
        found = open_text(item)
    elif name == "shuffle":
        found = shuffled(item, seed, allow_identity=asked.shuffle_identity)
    elif name == "bullets":
        found = bullets(item)
    else:
        check_label_set(name)
        found = with_labels(identity(item), name) or (
            "it has no options" if item.answer_space != "mcq" else "it has more options than the set has labels"
        )
    return found if isinstance(found, str) else [found]
