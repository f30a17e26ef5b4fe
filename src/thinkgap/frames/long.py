"""List columns of records as long tables: a row for each slot, and for each layer and slot. Works on Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thinkgap.errors import StoreError
from thinkgap.store.records import KEY

LABEL_COLUMNS = (*KEY, "group_id", "slot", "content", "label", "gold", "predicted", "logprob")
LAYER_COLUMNS = (*KEY, "group_id", "layer", "slot", "content", "gold", "logprob", "label_mass")


def labels_long(records: pa.Table) -> pa.Table:
    """A row per record and slot, in the order of both.

    Args:
        records: of one or several runs, with or without a column `run`.

    Returns:
        `LABEL_COLUMNS`, `run` before them if it is there: `logprob` is the slot's entry of `label_logprobs` (NaN where
        the readout has none), `gold` and `predicted` say whether the slot is the right one and the one that was read.

    Raises:
        StoreError: a record whose lists have different lengths.
    """
    k, parent, slot = _slots(records)
    labels, logprobs = (_list(records, name) for name in ("labels", "label_logprobs"))
    _same(records, "labels", _lengths(labels), k)
    sizes = _lengths(logprobs)
    _same(records, "label_logprobs", np.where(sizes == 0, k, sizes), k)
    values = np.full(len(parent), np.nan)
    values[sizes[parent] > 0] = np.asarray(logprobs.flatten(), dtype=np.float64)
    own: dict[str, Any] = {
        "slot": pa.array(slot, pa.int32()),
        "content": _list(records, "order").flatten(),
        "label": labels.flatten().dictionary_encode(),
        "gold": pa.array(_numbers(records, "gold_slot")[parent] == slot),
        "predicted": pa.array(_numbers(records, "pred_slot")[parent] == slot),
        "logprob": pa.array(values),
    }
    return _joined(records, parent, own, LABEL_COLUMNS)


def layers_long(records: pa.Table) -> pa.Table:
    """A row per record, layer and slot, for the records whose layers were read (`evaluation.lens=true`).

    Args:
        records: as for `labels_long`.

    Returns:
        `LAYER_COLUMNS`, `run` before them if it is there. Layer 0 is the state after the first layer, the last one is
        the native readout; `label_mass` is that of the layer, the same for all its slots.

    Raises:
        StoreError: a record whose lists have different lengths.
    """
    records = records.filter(pa.array(_lengths(_list(records, "lens_label_logprobs")) > 0))
    k, _, _ = _slots(records)
    nested, masses = _list(records, "lens_label_logprobs"), _list(records, "lens_label_mass")
    depth = _lengths(nested)
    _same(records, "lens_label_mass", _lengths(masses), depth)
    by_layer = nested.flatten()
    row_of_layer = np.repeat(np.arange(len(depth)), depth)
    _same(records, "lens_label_logprobs", _lengths(by_layer), k[row_of_layer], row_of_layer)
    layer = _count(depth)
    place = np.repeat(np.arange(len(layer)), k[row_of_layer])
    parent, slot = row_of_layer[place], _count(k[row_of_layer])
    starts = np.cumsum(k) - k
    order = np.asarray(_list(records, "order").flatten(), dtype=np.int32)
    own: dict[str, Any] = {
        "layer": pa.array(layer[place], pa.int32()),
        "slot": pa.array(slot, pa.int32()),
        "content": pa.array(order[starts[parent] + slot]),
        "gold": pa.array(_numbers(records, "gold_slot")[parent] == slot),
        "logprob": by_layer.flatten(),
        "label_mass": pa.array(np.asarray(masses.flatten(), dtype=np.float64)[place]),
    }
    return _joined(records, parent, own, LAYER_COLUMNS)


def _slots(records: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Slots of each record; and of each slot its record and its number."""
    k = _lengths(_list(records, "order"))
    return k, np.repeat(np.arange(len(k)), k), _count(k)


def _count(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... up to each size, one after the other."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _list(records: pa.Table, name: str) -> Any:
    return cast(Any, records.column(name).combine_chunks())


def _lengths(lists: Any) -> NDArray[np.int64]:
    return np.asarray(lists.value_lengths(), dtype=np.int64)


def _numbers(records: pa.Table, name: str) -> NDArray[np.int64]:
    return records.column(name).to_numpy().astype(np.int64)


def _same(
    records: pa.Table,
    name: str,
    found: NDArray[np.int64],
    expected: NDArray[np.int64],
    rows: NDArray[np.int64] | None = None,
) -> None:
    if (wrong := np.flatnonzero(found != expected)).size:
        row = int(wrong[0] if rows is None else rows[wrong[0]])
        key = tuple(records.column(part)[row].as_py() for part in KEY)
        raise StoreError(
            f"the record {key}: {name} has {found[wrong[0]]} entries and not {expected[wrong[0]]}; the file "
            "was changed after the run: make it again"
        )


def _joined(records: pa.Table, parent: NDArray[np.int64], own: dict[str, Any], names: Sequence[str]) -> pa.Table:
    names = [name for name in ("run", *names) if name in own or name in records.column_names]
    indices = pa.array(parent)
    return pa.table({name: own[name] if name in own else records.column(name).take(indices) for name in names})
