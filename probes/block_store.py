"""Fitted blocks on disk, so that a killed run and several processes need not fit a block twice.

A block is `block-000.safetensors` (the chosen probes) and `block-000.json` (where they read, all settings that were
tried, digests), which is written last: a block is there once its JSON file is. Knows no solver and no data; that a
folder belongs to the present settings is the caller's to check.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from probes.heads import Fitted, Place, Setting
from probes.linear_probe import LinearProbe, Standard
from thinkgap.store.atomic import disk_errors, write_bytes, write_text

log = logging.getLogger(__name__)

_SCHEMA = 1
_FLOAT = "float"
"""Marks a number that JSON has no word for."""


def write_block(folder: Path, number: int, fitted: Sequence[Fitted]) -> None:
    """Write the chosen probes of a block and all its settings, replacing what is there; whole or not at all.

    Args:
        folder: of the run's blocks; created.
        number: of the block, from 0.
        fitted: of every place of the block, in its order, with one width `d` and one number of slots `K`.

    Raises:
        StoreError: the disk is full, or the folder cannot be written.
        ValueError: no probes, probes of several shapes, or numbers that are not float32, which would not come back
            exactly.
    """
    from safetensors.torch import save

    tensors = _stacked([one.probe for one in fitted])
    data = save(tensors, {"format": "pt"})
    facts = {
        "schema": _SCHEMA,
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
        "fitted": [
            {
                "place": list(one.place),
                "chosen": one.chosen,
                "settings": [{key: _encoded(value) for key, value in asdict(s).items()} for s in one.settings],
            }
            for one in fitted
        ],
    }
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # Another process may have written the same block: between the two files it then reads as damaged, never as mixed.
    write_bytes(_tensor_file(folder, number), data)
    text = json.dumps({"sha256": _digest(facts), "facts": facts}, indent=1, allow_nan=False)
    write_text(_facts_file(folder, number), text + "\n")


def read_block(folder: Path, number: int, places: Sequence[Place], d: int, n_slots: int) -> list[Fitted] | None:
    """A block as it was written; None, with a warning, if it is damaged or of other probes, so to be fitted again.

    Args:
        folder: of the run's blocks.
        number: of the block, from 0.
        places: `P` places that the block should have, in this order.
        d: width of the states.
        n_slots: `K`, columns of the weights.

    Returns:
        `P` results, with weights and settings of the very same bits; None also, without a warning, if the block is
        not there.
    """
    from safetensors.torch import load

    found = _found(folder, number, places)
    if found is None:
        return None
    facts, data = found
    tensors = load(data)
    shapes = {"weight": (d, n_slots), "bias": (n_slots,), "mean": (d,), "scale": (d,)}
    for name, shape in shapes.items():
        expected, held = (len(places), *shape), tuple(tensors[name].shape)
        if held != expected:
            return _refused(folder, number, f"its {name} is {list(held)} instead of {list(expected)}")
    fitted = []
    for row, one in enumerate(facts["fitted"]):
        # Copies, so that one probe that is kept does not keep the whole block.
        own = {name: tensor[row].clone() for name, tensor in tensors.items()}
        probe = LinearProbe(Standard(own["mean"], own["scale"]), own["weight"], own["bias"])
        settings = [Setting(**{key: _decoded(value) for key, value in s.items()}) for s in one["settings"]]
        fitted.append(Fitted(Place(*one["place"]), probe, one["chosen"], tuple(settings)))
    return fitted


def finished_blocks(folder: Path, blocks: Sequence[Sequence[Place]]) -> set[int]:
    """Numbers of those of `blocks` that are whole on disk; a damaged one gives a warning and does not count."""
    return {number for number, places in enumerate(blocks) if _found(folder, number, places) is not None}


def _found(folder: Path, number: int, places: Sequence[Place]) -> tuple[dict[str, Any], bytes] | None:
    """What `block-*.json` says and the bytes of the tensors, both as they were written."""
    file = _facts_file(folder, number)
    try:
        stored = json.loads(file.read_bytes())
        facts, digest = stored["facts"], stored["sha256"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        return _refused(folder, number, f"{file.name} cannot be read ({type(error).__name__})")
    if _digest(facts) != digest:
        return _refused(folder, number, f"the sha256 of {file.name} does not match")
    if facts["schema"] != _SCHEMA:
        return _refused(folder, number, f"it has schema {facts['schema']}, this version writes {_SCHEMA}")
    held = [Place(*one["place"]) for one in facts["fitted"]]
    if held != list(places):
        return _refused(folder, number, f"it holds {_shown(held)} instead of {_shown(places)}")
    tensors = _tensor_file(folder, number)
    try:
        data = tensors.read_bytes()
    except FileNotFoundError:
        return _refused(folder, number, f"{tensors.name} is missing")
    if hashlib.sha256(data).hexdigest() != facts["tensors_sha256"]:
        return _refused(folder, number, f"the sha256 of {tensors.name} does not match")
    return facts, data


def _refused(folder: Path, number: int, reason: str) -> None:
    log.warning("block %d in %s is damaged or of another run and is fitted again: %s", number, folder, reason)


def _stacked(probes: Sequence[LinearProbe]) -> dict[str, Tensor]:
    named = {
        "weight": [probe.weight for probe in probes],
        "bias": [probe.bias for probe in probes],
        "mean": [probe.standard.mean for probe in probes],
        "scale": [probe.standard.scale for probe in probes],
    }
    for name, tensors in named.items():
        kinds = {(tuple(tensor.shape), tensor.dtype) for tensor in tensors}
        if len(kinds) != 1 or next(iter(kinds))[1] is not torch.float32:
            raise ValueError(f"the {name} of a block must be float32 of one shape, not {sorted(map(str, kinds))}")
    return {name: torch.stack([tensor.detach().cpu() for tensor in tensors]) for name, tensors in named.items()}


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _encoded(value: Any) -> Any:
    """JSON keeps a float's value exactly (its repr), but for NaN and the infinities, which it does not know."""
    return {_FLOAT: repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _decoded(value: Any) -> Any:
    return float(value[_FLOAT]) if isinstance(value, dict) else value


def _shown(places: Sequence[Place]) -> str:
    if not places:
        return "no places"
    first, last = places[0], places[-1]
    return f"{len(places)} places from {first.condition} {first.state} to {last.condition} {last.state}"


def _facts_file(folder: Path, number: int) -> Path:
    return folder / f"block-{number:03d}.json"


def _tensor_file(folder: Path, number: int) -> Path:
    return folder / f"block-{number:03d}.safetensors"
