"""The evaluation that a capture is: which model, prompts and conditions, which states, and how it is run.

Knows neither where captures are kept nor who reads them.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError
from thinkgap.evaluation.native import run_native
from thinkgap.parallel import ALONE, World
from thinkgap.schema import (
    CaptureConfig,
    DatasetConfig,
    EvaluateConfig,
    EvaluationConfig,
    LoggerConfig,
    TrainConfig,
)

EMBEDDINGS, FINAL_NORM, LAYER = "embeddings", "final_norm", "layer_"
TEXT_ONLY = "text_only"
"""The control that drops images."""


def evaluation_of(
    cfg: TrainConfig, evaluation: EvaluationConfig, dataset: DatasetConfig | None = None
) -> EvaluateConfig:
    """The evaluation whose states a training reads: its model, prompts and conditions, and nothing logged.

    Args:
        cfg: the training.
        evaluation: what is computed.
        dataset: None is the training's own.
    """
    return EvaluateConfig(
        model=cfg.model,
        dataset=dataset or cfg.dataset,
        trigger=cfg.trigger,
        prompt=cfg.prompt,
        evaluation=evaluation,
        trainer=cfg.trainer,
        logger=LoggerConfig(enabled=False),  # the training's own W&B run is open
        paths=cfg.paths,
        labels=cfg.labels,
        label_ids=cfg.label_ids,
        scoring=cfg.scoring,
        seed=cfg.seed,
    )


def capture_of(cfg: TrainConfig, dataset: DatasetConfig) -> EvaluateConfig:
    """The evaluation that a capture for linear probes is.

    Raises:
        ConfigError: `probe.state` or `probe.states` name no state.
    """
    evaluation = EvaluationConfig(
        permutations=cfg.probe.permutations,
        controls=[TEXT_ONLY] if cfg.probe.controls.text_only else [],
        capture=wanted_states(cfg.probe.states, cfg.probe.state),
    )
    return evaluation_of(cfg, evaluation, dataset)


def run_quietly(cfg: EvaluateConfig, folder: Path, backend: HFBackend, world: World = ALONE) -> None:
    """`run_native` without its table, which is in its folder: the one that a training is about comes at the end.

    Args:
        cfg: the evaluation.
        folder: of the run.
        backend: the model of `cfg`.
        world: the processes of this run.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        run_native(cfg, folder, backend=backend, world=world)


def wanted_states(names: Sequence[str] | None, state: str) -> CaptureConfig:
    """Which states are kept: those named and the headline's; all if none are named.

    Args:
        names: `probe.states`.
        state: `probe.state`.

    Raises:
        ConfigError: a name that is none of a state.
    """
    if names is None:
        _layer("probe.state", state)
        return CaptureConfig(enabled=True, embeddings=True, final_norm=True)
    if not names:
        raise ConfigError("probe.states is empty: name states, or null for all")
    found = [("probe.states", name) for name in names] + [("probe.state", state)]
    layers = sorted({layer for setting, name in found if (layer := _layer(setting, name)) is not None})
    asked = {name for _, name in found}
    return CaptureConfig(enabled=True, layers=layers, embeddings=EMBEDDINGS in asked, final_norm=FINAL_NORM in asked)


def check_layers(cfg: EvaluateConfig, n_layers: int, state: str = FINAL_NORM) -> None:
    """Refuse a state after a layer that the model does not have.

    Args:
        cfg: the run that keeps states.
        n_layers: of the model.
        state: `probe.state`, which `cfg` does not name where it keeps all.

    Raises:
        ConfigError: with the layers that it has.
    """
    own = _layer("probe.state", state)
    asked = [*(cfg.evaluation.capture.layers or ()), *([] if own is None else [own])]
    beyond = [layer for layer in asked if layer >= n_layers]
    if beyond:
        raise ConfigError(
            f"probe.states, probe.state: model={cfg.model.name} has no {LAYER}{beyond[0]}; it has {LAYER}0 to "
            f"{LAYER}{n_layers - 1}, {EMBEDDINGS} and {FINAL_NORM}"
        )


def _layer(setting: str, name: str) -> int | None:
    """Number of the layer that a state comes after; None for the two states that are no layer's."""
    number = name.removeprefix(LAYER)
    if name.startswith(LAYER) and number.isascii() and number.isdigit():
        return int(number)
    if name not in (EMBEDDINGS, FINAL_NORM):
        raise ConfigError(f"{setting}: '{name}' is no state; write {EMBEDDINGS}, {LAYER}0 and up, or {FINAL_NORM}")
    return None
