"""The settings that a folder of records or cells belongs to, and what differs when other settings come.

A fingerprint is any JSON mapping; which settings it holds is the caller's choice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_text

JSON: TypeAlias = Any
"""A value that `json.dumps` accepts."""

FINGERPRINT_FILE = "fingerprint.json"
_WAY_OUT = "use another folder with hydra.run.dir=..."
_SHOWN = 8
_WIDTH = 60


def check_fingerprint(
    folder: Path, fingerprint: Mapping[str, JSON], holds_records: bool, kind: str = "a run", way_out: str = _WAY_OUT
) -> None:
    """Store `fingerprint` in `folder`, or compare it with the one that is there.

    Args:
        folder: An existing folder.
        fingerprint: The present settings.
        holds_records: Whether anything in the folder was computed; until then it belongs to nobody.
        kind: What the folder holds, for the message.
        way_out: What to do about other settings, for the message.

    Raises:
        StoreError: Another fingerprint is there (the message names each differing field with both values), it cannot
            be read, or there are records without one.
    """
    text = json.dumps(fingerprint, indent=2, sort_keys=True, ensure_ascii=False)
    file = folder / FINGERPRINT_FILE
    if not file.exists() or not holds_records:
        if holds_records:
            raise StoreError(f"{folder} holds records but no {FINGERPRINT_FILE}, so of unknown settings; {way_out}")
        write_text(file, text)
        return
    stored = read_fingerprint(folder, way_out)
    # Compared as JSON, in which tuples are lists and keys are text.
    different = differences(stored, json.loads(text))
    if different:
        lines = [f"  {name}: {old} in the folder, {new} now" for name, old, new in different[:_SHOWN]]
        if len(different) > _SHOWN:
            lines.append(f"  and {len(different) - _SHOWN} more")
        raise StoreError("\n".join([f"{folder} holds {kind} with other settings; {way_out}", *lines]))


def read_fingerprint(folder: Path, way_out: str = _WAY_OUT) -> JSON:
    """The settings stored in `folder`.

    Raises:
        StoreError: There are none, or they cannot be read; the message ends with `way_out`.
    """
    file = folder / FINGERPRINT_FILE
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{file} does not exist; {way_out}") from None
    except ValueError as error:
        raise StoreError(f"{file} is damaged ({error}); {way_out}") from None


def flat(value: JSON, name: str = "") -> dict[str, JSON]:
    """Dotted name -> value of every field of nested mappings; an empty mapping is a value, and so is a list."""
    if isinstance(value, Mapping) and value:
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{name}.{key}" if name else key).items()}
    return {name: value}


def differences(stored: JSON, now: JSON) -> list[tuple[str, str, str]]:
    """(dotted name, stored value, present value) of every field that differs, values as JSON cut to 60 characters."""
    old, new = flat(stored), flat(now)
    names = sorted(old.keys() | new.keys())
    return [(n, _shown(old, n), _shown(new, n)) for n in names if n not in old or n not in new or old[n] != new[n]]


def _shown(values: dict[str, JSON], name: str) -> str:
    text = json.dumps(values[name], ensure_ascii=False) if name in values else "absent"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
