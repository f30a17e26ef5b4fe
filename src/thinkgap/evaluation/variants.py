"""The rewrites and perturbations of a run: its items, those that cannot be shown so, and hardest negatives.

Knows settings, data and the records of earlier runs; no model.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from thinkgap.data import LoadedDataset, load_dataset_items
from thinkgap.data.variants import Rankings, Variants, check_variants, variants_of
from thinkgap.errors import ConfigError, StoreError
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.conditions import DIRECT
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import DatasetConfig, EvaluateConfig, VariantsConfig
from thinkgap.store.item_fields import check_fields
from thinkgap.store.manifest import read_manifest
from thinkgap.store.records import read_run
from thinkgap.types import Item

log = logging.getLogger(__name__)


def load_items(cfg: EvaluateConfig, dataset: DatasetConfig) -> LoadedDataset:
    """The items of a data set; with `evaluation.variants.matched` those that can be shown in every way asked for.

    Raises:
        ConfigError, DataError: settings or data that cannot be used.
    """
    loaded = _loaded(cfg, dataset)
    if not cfg.datasets:
        check_fields(cfg.evaluation.by, loaded.items)
    return loaded


def _loaded(cfg: EvaluateConfig, dataset: DatasetConfig) -> LoadedDataset:
    asked = cfg.evaluation.variants
    check_variants(asked)
    if not asked.matched:
        return load_dataset_items(dataset)
    if not asked.rewrites and not asked.surface:
        raise ConfigError(
            "evaluation.variants.matched=true keeps the items that can be shown in every way that is asked for: name "
            "some in evaluation.variants.rewrites or .surface"
        )
    return load_dataset_items(dataset, _unfit(asked, cfg.seed, rankings_of(cfg)))


def _datasets(cfg: EvaluateConfig) -> list[DatasetConfig]:
    return list((cfg.datasets or {cfg.dataset.name: cfg.dataset}).values())


def _unfit(asked: VariantsConfig, seed: int, rankings: Rankings | None) -> Callable[[Item], str]:
    def reason(item: Item) -> str:
        missing = variants_of(item, asked, seed, rankings).missing
        return next((f"{name}: {why}" for name, why in missing.items()), "")

    return reason


def shown_variants(cfg: EvaluateConfig, items: Sequence[Item]) -> list[Variants]:
    """Rewrites and perturbations of each item; tells how many items lack one.

    Raises:
        ConfigError, StoreError: settings that cannot be used, or an earlier run without readings.
    """
    asked = cfg.evaluation.variants
    check_variants(asked)
    rankings = rankings_of(cfg)
    found = [variants_of(item, asked, cfg.seed, rankings) for item in items]
    for name in dict.fromkeys([*asked.rewrites, *asked.surface]):
        reasons = [one.missing[name] for one in found if name in one.missing]
        if reasons:
            counted = "; ".join(f"{reason} ({n})" for reason, n in Counter(reasons).most_common())
            log.info("%d of %d items have no %s: %s", len(reasons), len(items), name, counted)
    return found


def rankings_of(cfg: EvaluateConfig) -> Rankings | None:
    """Contents by likelihood under Direct in the run that `negative=hardest` names; None for other negatives.

    Raises:
        ConfigError: the run is of another model, or of another data set.
        StoreError: no finished run of the native readout.
    """
    folder = cfg.evaluation.variants.hardest_from
    if folder is None:
        return None
    path = Path(folder).expanduser()
    settings = read_manifest(path).get("config", {})
    model = settings.get("model", {}).get("path")
    if model != cfg.model.path:
        raise ConfigError(
            f"evaluation.variants.hardest_from={folder} is a run of {model}, not of {cfg.model.path}: the hardest "
            "negative is the model's own second label"
        )
    # Ids are those of a data set: two sets can both have an item 17.
    name, names = settings.get("dataset", {}).get("name"), [one.name for one in _datasets(cfg)]
    if names != [name]:
        raise ConfigError(
            f"evaluation.variants.hardest_from={folder} is a run on {name}, not on {', '.join(names)}: negatives come "
            "from a run on the same data set, so ask one data set at a time"
        )
    found: dict[str, list[int]] = {}
    columns = ["item_id", "presentation", "condition", "readout", "order", "label_logprobs"]
    for row in read_run(path).select(columns).to_pylist():
        if (row["presentation"], row["condition"], row["readout"]) != (IDENTITY, DIRECT, NATIVE):
            continue
        logprobs = row["label_logprobs"]
        ranked = sorted(range(len(logprobs)), key=lambda slot: (-logprobs[slot], slot))
        found[row["item_id"]] = [row["order"][slot] for slot in ranked]
    if not found:
        raise StoreError(f"evaluation.variants.hardest_from={folder} has no native reading under {DIRECT}")
    return found
