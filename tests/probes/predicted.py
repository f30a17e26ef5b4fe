"""Predictions, probes and fits written down by hand, for tests of the tables of linear probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from probes.fits_file import Fits, PlaceFit
from probes.heads import Fitted, Place, Setting
from probes.linear_probe import LinearProbe, Standard
from probes.predictions import SCHEMA, Predictions, Probed, predictions_of

STATE = "final_norm"


def prediction_rows(
    gold: Sequence[int],
    native: Mapping[str, Sequence[int]],
    probes: Mapping[Probed, Sequence[int]],
    *,
    k: Sequence[int] | int = 2,
    groups: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    presentations: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of `predictions.parquet`: slots by row, each row an item of its own in the source's order unless named."""
    n = len(gold)
    items = items or [f"q{row}" for row in range(n)]
    return [
        {
            **probed._asdict(),
            "item_id": items[row],
            "presentation": presentations[row] if presentations else "identity",
            "group_id": (groups or items)[row],
            "k": k if isinstance(k, int) else k[row],
            "gold_slot": gold[row],
            "pred_slot": slots[row],
            "correct": slots[row] == gold[row],
            "gold_logprob": -0.5,
            "native_slot": native[probed.condition][row],
            "native_correct": native[probed.condition][row] == gold[row],
        }
        for probed, slots in probes.items()
        for row in range(n)
    ]


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA)


def predicted(*arguments: Any, **more: Any) -> Predictions:
    """`prediction_rows` as the tables take them."""
    return predictions_of(table_of(prediction_rows(*arguments, **more)))


def study(condition: str, trained_on: str | None = None) -> Probed:
    return Probed(condition, trained_on or condition, "study", STATE)


def axis_probe(k: int, d: int, noise: float = 0.0, seed: int = 0) -> LinearProbe:
    """Reads slot j off axis j, where `made_part` puts the signal."""
    weight = torch.eye(d, k) + noise * torch.randn(d, k, generator=torch.Generator().manual_seed(seed))
    return LinearProbe(Standard(torch.zeros(d), torch.ones(d)), weight, torch.zeros(k))


def setting(accuracy: float, loss: float = 1.0, **more: Any) -> Setting:
    return Setting("C=1", accuracy, loss, 0.5, **more)


def fitted_at(condition: str, state: str, probe: LinearProbe, accuracy: float = 0.5, loss: float = 1.0) -> Fitted:
    return Fitted(Place(condition, state), probe, 0, (setting(accuracy, loss),))


def made_fits(conditions: Sequence[str], select: Mapping[Any, float] | None = None, **changes: Any) -> Fits:
    """Fits of one probe per condition at the study's state, or at the places in `select` with its accuracies."""
    accuracies = select or {(name, STATE): 0.5 for name in conditions}
    places = {Place(*place): PlaceFit(Place(*place), 0, (setting(accuracy),)) for place, accuracy in accuracies.items()}
    names = dict.fromkeys(state for _, state in accuracies)
    arguments: dict[str, Any] = {
        "best": {name: Place(name, STATE) for name in conditions},
        "draws": 400,
    }
    return Fits(places, tuple(conditions), tuple(names), STATE, **(arguments | changes))


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))
