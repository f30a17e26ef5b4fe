"""Which folders a name, a pattern or a list stands for, and whether each holds a finished run.

Looks at names of files, at their footers and at manifests; reads no row.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from thinkgap.errors import StoreError
from thinkgap.frames.columns import MAIN, PARTS
from thinkgap.frames.read import check_file
from thinkgap.store.fingerprint import FINGERPRINT_FILE
from thinkgap.store.manifest import MANIFEST_FILE, read_manifest

Manifest: TypeAlias = dict[str, Any]
_GLOB = frozenset("*?[")
_WEIGHTS = ("revision", "random_weights", "quantization", "adapter")
"""Facts of a manifest's model by which two models of one name are told apart."""


def is_pattern(name: str | Path) -> bool:
    """Whether it stands for several folders; a folder that exists under the very name is itself."""
    return bool(_GLOB & set(str(name))) and not Path(name).is_dir()


def folders_of(names: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The folders that names and patterns stand for, each once, those of a pattern by name.

    Raises:
        StoreError: a name without a folder, or a pattern without a run.
    """
    found: dict[Path, Path] = {}
    for given in names:
        name = str(Path(os.fspath(given)).expanduser())
        if not is_pattern(name):
            found.setdefault(Path(name).resolve(), Path(name))
            continue
        runs = [path for path in map(Path, sorted(glob.glob(name, recursive=True))) if is_run(path)]  # noqa: PTH207
        if not runs:
            raise StoreError(f"no folder of a run matches {name!r}; check the pattern, or name the folders")
        for path in runs:
            found.setdefault(path.resolve(), path)
    if not found:
        raise StoreError("no folder was given; give the folder of a run (hydra.run.dir), a pattern, or a list of them")
    return list(found.values())


def names_of(folders: Iterable[Path]) -> list[str]:
    """What the column `run` calls each folder: its own name where that is unique, else the path as it was given."""
    paths = list(folders)
    own = [path.name or str(path) for path in paths]
    return own if len(set(own)) == len(own) else [str(path) for path in paths]


def check_run(folder: Path) -> Manifest:
    """The manifest of a finished run (empty where there is none), its files checked by their footers.

    Raises:
        StoreError: no such folder, no run in it, a half-written one, a damaged file, or another version's.
    """
    if not folder.is_dir():
        what = "is a file; give the folder that it lies in" if folder.exists() else "does not exist"
        raise StoreError(f"{folder} {what}: thinkgap.load takes the folder of a run (hydra.run.dir)")
    manifest = read_manifest(folder) if (folder / MANIFEST_FILE).exists() else {}
    shards = len(list(folder.glob("shards/part-*.parquet")))
    whole = [name for name in MAIN if (folder / PARTS[name].file).exists()]
    if shards or (not whole and is_run(folder)) or manifest.get("finished", "") is None:
        detail = f"{shards} shards are not merged" if shards else "it has no end"
        if not whole:
            detail = f"{detail}, none of {', '.join(PARTS[name].file for name in MAIN)} is there"
        raise StoreError(
            f"{folder} holds a half-written run ({detail}): start the same command with hydra.run.dir={folder} to "
            "finish it"
        )
    if not whole:
        files = ", ".join(PARTS[name].file for name in MAIN)
        raise StoreError(f"{folder} holds no run (none of {files}); give the folder of a finished run")
    for part in PARTS.values():
        if (path := folder / part.file).exists():
            check_file(path, part, written_by(manifest))
    return manifest


def written_by(manifest: Mapping[str, Any]) -> str:
    """The version that wrote a run, for messages."""
    version = (manifest.get("libraries") or {}).get("thinkgap")
    return f"thinkgap {version}" if version else "another version of thinkgap"


def refuse_mixed_models(manifests: Mapping[str, Manifest]) -> None:
    """Nothing, if no two runs call different models by one name.

    Raises:
        StoreError: two do; the message names the runs, the model and what differs.
    """
    seen: dict[str, tuple[str, dict[str, Any]]] = {}
    for run, manifest in manifests.items():
        facts = manifest.get("model")
        name = ((manifest.get("config") or {}).get("model") or {}).get("name")
        if not name or not isinstance(facts, Mapping):
            continue
        own = {key: facts.get(key) for key in _WEIGHTS}
        if own["revision"] is None:
            # Nothing tells the weights but where they came from.
            own["path"] = facts.get("path")
        other, theirs = seen.setdefault(str(name), (run, own))
        if differing := [key for key in own.keys() | theirs.keys() if own.get(key) != theirs.get(key)]:
            key = min(differing)
            raise StoreError(
                f"the runs {other} and {run} both call their model {name!r}, but its {key} is {theirs.get(key)!r} in "
                f"the one and {own.get(key)!r} in the other: load them apart, run one of them under another "
                "model.name, or pass allow_mixed_models=True (the column `run` still tells them apart)"
            )


def is_run(path: Path) -> bool:
    """Whether a folder holds something of a run, finished or begun."""
    files = (FINGERPRINT_FILE, MANIFEST_FILE, "shards", "blocks", *(PARTS[name].file for name in MAIN))
    return path.is_dir() and any((path / file).exists() for file in files)
