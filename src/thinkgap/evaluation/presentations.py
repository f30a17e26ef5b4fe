"""In which presentations a run shows each item: orders, other letters, letters apart from slots, and controls.

What is asked for is checked before a model is loaded; which label sets its tokenizer can read is found out after.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgap.data import stratified_sample
from thinkgap.data.controls import Images, check_control, control, shuffled_images
from thinkgap.data.label_sets import check_label_set, with_labels
from thinkgap.data.present import factorial, identity, orders
from thinkgap.data.referring import referring
from thinkgap.errors import ConfigError, DataError, LabelError
from thinkgap.evaluation.describe import examples
from thinkgap.evaluation.variants import shown_variants
from thinkgap.presentation_names import CONTROL, LABELS, OPENED, SURFACE
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import EvaluateConfig, EvaluationConfig
from thinkgap.types import Item, Presentation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    """Every item with its presentations, `identity` first."""

    items: list[list[Presentation]]
    referring: tuple[str, ...] = ()
    """Ids of the items in which an option refers to others; left out unless `keep_referring`."""


def presentations_of(cfg: EvaluateConfig, items: Sequence[Item], *, reads_labels: bool = True) -> Shown:
    """All presentations of all items, as `evaluation.permutation`, `.variants` and `.controls` ask.

    Args:
        cfg: the settings.
        items: those of one data set.
        reads_labels: whether labels are read, which open questions do not have.

    Raises:
        ConfigError: open questions, a label set or control that does not exist, or orders that are too many.
        DataError: no item is left.
    """
    asked = cfg.evaluation
    opened = [item.id for item in items if item.answer_space == "open"]
    if reads_labels and (rewrites := [name for name in asked.variants.rewrites if name.startswith(OPENED)]):
        raise ConfigError(
            f"evaluation.variants.rewrites={rewrites[0]} takes the options away, so there are no labels to read: "
            "leave it out, or choose evaluation=no_thinking"
        )
    if reads_labels and opened:
        raise ConfigError(
            f"dataset={cfg.dataset.name} has {len(opened)} open questions (the first: {opened[0]}), which have no "
            "labels to read: choose a multiple-choice or yes/no data set"
        )
    for name in asked.permutation.label_sets:
        check_label_set(name)
    for name in asked.controls:
        check_control(name)
    if asked.permutation.factorial < 0:
        raise ConfigError(f"evaluation.permutation.factorial={asked.permutation.factorial}: must be at least 0")
    refer = tuple(item.id for item in items if referring(item.choices))
    kept = list(items) if asked.permutation.keep_referring else _without(items, refer)
    others = shuffled_images(kept, cfg.seed) if "shuffled_images" in asked.controls else {}
    choices = [item for item in kept if item.answer_space == "mcq"]
    sample = {item.id for item in stratified_sample(choices, asked.permutation.factorial, cfg.seed)}
    variants = shown_variants(cfg, kept)
    shown = [
        _presentations(item, asked, cfg.seed, others, item.id in sample, one.shown)
        for item, one in zip(kept, variants, strict=True)
    ]
    _tell_empty(asked, shown)
    return Shown(shown, refer)


def _without(items: Sequence[Item], refer: Sequence[str]) -> list[Item]:
    """The items whose options do not refer to others; says how many do."""
    left_out = set(refer)
    kept = [item for item in items if item.id not in left_out]
    if refer:
        log.info(
            "%d items are left out because an option refers to others (evaluation.permutation.keep_referring=false), "
            "the first: %s",
            len(refer),
            refer[0],
        )
    if items and not kept:
        raise DataError(
            f"in all {len(items)} items an option refers to others: set evaluation.permutation.keep_referring=true"
        )
    return kept


def _presentations(
    item: Item,
    asked: EvaluationConfig,
    seed: int,
    others: Mapping[str, Images],
    in_sample: bool,
    variants: Sequence[Presentation],
) -> list[Presentation]:
    own = identity(item)
    shown = orders(item, asked.permutation.orders, asked.permutations, seed)
    # A name that is given twice would make two rows of one key.
    lettered = [with_labels(own, name) for name in dict.fromkeys(asked.permutation.label_sets)]
    shown += [one for one in lettered if one is not None]
    shown += [one for one in variants if one.name not in {other.name for other in shown}]
    if in_sample:
        shown += factorial(item)
    for name in dict.fromkeys(asked.controls):
        changed = control(item, name, others)
        if changed is not None:
            shown.append(Presentation(changed, own.order, own.labels, f"{CONTROL}{name}"))
    return shown


def _tell_empty(asked: EvaluationConfig, shown: Sequence[Sequence[Presentation]]) -> None:
    present = {one.name for item in shown for one in item}
    for kind, names in ((LABELS, asked.permutation.label_sets), (CONTROL, asked.controls)):
        for name in names:
            if f"{kind}{name}" not in present:
                log.warning("no item can be shown as %s%s, so there will be no figures of it", kind, name)


def without_unread(builder: PromptBuilder, shown: Shown) -> tuple[list[list[Presentation]], dict[str, str]]:
    """The items without the label sets that this model's tokenizer cannot read, and why: set -> reason.

    A set is left out whole if its labels are not one token each for some number of options, so that no figure of it
    stands on a part of the items. No item is left out.
    """
    unread: dict[str, str] = {}
    others: dict[str, list[Presentation]] = {}
    for one in (one for item in shown.items for one in item if one.name.startswith((LABELS, SURFACE))):
        others.setdefault(one.name, []).append(one)
    for name, example in (
        (name, one) for name, presentations in others.items() for one in examples(builder, presentations)
    ):
        if name in unread:
            continue
        direct, _ = builder.text(example, builder.conditions[0])
        try:
            for condition in builder.conditions:
                text, _ = builder.text(example, condition)
                builder.read_ids(example, condition, text, direct)
        except LabelError as error:
            unread.setdefault(name, str(error))
    for name, reason in unread.items():
        log.warning("%s is left out: %s", name, reason)
    kept = [[one for one in item if one.name not in unread] for item in shown.items]
    return kept, {name.removeprefix(LABELS): reason for name, reason in unread.items()}
