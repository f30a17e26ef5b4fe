"""What a capture is found again by: all that its rows and states depend on and that is known without weights.

Files of a checkpoint are looked at by name, size and time of change alone, so that a finished capture of a large model
is found in a moment. Knows no folder of captures and loads no model.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thinkgap.backends.locate import PACKAGE_PREFIX, package_path
from thinkgap.evaluation.describe import code_digest
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import EvaluateConfig, ModelConfig, PromptConfig
from thinkgap.store.redact import plain
from thinkgap.types import Item

_LIBRARIES = ("torch", "torchvision", "transformers", "tokenizers", "pillow")
_ELSEWHERE = ("name", "path", "served")
"""Of a model: its name is the folder's, its path the checkpoint's, and served ones are not captured."""
_TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
_DATED = b"strftime_now"
_GGUF_HEAD = 64 << 20
"""Bytes at the start of a GGUF file that hold its chat template."""


def capture_facts(cfg: EvaluateConfig, items: Sequence[Item], checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Everything that determines a capture, as JSON data.

    Args:
        cfg: the run that a capture is.
        items: the items of its data set.
        checkpoint: `checkpoint_facts`, or what a loaded model says of itself.
    """
    return {
        "model": {name: value for name, value in plain(asdict(cfg.model)).items() if name not in _ELSEWHERE},
        "checkpoint": checkpoint,
        "accelerator": [cfg.trainer.accelerator, _device(cfg.trainer.accelerator)],
        "items": _items_digest(items),
        "n_items": len(items),
        "conditions": [plain(asdict(condition)) for condition in all_conditions(cfg.trigger, cfg.mode, cfg.prompt)],
        "prompt": plain(asdict(cfg.prompt)),
        "date": _date(cfg.model, cfg.prompt),
        "labels": cfg.labels.name,
        "label_ids": cfg.label_ids.name,
        "scoring": cfg.scoring.name,
        "evaluation": plain(asdict(cfg.evaluation)),
        "seed": cfg.seed,
        "code": code_digest(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def facts_digest(facts: dict[str, Any]) -> str:
    """SHA-256 of `capture_facts`, 64 hex digits."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def checkpoint_facts(cfg: ModelConfig) -> dict[str, Any] | None:
    """What identifies a checkpoint: files by name, size and time of change, or the commit that the hub's cache holds.

    None where that is not known before the model is loaded: a hub id that is not in the cache, or nothing of that name.

    Raises:
        ModelError: A package that is not installed.
    """
    local = _local(cfg)
    if local is None:
        cached = _cached_config(cfg)
        return None if cached is None else hub_facts(cfg.path, cached.parent.name)
    files = [local] if local.is_file() else sorted(file for file in local.iterdir() if file.is_file())
    stats = [(file.name, file.stat()) for file in files]
    return {"path": str(local.resolve()), "files": [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]}


def hub_facts(path: str, commit: str) -> dict[str, Any]:
    """The same of a hub id of which the commit is known."""
    return {"hub": path, "commit": commit}


def _local(cfg: ModelConfig) -> Path | None:
    path = package_path(cfg.path) if cfg.path.startswith(PACKAGE_PREFIX) else Path(cfg.path).expanduser()
    return path if path.exists() else None


def _cached_config(cfg: ModelConfig) -> Path | None:
    """The config of a hub id in the hub's own cache, `.../snapshots/<commit>/config.json`; None if it is not there."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(cfg.path, "config.json", revision=cfg.revision)
    except HFValidationError:
        return None  # neither a path nor a hub id: loading the model says so
    return Path(found) if isinstance(found, str) else None


def _date(cfg: ModelConfig, prompt: PromptConfig) -> str | None:
    """Today, where the chat template writes it into every prompt and `prompt.date` does not say which day it is."""
    if prompt.date is not None or not prompt.chat_template:
        return None
    local = _local(cfg)
    if local is not None and local.is_file():
        with local.open("rb") as file:
            dated = _DATED in file.read(_GGUF_HEAD)
    else:
        cached = _cached_config(cfg) if local is None else None
        folder = cached.parent if cached is not None else local
        files = [] if folder is None else [folder / name for name in _TEMPLATES]
        dated = any(_DATED in file.read_bytes() for file in files if file.is_file())
    return datetime.date.today().isoformat() if dated else None


def _device(accelerator: str) -> str:
    import torch

    found = None if accelerator == "cpu" else torch.accelerator.current_accelerator(check_available=True)
    return "cpu" if found is None else found.type


def _items_digest(items: Sequence[Item]) -> str:
    asked = [
        (item.id, item.group_id, item.split, item.subject, item.answer_space, item.context, item.question, item.choices,
         [image.sha256 for image in item.images], item.gold)
        for item in sorted(items, key=lambda item: item.id)
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
