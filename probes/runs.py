"""A finished run as probes read it: native rows once for each item and presentation, and the state of each prompt.

Rows of one item and presentation stand under every condition of the run. Knows no role and no probe.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from omegaconf import OmegaConf

from thinkgap.data import load_dataset_items
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import DatasetConfig
from thinkgap.store.features import Features
from thinkgap.store.manifest import read_manifest
from thinkgap.store.records import read_run
from thinkgap.types import Item

log = logging.getLogger(__name__)

_KEY = ["item_id", "presentation"]
_OF_ITEM = [*_KEY, "group_id", "k", "gold_slot"]
_COLUMNS = [*_OF_ITEM, "condition", "readout", "pred_slot", "prompt_sha256"]


@dataclass(frozen=True)
class Run:
    """`n` rows, each an item in one presentation, under every condition."""

    folder: Path
    manifest: Mapping[str, Any]
    features: Features
    rows: pd.DataFrame
    """`n` rows with `item_id`, `presentation`, `group_id`, `k`, `gold_slot`."""
    prompts: Mapping[str, NDArray[np.bytes_]]
    """Condition -> `[n]` prompt digests."""
    native: Mapping[str, NDArray[np.int64]]
    """Condition -> `[n]` slot that the model's own readout predicts."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states that were captured, from the first layer to the last."""
        return tuple(self.manifest["states"])

    def require_states(self) -> None:
        """Require that all states are there and undamaged.

        Raises:
            StoreError: they are not.
        """
        for prompts in self.prompts.values():
            self.features.require(prompts.astype(str).tolist(), self.states)


def open_run(folder: Path) -> Run:
    """The native rows of a finished run that kept states; states are read when they are asked for.

    Raises:
        StoreError: no finished run, no states, cells that are gone, or rows that are missing under some condition.
    """
    manifest = read_manifest(folder)
    if not manifest.get("states") or not manifest.get("cells"):
        raise StoreError(f"{folder} kept no states; run that evaluation with evaluation.capture.enabled=true")
    features = Features.open(folder / manifest["cells"], manifest.get("state_dtype"))
    frame = read_run(folder).select(_COLUMNS).to_pandas()
    frame = frame[frame["readout"] == NATIVE]
    names = [one["name"] for one in manifest["conditions"]]
    of_each = [frame[frame["condition"] == name].reset_index(drop=True) for name in names]
    for name, own in zip(names, of_each, strict=True):
        if not own[_OF_ITEM].equals(of_each[0][_OF_ITEM]):
            raise StoreError(
                f"{folder} has not the same rows under condition {name} as under {names[0]}; run that evaluation again"
            )
    return Run(
        folder,
        manifest,
        features,
        of_each[0][_OF_ITEM],
        {name: own["prompt_sha256"].to_numpy("S64") for name, own in zip(names, of_each, strict=True)},
        {name: own["pred_slot"].to_numpy(np.int64) for name, own in zip(names, of_each, strict=True)},
    )


def stored_dataset(manifest: Mapping[str, Any]) -> DatasetConfig:
    """The data set that a run read, from its manifest."""
    stored = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(DatasetConfig), manifest["config"]["dataset"]))
    assert isinstance(stored, DatasetConfig)
    return stored


def items_of_run(setting: str, manifest: Mapping[str, Any]) -> dict[str, Item] | None:
    """The items that a run read, by id; None, with a warning, if its data set is not at hand.

    Args:
        setting: that named the run, for the warning.
        manifest: of the run.
    """
    try:
        return {item.id: item for item in load_dataset_items(stored_dataset(manifest)).items}
    except ThinkgapError as error:
        log.warning("%s: items cannot be read again, so images and wording are not compared: %s", setting, error)
        return None


def require_states(runs: Sequence[Run], names: Sequence[str]) -> None:
    """Require that runs hold the named states, all of one width.

    Raises:
        StoreError: the first run that lacks one, or has another width.
    """
    for run in runs:
        missing = [name for name in names if name not in run.states]
        if missing:
            raise StoreError(
                f"{run.folder} kept no state '{missing[0]}' (it has {', '.join(run.states)}); run that evaluation with "
                "evaluation.capture.enabled=true evaluation.capture.embeddings=true evaluation.capture.final_norm=true,"
                " or choose others with probe.states=[...] and probe.state=..."
            )
        if run.features.d != runs[0].features.d:
            raise StoreError(
                f"states in {runs[0].folder} have width {runs[0].features.d}, in {run.folder} {run.features.d}: they "
                "are of two models; give runs of one"
            )
