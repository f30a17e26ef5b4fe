"""The label readout of every layer through the model's own norm and head (logit lens), as a sheet and charts.

From the lens columns of native rows of items in the source's order. Layer 0 is the state after the first layer; the
last layer's figures are the native readout's. What the lens can show: `docs/layers.md`. Knows no model and no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.frames import NATIVE, parts_of
from thinkgap.readouts.rows import drawn
from thinkgap.readouts.sheet import Chart, Column, Sheet

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = (
    Column("condition", "condition", "text"),
    Column("layer", "layer", "count"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("first_slot", "first slot %", "percent"),
    Column("label_mass", "label mass", "mass"),
)
_NOTES = (
    "each layer's state goes through the model's final norm once, with statistics of its own, and through its head",
    "layer 0 is the state after the first layer; the last layer is the native readout",
)


@dataclass(frozen=True)
class _Layer:
    condition: str
    layer: int
    accuracy: Estimate
    first_slot: Estimate
    label_mass: Estimate


def layer_sheets(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Sheet]:
    """Accuracy, first-slot rate and label mass of every layer and condition.

    Args:
        frame: records of one run; native rows of items in the source's order are used.
        conditions: the run's order.

    Returns:
        One sheet; none if the run did not read its layers.

    Raises:
        StoreError: a key that occurs twice, or rows with other numbers of layers.
    """
    rows = tuple(
        (one.condition, one.layer, one.accuracy.n, one.accuracy, one.first_slot, one.label_mass)
        for one in _layers(frame, conditions)
    )
    return [Sheet("layers", "The label readout by layer", _COLUMNS, rows, _NOTES)] if rows else []


def layer_charts(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Chart]:
    """Each figure of `layer_sheets` over layers, one line per condition; raises as that does."""
    layers = list(_layers(frame, conditions))
    charts = []
    for name, title in (
        ("accuracy", "Accuracy of the label readout by layer"),
        ("first_slot", "First-slot rate of the label readout by layer"),
        ("label_mass", "Label mass by layer"),
    ):
        rows = tuple((float(one.layer), getattr(one, name).value, one.condition) for one in layers)
        charts.append(Chart(f"layers_{name}", title, "line", "layer", name, "condition", rows))
    return charts if layers else []


def _layers(frame: pd.DataFrame, conditions: Sequence[str]) -> Iterator[_Layer]:
    for name, part in parts_of(frame, NATIVE, conditions, IDENTITY).items():
        depths = sorted({len(lens) for lens in part["lens_label_logprobs"]})
        if depths == [0]:
            continue
        if len(depths) > 1:
            raise StoreError(
                f"condition {name} has rows with {' and '.join(map(str, depths))} layers: they are of different runs; "
                "start again in a new folder with hydra.run.dir=..."
            )
        groups = part["group_id"].to_numpy()
        slots = _slots(part)
        masses = np.stack([np.asarray(row, dtype=float) for row in part["lens_label_mass"]])
        gold = part["gold_slot"].to_numpy()[:, None]
        for layer in range(slots.shape[1]):
            yield _Layer(
                name,
                layer,
                metrics.rate((slots == gold)[:, layer], groups),
                metrics.first_slot_rate(slots[:, layer], groups),
                metrics.mean(masses[:, layer], groups),
            )


def _slots(part: pd.DataFrame) -> NDArray[np.int64]:
    """`[n, L]` predicted slot of every row and layer; ties are drawn as the native readout draws them."""
    slots = []
    for item_id, presentation, lens in zip(
        part["item_id"], part["presentation"], part["lens_label_logprobs"], strict=True
    ):
        scores = np.array([list(layer) for layer in lens], dtype=float)
        best = scores == scores.max(axis=1, keepdims=True)
        chosen = best.argmax(axis=1)
        for layer in np.flatnonzero(best.sum(axis=1) > 1):
            chosen[layer] = drawn(item_id, presentation, np.flatnonzero(best[layer]).tolist())
        slots.append(chosen)
    return np.stack(slots)
