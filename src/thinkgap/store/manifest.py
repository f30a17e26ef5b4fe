"""manifest.json: under which software and when the records of a folder were computed.

Collects facts of the process; what the run adds (model, settings, counts) it gets from the caller, and removes secrets
from it. Nothing here influences a result.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_text
from thinkgap.store.redact import plain

MANIFEST_FILE = "manifest.json"
LIBRARIES = (
    "thinkgap",
    "accelerate",
    "bitsandbytes",
    "datasets",
    "gguf",
    "hydra-core",
    "numpy",
    "omegaconf",
    "pandas",
    "peft",
    "pillow",
    "pyarrow",
    "pytorch-lightning",
    "safetensors",
    "scipy",
    "sentence-transformers",
    "statsmodels",
    "tokenizers",
    "torch",
    "torchvision",
    "transformers",
    "vllm",
    "wandb",
)
"""Distributions whose version can change a record or a table; those not installed are listed as null."""


def collect_manifest(
    facts: Mapping[str, Any], *, started: datetime, finished: datetime | None = None
) -> dict[str, Any]:
    """The manifest of a run as JSON data.

    Args:
        facts: What the run knows of itself: settings, model revision, dtype, prompt digests, counts. Secrets in it
            are dropped (`redact.plain`).
        started: Start of the run, with a time zone.
        finished: End of the run; None while it is going.

    Returns:
        `started`, `finished` (ISO 8601, UTC), `python`, `platform`, `libraries`, `lock`, `code`, and the fields of
        `facts`.

    Raises:
        ValueError: A time without a zone, or a field of `facts` with one of the names above.
    """
    manifest: dict[str, Any] = {
        "started": _utc(started),
        "finished": None if finished is None else _utc(finished),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": library_versions(),
        "lock": installed(),
        "code": code_state(),
    }
    clash = sorted(manifest.keys() & facts.keys())
    if clash:
        raise ValueError(f"facts may not use the manifest's own fields {', '.join(clash)}")
    return manifest | plain(facts)


def code_state(folder: Path | None = None) -> dict[str, Any]:
    """Git commit of the code and whether files differ from it.

    Args:
        folder: Folder of the code; None is that of thinkgap itself.

    Returns:
        `commit` and `dirty`; both None with a `reason` when the code is not in a git checkout.
    """
    where = folder or Path(__file__).parents[1]
    try:
        # An installed package inside somebody else's checkout is not part of that checkout.
        if not _git(where, "ls-files", "--", "."):
            return {"commit": None, "dirty": None, "reason": "the code is not tracked by git"}
        # Changed files anywhere (conf/, evaluate.py), but new ones only beside the code: outputs are no change of code.
        changed = _git(where, "status", "--porcelain", "--untracked-files=no") or _git(
            where, "status", "--porcelain", "."
        )
        return {"commit": _git(where, "rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.SubprocessError) as error:
        return {"commit": None, "dirty": None, "reason": f"git gave no answer ({type(error).__name__})"}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """Write `folder/manifest.json` whole; raises StoreError when the disk is full."""
    path = folder / MANIFEST_FILE
    write_text(path, json.dumps(plain(manifest), indent=2, ensure_ascii=False) + "\n")
    return path


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in `folder`; raises StoreError when there is none or it cannot be read."""
    path = folder / MANIFEST_FILE
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; give the folder of a run") from None
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}") from None


def _utc(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("times in a manifest need a time zone: use datetime.now(UTC)")
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def library_versions() -> dict[str, str | None]:
    """Installed version of each library that can change a figure; None for one that is not installed."""
    return versions_of(*LIBRARIES)


def versions_of(*names: str) -> dict[str, str | None]:
    """Installed version of each distribution; None for one that is not installed."""
    return {name: _version(name) for name in names}


def installed() -> dict[str, str]:
    """Every installed distribution with its version, by normalised name: enough to build the environment again."""
    found = {
        re.sub(r"[-_.]+", "-", name).lower(): one.version
        for one in metadata.distributions()
        if (name := one.metadata["Name"])
    }
    return dict(sorted(found.items()))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()
