"""One digest for how a run prompted under a condition: equal digests mean that an item's prompt is built alike.

Looks at a manifest and nothing else: knows no item, no state and no probe.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from thinkgap.errors import StoreError, nearest

_CONDITION = ("kind", "text", "placement", "thinking")
_MODE = ("user_suffix", "prefill", "soft_switch")
"""Further texts that a mode, unlike a trigger, can add to the prompt."""
_LABELS = "label_ids"


class Difference(NamedTuple):
    """A setting in which two prompts differ."""

    name: str
    one: Any
    other: Any


def prompt_facts(manifest: Mapping[str, Any], condition: str) -> dict[str, Any]:
    """What `prompt_hash` is the digest of, as JSON data.

    Args:
        manifest: of a run, as `thinkgap.store.read_manifest` gives it.
        condition: name of one of its conditions; the name itself is no part of the prompt.

    Returns:
        `kind`, `text`, `placement` and `thinking` of the condition, `prompt` (what stands in every prompt), and
        `label_ids` (label -> token ids that are read for it); of a mode also `mode`, its further texts.

    Raises:
        StoreError: the run has no such condition.
    """
    stored = {one["name"]: one for one in manifest["conditions"]}
    if condition not in stored:
        raise StoreError(f"the run has no condition '{condition}'{nearest(condition, stored)}")
    found = stored[condition]
    facts = {key: found[key] for key in _CONDITION}
    facts |= {"prompt": dict(manifest["config"]["prompt"]), _LABELS: dict(found[_LABELS])}
    if found["kind"] == "mode":
        mode = manifest["config"]["mode"]
        facts["mode"] = {key: mode["conditions"][condition][key] for key in _MODE}
        facts["mode"]["format_example"] = mode["format_example"]
    return facts


def prompt_hash(manifest: Mapping[str, Any], condition: str) -> str:
    """SHA-256 of `prompt_facts` as 64 hexadecimal digits; raises as that does."""
    return facts_hash(prompt_facts(manifest, condition))


def facts_hash(facts: Mapping[str, Any]) -> str:
    """SHA-256 of `facts` as JSON with sorted keys and no spaces, so the same on every machine."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def prompt_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Settings in which two `prompt_facts` differ, by name; none if they build an item's prompt alike.

    A label that only one of them has is no difference: which labels a run has depends on the most options among its
    items. If they share no label, that is one.
    """
    found = []
    for key in sorted((one.keys() | other.keys()) - {_LABELS}):
        left, right = one.get(key), other.get(key)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            names = sorted(left.keys() | right.keys())
            found += [Difference(f"{key}.{name}", left.get(name), right.get(name)) for name in names]
        else:
            found.append(Difference(key, left, right))
    own, theirs = one[_LABELS], other[_LABELS]
    shared = [label for label in own if label in theirs]
    found += [Difference(f"the token of label {label}", own[label], theirs[label]) for label in shared]
    if not shared:
        found.append(Difference("the labels", list(own), list(theirs)))
    return [difference for difference in found if difference.one != difference.other]
