"""The rows of a model's vocabulary projection that stand for labels, kept beside a capture.

With them the model's own readout is a fixed probe of the final state that needs no model. Knows no item and no state
but those that it is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from probes.head import linear_head
from thinkgap.backends.families import Structure
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ModelError, StoreError
from thinkgap.store.atomic import write_bytes, write_text
from thinkgap.types import LETTERS

ROWS_FILE, FACTS_FILE = "head_rows.safetensors", "head_rows.json"


@dataclass(frozen=True)
class HeadRows:
    """Label tokens by condition, and what the projection holds for them."""

    labels: Mapping[str, Mapping[str, tuple[int, ...]]]
    """Condition -> label -> token ids whose probabilities are summed for it."""
    token_ids: tuple[int, ...]
    """`T` tokens, those of all labels."""
    rows: Tensor
    """`[T, d]`, float32."""
    bias: Tensor | None
    """`[T]`, float32; None if the projection has none."""
    scale: float
    softcap: float | None

    def reason(self, condition: str) -> str | None:
        """Why there is no matrix of a condition; None where there is one."""
        labels = self.labels[condition]
        for label, ids in labels.items():
            if len(ids) != 1:
                return f"label {label} is the sum of {len(ids)} tokens, which no linear readout is"
        if self._slots(condition) is None:
            return f"labels {', '.join(labels)} do not name one slot each"
        return None

    def matrix(self, condition: str) -> Tensor | None:
        """Float32 `[K, d]`, a row for each slot; None for the `reason`."""
        places = self._places(condition)
        return None if places is None else self.rows[places]

    def bias_of(self, condition: str) -> Tensor | None:
        """Float32 `[K]`, 0 where the projection has none; None for the `reason`."""
        places = self._places(condition)
        if places is None:
            return None
        return torch.zeros(len(places)) if self.bias is None else self.bias[places]

    def logits(self, condition: str, states: Tensor) -> Tensor | None:
        """The model's own label logits `[n, K]` of states `[n, d]` after the final norm; None for the `reason`."""
        matrix, bias = self.matrix(condition), self.bias_of(condition)
        if matrix is None or bias is None:
            return None
        head = nn.Linear(matrix.shape[1], matrix.shape[0], device="meta")
        head.weight, head.bias = nn.Parameter(matrix, requires_grad=False), nn.Parameter(bias, requires_grad=False)
        return Structure(nn.ModuleList(), nn.Identity(), head, self.softcap, self.scale).logits(states.float())

    def _places(self, condition: str) -> list[int] | None:
        slots = self._slots(condition)
        if slots is None or self.reason(condition) is not None:
            return None
        return [self.token_ids.index(self.labels[condition][label][0]) for label in slots]

    def _slots(self, condition: str) -> tuple[str, ...] | None:
        """Labels in the order of slots: letters from A, or the one pair of words of yes/no questions."""
        labels = tuple(self.labels[condition])
        letters = tuple(LETTERS[: len(labels)])
        if set(labels) == set(letters):
            return letters
        return labels if len(labels) == 2 and not set(labels) & set(LETTERS) else None


def write_head_rows(folder: Path, backend: HFBackend, conditions: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of all labels, or why there are none.

    Args:
        folder: of the capture.
        backend: the model.
        conditions: as the capture's manifest describes them.

    Raises:
        StoreError: The disk is full.
    """
    from safetensors.torch import save

    labels = {one["name"]: one["label_ids"] for one in conditions}
    try:
        head = linear_head(backend)
    except ModelError as error:
        write_text(folder / FACTS_FILE, json.dumps({"missing": str(error)}))
        return
    token_ids = sorted({token for of_one in labels.values() for ids in of_one.values() for token in ids})
    tensors = {
        name: tensor.detach()[token_ids].to("cpu", torch.float32).contiguous()
        for name, tensor in (("rows", head.weight), ("bias", head.bias))
        if tensor is not None
    }
    structure = backend.structure
    facts = {"labels": labels, "token_ids": token_ids, "scale": structure.scale, "softcap": structure.softcap}
    write_bytes(folder / ROWS_FILE, save(tensors))
    write_text(folder / FACTS_FILE, json.dumps(facts, indent=2, ensure_ascii=False))


def read_head_rows(folder: Path) -> HeadRows | None:
    """The rows kept beside a capture; None where there are none, such as beside a run of `evaluate.py`.

    Raises:
        StoreError: Files that are damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        facts = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
        if "missing" in facts:
            return None
        tensors = load((folder / ROWS_FILE).read_bytes())
        labels = {
            name: {label: tuple(ids) for label, ids in of_one.items()} for name, of_one in facts["labels"].items()
        }
        return HeadRows(
            labels,
            tuple(facts["token_ids"]),
            tensors["rows"],
            tensors.get("bias"),
            facts["scale"],
            facts["softcap"],
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, SafetensorError) as error:
        raise StoreError(f"{folder / FACTS_FILE} or {ROWS_FILE} is damaged ({error}); delete {folder}") from None
