"""States and native records of the training items and of the items that are reported, each from a run of their own.

Such a run is either made here, by the code that `evaluate.py` runs, or one that is finished already. Rows and states
belong together by key. Knows no head and no loss.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from probes.capture_run import FINAL_NORM, evaluation_of, run_quietly
from probes.compare import require_model
from probes.runs import items_of_run, stored_dataset
from thinkgap.backends.hf import HFBackend
from thinkgap.data import load_dataset_items
from thinkgap.errors import ConfigError, DataError, StoreError, nearest
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.conditions import all_conditions
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import CaptureConfig, DatasetConfig, EvaluateConfig, EvaluationConfig, ModeConfig, TrainConfig
from thinkgap.store.features import features_of_run
from thinkgap.store.manifest import read_manifest
from thinkgap.store.records import read_records
from thinkgap.types import Item, Record

log = logging.getLogger(__name__)

FINAL_STATE = FINAL_NORM
"""The last state after the final norm, which the head reads."""
_ROLES = {"train": "fit", "eval": "test"}
"""Which settings a source is about."""
_CAPTURED = "evaluation.capture.enabled=true evaluation.capture.final_norm=true"


@dataclass(frozen=True)
class Source:
    """Where the states of one split come from, known before a model is loaded."""

    name: str
    """`train` or `eval`: of its sub folder, and in messages."""
    dataset: DatasetConfig
    conditions: tuple[str, ...]
    run: Path | None
    """A finished run; None if the model is still to read the items."""
    items: Mapping[str, Item] | None
    """By id; None if the data set of a finished run is not at hand."""


@dataclass(frozen=True)
class Split:
    """Rows in their source's order, the state of each, and the run that they come from."""

    folder: Path
    records: tuple[Record, ...]
    """`n` native records, one per item and condition."""
    states: Tensor
    """`[n, d]`, final-layer states after the final norm, in the stored number type."""
    manifest: Mapping[str, Any]

    def under(self, condition: str) -> Split:
        """The rows of one condition."""
        return self.chosen([row for row, record in enumerate(self.records) if record.condition == condition])

    def chosen(self, rows: Sequence[int]) -> Split:
        """Some of the rows."""
        return replace(self, records=tuple(self.records[row] for row in rows), states=self.states[list(rows)])


def find_sources(cfg: TrainConfig) -> tuple[Source, Source]:
    """Training and evaluation split: what is there, and whether it can be had.

    Raises:
        ThinkgapError: a split that is not there, a folder that is no finished run with final states, or a condition
            of `probe.conditions` that no training row has.
    """
    probe = cfg.probe
    split = probe.fit or "train"
    drawn = replace(cfg.dataset, split=split, limit=probe.examples)
    evaluation = _source(cfg, "eval", cfg.dataset, probe.test_features)
    try:
        train = _source(cfg, "train", drawn, probe.fit_features)
    except (DataError, ConfigError) as error:
        raise type(error)(
            f"training items (probe.fit={split}): {error}. Name a split that is there, such as "
            "probe.fit=validation, choose another dataset=..., or give probe.fit_features=RUN_FOLDER"
        ) from error
    wanted = list(train.conditions if probe.conditions is None else dict.fromkeys(probe.conditions))
    for name in wanted:
        if name not in train.conditions:
            raise ConfigError(
                f"probe.conditions: '{name}' is no condition of this run{nearest(name, train.conditions)}"
            )
    return replace(train, conditions=tuple(wanted)), evaluation


def _source(cfg: TrainConfig, name: str, dataset: DatasetConfig, run: str | None) -> Source:
    if run is None:
        conditions = all_conditions(cfg.trigger, ModeConfig(), cfg.prompt)
        items = {item.id: item for item in load_dataset_items(dataset).items}
        return Source(name, dataset, tuple(one.name for one in conditions), None, items)
    folder = Path(run).expanduser()
    manifest = _finished_manifest(folder, name)
    items = items_of_run(f"probe.{_ROLES[name]}_features", manifest)
    return Source(name, stored_dataset(manifest), tuple(one["name"] for one in manifest["conditions"]), folder, items)


def _finished_manifest(folder: Path, name: str) -> dict[str, Any]:
    try:
        manifest = read_manifest(folder)
    except StoreError as error:
        raise StoreError(f"probe.{_ROLES[name]}_features: {error}") from None
    if FINAL_STATE not in (manifest.get("states") or ()):
        raise StoreError(
            f"probe.{_ROLES[name]}_features: {folder} kept no state '{FINAL_STATE}' (the last state after the final "
            f"norm); run that evaluation with {_CAPTURED}"
        )
    return manifest


def load_config(cfg: TrainConfig) -> EvaluateConfig:
    """The evaluation that a capture is, so far as it does not depend on the split."""
    return evaluation_of(cfg, EvaluationConfig(capture=CaptureConfig(enabled=True, layers=[], final_norm=True)))


def read_split(cfg: TrainConfig, source: Source, backend: HFBackend, folder: Path) -> Split:
    """The states of a source: computed into `folder` (what is there already is not computed again), or read.

    Args:
        cfg: the settings.
        source: what is wanted.
        backend: the model; no more than described if the source is a finished run.
        folder: where runs of the model go.

    Raises:
        StoreError: features of another model, or none of a shown order.
        ThinkgapError: what the evaluation raises.
    """
    if source.run is None:
        where = folder / source.name
        log.info("%s features: %s reads %s", source.name, cfg.model.name, source.dataset.split)
        asked = replace(load_config(cfg), dataset=source.dataset, trigger=_narrowed(cfg, source))
        run_quietly(asked, where, backend)
    else:
        where = source.run
        require_model(cfg.model.name, backend.describe(), where, read_manifest(where)["model"])
    found = _rows(where)
    kept = [row for row, record in enumerate(found.records) if record.presentation == IDENTITY]
    if len(kept) < len(found.records):
        log.info("%s features: %d rows of other orders are left out", source.name, len(found.records) - len(kept))
    if not kept:
        raise StoreError(f"{where} has no rows in the source's own order of options; give another run")
    split = found.chosen(kept)
    return split if source.name != "train" else _sampled(split, cfg.probe.examples, cfg.dataset.seed)


def _narrowed(cfg: TrainConfig, source: Source) -> Any:
    """The triggers that a source needs; Direct always comes with them."""
    named = {name: spec for name, spec in cfg.trigger.conditions.items() if name in source.conditions}
    return replace(cfg.trigger, conditions=named)


def _rows(folder: Path) -> Split:
    """All native rows of a run with their final states, joined by key."""
    features = features_of_run(folder, [FINAL_STATE], readout=NATIVE)
    names = ("item_id", "presentation", "condition")
    places = {
        key: row for row, key in enumerate(zip(*(features.rows[name].to_pylist() for name in names), strict=True))
    }
    records = [record for record in read_records(folder) if record.readout == NATIVE]
    order = [places[record.item_id, record.presentation, record.condition] for record in records]
    return Split(folder, tuple(records), features.states[order, 0], read_manifest(folder))


def _sampled(split: Split, n: int | None, seed: int) -> Split:
    """At most `n` items of a split, the same under every condition; None keeps all."""
    if n is None:
        return split
    ids = sorted({record.item_id for record in split.records})
    if len(ids) <= n:
        if len(ids) < n:
            log.warning("probe.examples=%d: there are %d training items", n, len(ids))
        return split
    drawn = {ids[place] for place in np.random.default_rng(seed).permutation(len(ids))[:n]}
    return split.chosen([row for row, record in enumerate(split.records) if record.item_id in drawn])
