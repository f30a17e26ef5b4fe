"""The folder of a saved linear probe, written and read.

It holds `probe.safetensors`, `README.md` and `card.json`, which is written last: a folder with a card is whole. Knows
no solver, and no use of a probe.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from probes.card import SCHEMA, Card, card_json, card_text, parse_card
from probes.linear_probe import LinearProbe, Standard
from probes.saved_probe import SavedProbe, listed
from thinkgap.errors import StoreError
from thinkgap.store.atomic import disk_errors, write_bytes, write_text

CARD, WEIGHTS, README = "card.json", "probe.safetensors", "README.md"
_AGAIN = "delete its folder and start the command of train.py that wrote it once more"


def probe_folder(run: Path, condition: str, role: str) -> Path:
    """Where a run of train.py keeps a probe: `RUN/probes/CONDITION/ROLE`."""
    return run / "probes" / condition / role


def save_probe(folder: Path, probe: LinearProbe, card: Card) -> None:
    """Write a probe's folder, replacing what is there; equal probes and cards give equal bytes.

    Raises:
        StoreError: a probe that does not fit its card or is not finite, a full disk, or a folder that cannot be
            written.
    """
    from safetensors.torch import save

    tensors = {
        "weight": probe.weight,
        "bias": probe.bias,
        "mean": probe.standard.mean,
        "scale": probe.standard.scale,
    }
    if reason := _misfit(tensors, card):
        raise StoreError(f"the probe for {folder} cannot be saved: {reason}; fit it again with other settings")
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"format": "pt"})
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # An earlier card must not stand beside other weights, not even after a kill.
        (folder / CARD).unlink(missing_ok=True)
    write_bytes(folder / WEIGHTS, data)
    write_text(folder / README, card_text(card))
    write_text(folder / CARD, card_json(card, hashlib.sha256(data).hexdigest()))


def load_probe(path: Path | str) -> SavedProbe:
    """A saved probe; `probes.load` is this function.

    Raises:
        StoreError: no probe's folder, one that was not finished, that another version wrote, or that is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    folder = Path(path)
    stored = _card_content(folder)
    damaged = f"{folder} holds a damaged probe: "
    try:
        card, digest = parse_card(stored)
        data = (folder / WEIGHTS).read_bytes()
    except ValueError as error:
        raise StoreError(f"{damaged}{CARD}: {error}; {_AGAIN}") from None
    except FileNotFoundError:
        raise StoreError(f"{damaged}{WEIGHTS} is missing; {_AGAIN}") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StoreError(f"{damaged}the sha256 of {WEIGHTS} is not that of its card; {_AGAIN}")
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise StoreError(f"{damaged}{WEIGHTS} cannot be read ({error}); {_AGAIN}") from None
    if reason := _misfit(tensors, card):
        raise StoreError(f"{damaged}{reason}; {_AGAIN}")
    standard = Standard(tensors["mean"], tensors["scale"])
    return SavedProbe(folder, card, LinearProbe(standard, tensors["weight"], tensors["bias"]))


def _card_content(folder: Path) -> dict[str, Any]:
    """What card.json of this version says."""
    try:
        stored = json.loads((folder / CARD).read_bytes())
        schema = stored["schema"]
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{folder} is no saved probe ({CARD} is missing){_way_to_probe(folder)}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / CARD} is no probe's card or damaged ({type(error).__name__}); {_AGAIN}") from None
    if schema != SCHEMA:
        raise StoreError(
            f"{folder} has schema {schema}, this version of thinkgap reads {SCHEMA}: read it with the version that "
            "its card names, or fit it again"
        )
    return stored


def _way_to_probe(folder: Path) -> str:
    if (folder / WEIGHTS).exists():
        return "; its writer was stopped: start the same command of train.py again to finish it"
    # A run's folder, its folder of probes, or that of a condition.
    patterns = ("probes/*/*", "*/*", "*")
    found = next((f for one in patterns if (f := sorted(folder.glob(f"{one}/{CARD}")))), [])
    if not found:
        return "; give a folder like RUN/probes/CONDITION/study of a finished run of train.py probe=linear"
    return f"; below it are {listed([str(file.parent) for file in found])}: give one of them"


def _misfit(tensors: Mapping[str, Tensor], card: Card) -> str:
    """Why these tensors cannot be the probe of this card; empty if they can."""
    shapes = {"weight": (card.d, card.n_slots), "bias": (card.n_slots,), "mean": (card.d,), "scale": (card.d,)}
    if tensors.keys() != shapes.keys():
        return f"it has {listed(sorted(tensors))} instead of {', '.join(shapes)}"
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.dtype is not torch.float32 or tuple(tensor.shape) != shape:
            return f"its {name} is {tensor.dtype} {list(tensor.shape)}; the card says torch.float32 {list(shape)}"
        if not bool(torch.isfinite(tensor).all()):
            return f"its {name} is not finite"
    return "" if bool((tensors["scale"] > 0).all()) else "its scale is not positive"
