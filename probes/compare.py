"""Whether runs belong together: the same model, and one prompt under one condition's name.

Compares manifests. Knows no states.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkgap.errors import StoreError

MODEL_FIELDS = ("class", "revision", "quantization", "vocab_size")
"""What tells models apart. Not the number type: half-precision states can be read by the same weights in float32, and
are checked."""
_CONDITION = ("text", "placement", "thinking")


def require_model(name: str, now: Mapping[str, Any], folder: Path, stored: Mapping[str, Any]) -> None:
    """Refuse features of another model.

    Args:
        name: of the model at hand.
        now: how it describes itself.
        folder: of the run that the features come from.
        stored: how that run's model described itself.

    Raises:
        StoreError: the first field that differs.
    """
    for key in MODEL_FIELDS:
        if stored.get(key) != now.get(key):
            raise StoreError(
                f"{folder} was computed by another model than model={name} ({key}: {stored.get(key)} there, "
                f"{now.get(key)} here); give that model, or other features"
            )


def require_same_prompts(
    folder: Path, manifest: Mapping[str, Any], other_folder: Path, other_manifest: Mapping[str, Any]
) -> None:
    """Refuse two runs in which one name stands for two prompts, or one label for two tokens.

    Raises:
        StoreError: the first setting that differs.
    """

    def refuse(what: str, one: object, other: object) -> None:
        raise StoreError(
            f"{what} is {one!r} in {folder} and {other!r} in {other_folder}; give features of runs with equal prompts"
        )

    stored = {one["name"]: one for one in manifest["conditions"]}
    for other in other_manifest["conditions"]:
        own = stored.get(other["name"])
        if own is None:
            continue
        for key in _CONDITION:
            if own[key] != other[key]:
                refuse(f"condition {other['name']}: {key}", own[key], other[key])
        for label, ids in other["label_ids"].items():
            if own["label_ids"].get(label, ids) != ids:
                refuse(f"condition {other['name']}: the token of label {label}", own["label_ids"][label], ids)
    prompt, other_prompt = manifest["config"]["prompt"], other_manifest["config"]["prompt"]
    for key in prompt:
        if prompt[key] != other_prompt.get(key):
            refuse(f"prompt.{key}", prompt[key], other_prompt.get(key))
