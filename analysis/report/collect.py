"""Folders of runs as the page's data; a folder that cannot be read becomes a message that names it.

Knows which files make which kind of run, and how runs get names that tell them apart.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from analysis.report.images import pictures
from analysis.report.manifest import manifest_of
from analysis.report.native import native_run
from analysis.report.responses import response_run
from analysis.report.shapes import RunData
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.frames.columns import PARTS
from thinkgap.frames.folders import is_run
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.store.records import RECORDS_FILE

log = logging.getLogger(__name__)
_PREDICTIONS_FILE = PARTS["predictions"].file
IMAGE_BYTES = 8 << 20
"""Of the pictures of one run, at most."""


@dataclass(frozen=True)
class Collected:
    """What could be read, and what could not."""

    runs: tuple[RunData, ...]
    problems: tuple[str, ...]
    """Each names its run."""
    unread: int = 0
    """Runs that could not be read."""


def collect(folders: Sequence[str], *, images: bool = True, items: int | None = None) -> Collected:
    """Read runs.

    Args:
        folders: of runs.
        images: whether to read pictures again from the data sets.
        items: how many items of each run the page lists, evenly over the run; None is all. Figures are over all.

    Raises:
        StoreError: no run could be read; the message has the reason of each.
    """
    runs: list[RunData] = []
    problems: list[str] = []
    for folder in dict.fromkeys(folders):
        try:
            runs.append(_read(Path(folder), images, items))
        except ThinkgapError as error:
            text = str(error)
            problems.append(text if folder in text else f"{folder}: {text}")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, pa.ArrowException) as error:
            log.debug("%s", folder, exc_info=True)
            told = f"{type(error).__name__}: {error}"
            problems.append(f"{folder}: its files are not those of this version of thinkgap ({told})")
    if not runs:
        raise StoreError("no run could be read:\n" + "\n".join(f"- {one}" for one in problems))
    _name(runs)
    return Collected(tuple(runs), (*problems, *_same_names(runs)), len(problems))


def _read(folder: Path, images: bool, items: int | None) -> RunData:
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder; give the folder of a finished run (hydra.run.dir)")
    manifest = manifest_of(folder)
    if (folder / RESPONSES_FILE).exists():
        run = response_run(folder, manifest)
    elif (folder / _PREDICTIONS_FILE).exists():
        from analysis.report.probe_runs import probe_run

        run = probe_run(folder, manifest)
    elif (folder / RECORDS_FILE).exists() or (folder / "shards").is_dir():
        run = native_run(folder, manifest)
    elif is_run(folder):
        raise StoreError(
            f"{folder} holds an unfinished run (no {RECORDS_FILE}, {RESPONSES_FILE} or {_PREDICTIONS_FILE}): start the "
            f"same command with hydra.run.dir={folder} to resume it"
        )
    else:
        raise StoreError(f"{folder} holds no run; give the folder of a finished run (hydra.run.dir)")
    if items is not None:
        _thin(run, items)
    if not images:
        return run
    digests = [one for item in run.items.values() for one in item["images"]]
    run.images, reason = pictures(manifest, digests, IMAGE_BYTES) if digests else ({}, "")
    run.notes = (*run.notes, *([reason] if reason else []))
    return run


def _thin(run: RunData, items: int) -> None:
    """Keep the rows of `items` items, evenly over the run."""
    keys = list(dict.fromkeys(zip(run.rows["dataset"], run.rows["item"], strict=True)))
    if len(keys) <= items:
        return
    kept = {keys[place * len(keys) // items] for place in range(items)}
    chosen = [key in kept for key in zip(run.rows["dataset"], run.rows["item"], strict=True)]
    run.rows = run.rows.loc[chosen]
    run.items = {key: value for key, value in run.items.items() if key in kept}
    run.notes = (
        *run.notes,
        f"The page lists {items:,} of {len(keys):,} items, evenly; all figures are over all of them.",
    )


def _name(runs: Sequence[RunData]) -> None:
    """Name each run by the shortest end of its path that no other run shares."""
    paths = [Path(run.folder).resolve().parts for run in runs]
    for run, parts in zip(runs, paths, strict=True):
        for length in range(1, len(parts) + 1):
            tail = parts[-length:]
            if sum(other[-length:] == tail for other in paths) == 1 or length == len(parts):
                run.name = "/".join(tail)
                break
    counts = Counter(run.name for run in runs)
    for place, run in enumerate(runs):
        if counts[run.name] > 1:
            run.name = f"{run.name} ({place + 1})"


def _same_names(runs: Sequence[RunData]) -> list[str]:
    """Models of different weights that runs call by one name."""
    by_name: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        if run.revision:
            by_name.setdefault(run.model, {}).setdefault(run.revision, []).append(run.name)
    return [
        f"two models under the name {model}: "
        + "; ".join(f"{', '.join(names)} has revision {revision[:24]}" for revision, names in own.items())
        + ". They are kept apart by run."
        for model, own in by_name.items()
        if len(own) > 1
    ]
