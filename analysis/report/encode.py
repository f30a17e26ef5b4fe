"""Columns of rows as compact JSON: typed arrays as base64, texts by number, readings of layers in one byte each.

`assets/data.js` reads what is written here. Knows no run.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FIELDS: Mapping[str, str] = {
    "run": "text",
    "dataset": "text",
    "item": "text",
    "presentation": "text",
    "condition": "text",
    "readout": "text",
    "correct": "flag",
    "predicted": "text",
    "gold": "text",
    "p_gold": "float",
    "label_mass": "float",
    "status": "text",
    "rule": "text",
    "finish": "text",
    "judge_label": "text",
    "relevance": "float",
    "trace_words": "int",
    "etr_strict": "flag",
    "etr_prefix": "flag",
    "control_leak": "flag",
    "model": "text",
    "subject": "text",
    "area": "text",
    "space": "text",
    "split": "text",
    "k": "int",
    "gold_slot": "int",
    "pred_slot": "int",
    "native_slot": "int",
    "gold_rank": "int",
    "gold_logprob": "float",
    "entropy": "float",
    "reasoning_mass": "float",
    "top_token": "text",
    "tied": "flag",
    "n_tokens": "int",
    "n_image_tokens": "int",
    "reply": "text",
    "reasoning": "text",
    "problem": "text",
    "trace": "text",
    "span": "value",
    "labels": "value",
    "order": "value",
    "shown": "value",
    "judged": "value",
    "encoded": "value",
    "scores": "floats",
    "top_tokens": "texts",
    "top_logprobs": "floats",
    "lens": "lens",
}
"""Column -> its form. `flag`: true, false, missing. `value`: any JSON data. `floats`, `texts`: a list in each row."""

LENS_DEEPEST = 64.0
"""Nats; a lower log probability of a layer's reading is shown as this."""
_LENS_STEPS = 254
_MISSING = 255
_WIDTHS = ((1, np.uint8), (2, np.uint16), (4, np.uint32))


def columns(rows: pd.DataFrame) -> dict[str, Any]:
    """The columns of `rows` that are in `FIELDS`, each in its form; columns without any value are left out."""
    found: dict[str, Any] = {}
    for name, form in FIELDS.items():
        if name not in rows.columns:
            continue
        encoded = _FORMS[form](rows[name].tolist())
        if encoded is not None:
            found[name] = encoded
    return found


def escaped(data: Any) -> str:
    """JSON that may stand in an HTML file: no `<`, `>` or `&`, and nothing that is not ASCII."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def lens_bytes(logprobs: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Log probabilities in one byte each: the square root in 254 steps, fine near 0 where it matters.

    Args:
        logprobs: of any shape, in nats; NaN is missing.
    """
    with np.errstate(invalid="ignore"):
        depth = np.sqrt(np.clip(-logprobs, 0, LENS_DEEPEST) / LENS_DEEPEST) * _LENS_STEPS
    return np.where(np.isnan(logprobs), _MISSING, np.rint(np.nan_to_num(depth))).astype(np.uint8)


def lens_logprobs(data: NDArray[np.uint8]) -> NDArray[np.float64]:
    """What `lens_bytes` was given, within 0.04 nats of it above -1, and 0.26 anywhere down to its deepest."""
    depth = (data.astype(np.float64) / _LENS_STEPS) ** 2 * LENS_DEEPEST
    return np.where(data == _MISSING, np.nan, -depth)


def _b64(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def _unsigned(values: Sequence[int]) -> tuple[int, str]:
    """Bytes of each number, and the numbers."""
    top = max(values, default=0)
    width, kind = next((width, kind) for width, kind in _WIDTHS if top < 256**width)
    return width, _b64(np.asarray(values, dtype=kind))


def _is_missing(value: Any) -> bool:
    # pandas fills rows of runs that lack a column with NaN, and its own missing value equals nothing, not even itself.
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def _coded(values: Sequence[Any], key: Any) -> tuple[list[Any], list[int]]:
    """Distinct values, and each value's place among them from 1, 0 for a missing one."""
    places: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = []
    for value in values:
        if _is_missing(value):
            codes.append(0)
            continue
        one = key(value)
        if one not in places:
            distinct.append(value)
            places[one] = len(distinct)
        codes.append(places[one])
    return distinct, codes


def _texts(values: Sequence[Any]) -> dict[str, Any] | None:
    distinct, codes = _coded([value if _is_missing(value) else str(value) for value in values], str)
    width, data = _unsigned(codes)
    return {"t": "text", "d": distinct, "w": width, "c": data} if distinct else None


def _values(values: Sequence[Any]) -> dict[str, Any] | None:
    distinct, codes = _coded(values, lambda value: json.dumps(value, sort_keys=True))
    width, data = _unsigned(codes)
    return {"t": "value", "d": distinct, "w": width, "c": data} if distinct else None


def _flags(values: Sequence[Any]) -> dict[str, Any] | None:
    codes = [2 if _is_missing(value) else int(bool(value)) for value in values]
    return {"t": "flag", "v": _b64(np.asarray(codes, dtype=np.uint8))} if set(codes) - {2} else None


def _ints(values: Sequence[Any]) -> dict[str, Any] | None:
    there = [value for value in values if not _is_missing(value)]
    if not there:
        return None
    low, high = int(min(there)), int(max(there))
    # 0 is missing; everything else counts from the lowest.
    width, data = _unsigned([0 if _is_missing(value) else int(value) - low + 1 for value in values])
    return {"t": "int", "low": low, "high": high, "w": width, "v": data}


def _floats(values: Sequence[Any]) -> dict[str, Any] | None:
    array = np.asarray([math.nan if _is_missing(value) else value for value in values], dtype=np.float32)
    return None if np.isnan(array).all() else {"t": "float", "v": _b64(array)}


def _lists(values: Sequence[Any]) -> tuple[list[list[Any]], dict[str, Any]]:
    lists = [[] if _is_missing(value) else list(value) for value in values]
    width, data = _unsigned([len(value) for value in lists])
    return lists, {"nw": width, "n": data}


def _float_lists(values: Sequence[Any]) -> dict[str, Any] | None:
    lists, lengths = _lists(values)
    flat = np.asarray([value for one in lists for value in one], dtype=np.float32)
    return {"t": "floats", **lengths, "v": _b64(flat)} if len(flat) else None


def _text_lists(values: Sequence[Any]) -> dict[str, Any] | None:
    lists, lengths = _lists(values)
    coded = _texts([value for one in lists for value in one])
    return None if coded is None else {**coded, "t": "texts", **lengths}


def _lens(values: Sequence[Any]) -> dict[str, Any] | None:
    """Lists of bytes, layer after layer, `k` in each."""
    parts = [np.zeros(0, np.uint8) if _is_missing(value) else np.asarray(value, dtype=np.uint8) for value in values]
    flat = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
    width, data = _unsigned([len(part) for part in parts])
    if not len(flat):
        return None
    return {"t": "lens", "nw": width, "n": data, "v": _b64(flat), "steps": _LENS_STEPS, "deepest": LENS_DEEPEST}


_FORMS = {
    "text": _texts,
    "value": _values,
    "flag": _flags,
    "int": _ints,
    "float": _floats,
    "floats": _float_lists,
    "texts": _text_lists,
    "lens": _lens,
}
