"""What else differs between two runs: settings, software, model, and the prompts. Reads manifests and frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from thinkgap.frames import Runs
from thinkgap.frames.folders import Manifest
from thinkgap.store.fingerprint import flat

if TYPE_CHECKING:
    import pandas as pd

ABSENT = "absent"
_PARTS = (
    *("model", "config", "conditions", "modes", "prompt_hash", "dataset", "datasets", "decoding", "generation"),
    *("levels", "libraries", "python", "platform", "code"),
)
"""Fields of a manifest that tell how its figures came about, in the order of the table."""
_LEFT_OUT = (
    # Where files lie and where they are mirrored changes no figure.
    *("config.paths.", "config.logger.", "config.trainer.progress"),
    # What was measured or counted on the way.
    *("model.structure_check_error", "decoding.check_error", "decoding.replies", "decoding.prompt_tokens"),
    *("decoding.computed_prompt_tokens", "decoding.new_tokens", "generation.check_error", "levels.pairs"),
)
_SOURCE = "source"
_KEY = ["item_id", "presentation", "condition"]


def settings_that_differ(first: Manifest, second: Manifest) -> list[tuple[str, str, str]]:
    """(dotted name, value in A, value in B) of settings and facts that are not the same, values as JSON."""
    shared = {name for name in _conditions(first) if name in _conditions(second)}
    own, other = _facts(first, shared), _facts(second, shared)
    names = dict.fromkeys([*own, *other])
    return [
        (name, own.get(name, ABSENT), other.get(name, ABSENT))
        for part in _PARTS
        for name in names
        if name.split(".")[0] == part and own.get(name) != other.get(name)
    ]


def same_prompts(first: Runs, second: Runs) -> list[tuple[str, str, int, float]]:
    """(what is compared, place, number of prompts that both have, share that is the same).

    By condition, and by data set and mode of responses.

    Prompts of records are compared by `prompt_sha256` (token ids and images); responses keep no digest, so there it is
    the text of the question as it was shown.
    """
    return [*_by_hash(first.records, second.records), *_by_text(first.responses, second.responses)]


def _by_hash(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[tuple[str, str, int, float]]:
    columns = [*_KEY, "prompt_sha256"]
    # Readouts of one prompt share it; those after a reply have prompts of their own.
    frames: tuple[Any, Any] = (first, second)
    own, other = (
        frame.loc[frame["prompt_sha256"] != "", columns].drop_duplicates(_KEY).astype("str") for frame in frames
    )
    both = own.merge(other, on=_KEY, suffixes=("", "_second"), validate="one_to_one")
    for condition, rows in both.groupby("condition", sort=False):
        same = rows["prompt_sha256"] == rows["prompt_sha256_second"]
        yield "prompt_sha256", str(condition), len(rows), float(same.mean())


def _by_text(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[tuple[str, str, int, float]]:
    key = ["dataset", "mode", "presentation", "item_id"]
    frames: tuple[Any, Any] = (first, second)
    own, other = (frame[[*key, "problem"]].drop_duplicates(key).astype("str") for frame in frames)
    both = own.merge(other, on=key, suffixes=("", "_second"), validate="one_to_one")
    for names, rows in both.groupby(["dataset", "mode"], sort=False):
        same = rows["problem"] == rows["problem_second"]
        yield "text of the question", "/".join(map(str, names)), len(rows), float(same.mean())


def _facts(manifest: Manifest, shared: Set[str]) -> dict[str, str]:
    """Dotted name -> value as JSON; of a condition that is not shared, one field for all of it."""
    found: dict[str, Any] = {}
    for part in _PARTS:
        value = manifest.get(part)
        if part == "conditions":
            for name, one in _conditions(manifest).items():
                own = {f"{part}.{name}.{field}": field_value for field, field_value in one.items()}
                found |= own if name in shared else {f"{part}.{name}": one.get("text") or one.get("name")}
            continue
        if part == "dataset" and isinstance(value, Mapping):
            value = {_SOURCE: value.get(_SOURCE)}
        elif part == "datasets" and isinstance(value, Mapping):
            value = {name: {_SOURCE: one.get(_SOURCE)} for name, one in value.items() if isinstance(one, Mapping)}
        if value is not None:
            found |= flat(value, part)
    return {
        name: json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in found.items()
        if not name.startswith(_LEFT_OUT)
    }


def _conditions(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """Name -> what a run says of a condition; its name alone where it says no more."""
    found: dict[str, dict[str, Any]] = {}
    for one in manifest.get("conditions") or ():
        described = dict(one) if isinstance(one, Mapping) else {"name": str(one)}
        found[str(described.get("name"))] = described
    return found
