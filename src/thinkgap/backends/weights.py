"""The weight files of a local checkpoint by content, and the digest that a configuration may demand of them.

Knows files and digests, nothing of what the weights are.
"""

from __future__ import annotations

import re
from pathlib import Path

from thinkgap.backends.locate import Checkpoint, file_sha256
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import ModelConfig

WEIGHTS = "model.safetensors"
RESTORE = (
    "restore the file (reinstall the package, or `git checkout` it) or make it again "
    "(docs/demo_model.md says how for the packaged models)"
)
"""Way out for a weight file that is not the expected one."""


def weight_digests(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of each safetensors file in `folder`, in the order of names."""
    return {file.name: file_sha256(file) for file in sorted(folder.glob("*.safetensors"))}


def check_weights_digest(cfg: ModelConfig, checkpoint: Checkpoint) -> None:
    """Compare `model.safetensors` with `cfg.sha256`; nothing is read if that is null.

    Raises:
        ConfigError: `model.sha256` is no SHA-256, or the checkpoint is no local folder with weights in one file.
        ModelError: the file is missing or has another digest.
    """
    if cfg.sha256 is None:
        return
    if not re.fullmatch(r"[0-9a-fA-F]{64}", cfg.sha256):
        raise ConfigError(f"model.sha256={cfg.sha256}: not a SHA-256, which has 64 hex digits")
    if not checkpoint.local:
        raise ConfigError(
            f"model.sha256 is for local folders, and {cfg.path} is a hub id: pin it with model.revision=COMMIT, "
            "and set model.sha256=null"
        )
    if cfg.path.endswith(".gguf"):
        raise ConfigError(
            f"model.sha256 is for folders with {WEIGHTS}, and {cfg.path} is a GGUF file: set model.sha256=null"
        )
    file = Path(checkpoint.source) / WEIGHTS
    if not file.is_file() and (file.parent / f"{WEIGHTS}.index.json").is_file():
        raise ConfigError(
            f"model.sha256 is of {WEIGHTS}, and {cfg.path} holds its weights in several files: set model.sha256=null"
        )
    expected, found = cfg.sha256.lower(), file_sha256(file) if file.is_file() else None
    if found is None:
        raise ModelError(
            f"model {cfg.name}: {file} is missing (model.sha256 expects {expected[:12]}, found no file): {RESTORE}"
        )
    if found != expected:
        raise ModelError(
            f"model {cfg.name}: {file} is not the expected one (model.sha256 expects {expected[:12]}, found "
            f"{found[:12]}): {RESTORE}, or set model.sha256=null to use it as it is"
        )
