"""Finished controls as JSON, so that a resumed run does not fit them again and one process can tell another.

Knows the types of controls by name, and nothing of what they mean.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.controls.capacity import CapacityPoint
from probes.controls.control_task import ControlTask
from probes.controls.learning_curve import CurvePoint
from probes.controls.online_code import Block, OnlineCode
from probes.controls.other_states import OtherStates
from probes.controls.priors import Priors
from probes.controls.scores import Compared
from probes.controls.sheet import ConditionControls
from probes.controls.shuffled import Shuffled
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing
from thinkgap.store.atomic import write_text

log = logging.getLogger(__name__)

CONTROLS_FOLDER = "controls"
"""In a run's folder: `CONDITION.json`, the finished controls of its probe."""
_TYPES = {
    kind.__name__: kind
    for kind in (
        Block,
        CapacityPoint,
        Compared,
        ConditionControls,
        ControlTask,
        CurvePoint,
        Estimate,
        Missing,
        OnlineCode,
        OtherStates,
        Priors,
        Shuffled,
    )
}
_TYPE, _MAP = "type", "map"
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_json(value: Any) -> Any:
    """JSON data of a control: a mapping with its type's name for a dataclass, lists for tuples."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {_TYPE: type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {_TYPE: _MAP, "items": [[to_json(key), to_json(inner)] for key, inner in value.items()]}
    if isinstance(value, tuple | list):
        return [to_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {_TYPE: str(value)}
    return value


def from_json(stored: Any) -> Any:
    """What `to_json` was given; lists come back as tuples.

    Raises:
        StoreError: data that are not of a control, or of another version.
    """
    if isinstance(stored, list):
        return tuple(from_json(inner) for inner in stored)
    if not isinstance(stored, dict):
        return stored
    fields = dict(stored)
    name = fields.pop(_TYPE, None)
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name == _MAP:
        return {from_json(key): from_json(value) for key, value in fields["items"]}
    kind = _TYPES.get(str(name))
    if kind is None:
        raise StoreError(f"{name!r} is no control")
    try:
        return kind(**{key: from_json(value) for key, value in fields.items()})
    except TypeError as error:
        raise StoreError(f"{name}: {error}") from error


def write_controls(folder: Path, controls: ConditionControls) -> None:
    """Keep a condition's controls."""
    write_text(_file(folder, controls.condition), json.dumps(to_json(controls), indent=1) + "\n")


def read_controls(folder: Path, conditions: Sequence[str]) -> list[ConditionControls]:
    """The controls of all conditions, in order.

    Raises:
        StoreError: those of a condition are not there, or cannot be read.
    """
    found = []
    for name in conditions:
        one = stored_controls(folder, name)
        if one is None:
            raise StoreError(f"{_file(folder, name)} is not there; run the same command again")
        found.append(one)
    return found


def stored_controls(folder: Path, condition: str) -> ConditionControls | None:
    """Finished controls of a condition; None if there are none that can be read."""
    file = _file(folder, condition)
    if not file.exists():
        return None
    try:
        found = from_json(json.loads(file.read_text(encoding="utf-8")))
        if isinstance(found, ConditionControls):
            return found
        reason = "it holds something else"
    except (ValueError, StoreError) as error:
        reason = str(error)
    log.warning("%s cannot be read (%s)", file, reason)
    return None


def _file(folder: Path, condition: str) -> Path:
    return folder / f"{condition}.json"
