"""A training's state on disk, without pickle: tensors as safetensors, the rest as JSON, each file written whole.

It knows no lesson and no model class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from thinkgap.demo.phases import layers_at
from thinkgap.demo.training import DemoTraining, Progress
from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_bytes, write_text

STATE = "state.safetensors"
SETTINGS = "settings.json"
CURVES = "curves.jsonl"
MODEL = "model"
"""Folder of the finished model inside the training's."""
TRAINING = "training.json"
"""In the model's folder: how it was trained."""
_PROGRESS = "progress"


def save_state(folder: Path, module: DemoTraining) -> None:
    """Write weights, optimiser states and progress in one file, so that they cannot be of different steps.

    Raises:
        StoreError: the folder cannot be written.
    """
    from safetensors.torch import save

    tensors = {f"model.{name}": parameter.detach() for name, parameter in module.model.named_parameters()}
    for prefix, optimizer in module.optimizers_by_name.items():
        for number, state in optimizer.state_dict()["state"].items():
            tensors |= {f"{prefix}.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    content = {name: tensor.contiguous() for name, tensor in tensors.items()}
    write_bytes(folder / STATE, save(content, {_PROGRESS: json.dumps(asdict(module.progress))}))


def load_state(folder: Path, module: DemoTraining) -> bool:
    """Put a saved state into model, optimisers and progress; whether there was one.

    Raises:
        StoreError: the file does not fit this model or cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    file = folder / STATE
    if not file.exists():
        return False
    try:
        with safe_open(str(file), "pt") as opened:
            progress = Progress(**json.loads((opened.metadata() or {})[_PROGRESS]))
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no mapping)
        # The layers of the last step taken: those of the next join when it is taken.
        module.grow(layers_at(module.cfg, progress.step - 1))
        with torch.no_grad():
            for name, parameter in module.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
        for prefix, optimizer in module.optimizers_by_name.items():
            _load_optimizer(optimizer, prefix, tensors)
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise StoreError(f"{file} is no state of this training ({error}): delete it to begin anew") from error
    vars(module.progress).update(vars(progress))
    return True


def _load_optimizer(optimizer: torch.optim.Optimizer, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    states: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith(f"{prefix}."):
            _, number, name = key.split(".", 2)
            states.setdefault(int(number), {})[name] = tensor
    current: dict[str, Any] = optimizer.state_dict()
    optimizer.load_state_dict({"state": states, "param_groups": current["param_groups"]})


def claim_folder(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make `folder` that of a training with these settings.

    Raises:
        StoreError: it holds a training with others.
    """
    text = json.dumps(settings, indent=1, sort_keys=True)
    file = folder / SETTINGS
    if file.exists() and file.read_text(encoding="utf-8") != text:
        raise StoreError(
            f"{folder} holds a training with other settings (or of another release): give another hydra.run.dir, "
            f"or delete it to begin anew"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_text(file, text)


def read_curves(folder: Path, step: int) -> list[dict[str, Any]]:
    """The measured points up to `step`; later ones are of steps that a killed training has to take again.

    Raises:
        StoreError: the file is damaged.
    """
    file = folder / CURVES
    if not file.exists():
        return []
    try:
        points = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise StoreError(f"{file} holds no curves ({error}): delete it to go on without its points") from error
    return [point for point in points if point["step"] <= step]


def write_curves(folder: Path, points: Sequence[Mapping[str, Any]]) -> None:
    """Write all points, one JSON object a line."""
    write_text(folder / CURVES, "".join(json.dumps(point) + "\n" for point in points))
