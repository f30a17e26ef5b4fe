"""What a run says of itself: model, data set, dates, software, as the page shows them.

Knows the manifest's fields and that any of them may be missing, as in runs of other versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.report.shapes import Plain
from thinkgap.errors import StoreError
from thinkgap.store.manifest import MANIFEST_FILE, read_manifest


def manifest_of(folder: Path) -> Plain:
    """The manifest of a run; empty if there is none.

    Raises:
        StoreError: a damaged file, or one that holds no object.
    """
    if not (folder / MANIFEST_FILE).exists():
        return {}
    found = read_manifest(folder)
    if not isinstance(found, dict):
        raise StoreError(f"{folder / MANIFEST_FILE} holds no object; it was not written by thinkgap")
    return found


def facts_of_manifest(manifest: Plain) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Model, data set, and the further facts with their names."""
    config, model = _mapping(manifest, "config"), _mapping(manifest, "model")
    name = str(_mapping(config, "model").get("name") or model.get("path") or "unknown model")
    dataset = str(_mapping(config, "dataset").get("name") or "unknown data set")
    code = _mapping(manifest, "code")
    commit = str(code.get("commit") or "")[:12]
    facts = {
        "model": model.get("path"),
        "revision": str(model.get("revision") or "")[:24],
        "class": model.get("class"),
        "precision": model.get("dtype"),
        "finished": manifest.get("finished") or "not finished",
        "thinkgap": _mapping(manifest, "libraries").get("thinkgap"),
        "commit": f"{commit} with changes" if commit and code.get("dirty") else commit,
    }
    return name, dataset, tuple((key, str(value)) for key, value in facts.items() if value)


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}
