"""What `probe=lm_head_lora` knows before its first step: settings checked, states, the copied head, leaks dropped.

What cannot be honoured is refused here, before anything is trained.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probes.code import probes_digest
from probes.compare import require_same_prompts
from probes.features import Split, find_sources, load_config, read_split
from probes.head import Readout, check_readout, copy_readout
from probes.leakage import shared_items
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError, DataError
from thinkgap.evaluation.describe import code_digest
from thinkgap.evaluation.prepare import load_model
from thinkgap.schema import TrainConfig
from thinkgap.store.fingerprint import read_fingerprint
from thinkgap.store.manifest import library_versions
from thinkgap.store.redact import plain

log = logging.getLogger(__name__)

_NAMED = 3


@dataclasses.dataclass(frozen=True)
class Ready:
    """All that is known before the first step."""

    readout: Readout
    backend: HFBackend
    train: Split
    evaluation: Split
    trained: tuple[str, ...]
    """Conditions that get an adapter."""
    dropped: Mapping[str, str]
    """Training item -> what it shares with the items that are reported."""
    check_error: float
    """Largest error of the copied head against the runs' own label log-probabilities, in nats."""
    notes: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """Conditions that are reported, in the order of their run."""
        return [one["name"] for one in self.evaluation.manifest["conditions"]]

    @property
    def n_items(self) -> int:
        """Training items that are left."""
        return len({record.item_id for record in self.train.records})


def check_settings(cfg: TrainConfig) -> None:
    """Refuse numbers that mean nothing.

    Raises:
        ConfigError: naming the setting.
    """
    probe = cfg.probe
    least_one: dict[str, int] = {name: getattr(probe, name) for name in ("epochs", "batch_size")}
    if probe.examples is not None:
        least_one["examples"] = probe.examples
    least_one |= {f"lora.{name}": getattr(probe.lora, name) for name in ("rank", "alpha")}
    for name, value in least_one.items():
        if value < 1:
            raise ConfigError(f"probe.{name}={value}: must be at least 1")
    if not 0 <= probe.lora.dropout < 1:
        raise ConfigError(f"probe.lora.dropout={probe.lora.dropout}: must be at least 0 and less than 1")
    if probe.lora.learning_rate <= 0 or probe.lora.weight_decay < 0:
        raise ConfigError(
            f"probe.lora.learning_rate={probe.lora.learning_rate}, probe.lora.weight_decay={probe.lora.weight_decay}: "
            "a rate is above 0, a decay 0 or more"
        )
    if probe.conditions is not None and not probe.conditions:
        raise ConfigError("probe.conditions=[] trains nothing: name conditions, or null for all of the run")
    for name in ("select", "select_features", "test"):
        if getattr(probe, name) is not None:
            raise ConfigError(
                f"probe.{name}={getattr(probe, name)}: adapters select nothing, and are reported on dataset.split; "
                f"leave probe.{name} out"
            )
    if cfg.trainer.devices != 1 or cfg.trainer.num_nodes != 1:
        raise ConfigError("heads are trained in one process: set trainer.devices=1 and trainer.num_nodes=1")


def make_ready(cfg: TrainConfig, folder: Path) -> Ready:
    """States of both splits, the copied head, checked against them, and the training rows that may be used.

    Args:
        cfg: the settings.
        folder: of the run; the model's own runs go into `features` there.

    Raises:
        ThinkgapError: data, features or a model that cannot be used, or no training item left.
    """
    sources = find_sources(cfg)
    backend = load_model(load_config(cfg))
    train, evaluation = (read_split(cfg, source, backend, folder / "features") for source in sources)
    require_same_prompts(train.folder, train.manifest, evaluation.folder, evaluation.manifest)
    readout = copy_readout(backend)
    trained = sources[0].conditions
    errors = [
        check_readout(readout, part.states, part.records, str(split.folder))
        for split, names in ((train, trained), (evaluation, sources[1].conditions))
        for part in map(split.under, names)
        if part.records
    ]
    dropped = shared_items(train.records, evaluation.records, sources[0].items, sources[1].items)
    left = train.chosen(
        [
            row
            for row, record in enumerate(train.records)
            if record.item_id not in dropped and record.condition in trained
        ]
    )
    notes = [_tell_dropped(dropped, len(dropped) + len({record.item_id for record in left.records}))]
    if any(source.items is None for source in sources):
        notes.append("Images and wording of training and evaluation items were not compared: a data set is not here.")
    if not left.records:
        raise DataError(
            f"no training item is left in {train.folder}: all of them share an item id, group, image or question with "
            "the evaluation items; give another probe.fit, or features of other items"
        )
    return Ready(readout, backend, left, evaluation, trained, dropped, max(errors), tuple(filter(None, notes)))


def _tell_dropped(dropped: Mapping[str, str], n: int) -> str:
    """Say which training items were left out, in the log and as a note."""
    if not dropped:
        return ""
    reasons = ", ".join(f"{count} by {reason}" for reason, count in Counter(dropped.values()).items())
    named = ", ".join(list(dropped)[:_NAMED]) + (", ..." if len(dropped) > _NAMED else "")
    note = f"{len(dropped)} of {n} training items share something with an evaluation item and were dropped ({reasons})."
    log.warning("%s They are %s; all are in the manifest", note, named)
    return note


def lora_fingerprint(cfg: TrainConfig, ready: Ready) -> dict[str, Any]:
    """Everything that adapters and their records depend on, as JSON data."""
    libraries = library_versions()
    return {
        "probe": plain(dataclasses.asdict(cfg.probe)),
        "seed": cfg.seed,
        "train": read_fingerprint(ready.train.folder),
        "evaluation": read_fingerprint(ready.evaluation.folder),
        "conditions": list(ready.trained),
        "rows": hashlib.sha256(json.dumps([record.key for record in ready.train.records]).encode()).hexdigest(),
        "code": code_digest() + probes_digest(),
        "libraries": {name: libraries[name] for name in ("peft", "pytorch-lightning", "torch")},
    }
