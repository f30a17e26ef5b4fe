"""The columns of `responses.parquet`: their types, and the fields of the core records that they hold.

Knows names and types only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pyarrow as pa

from thinkgap.nothinking.etr import EmptyThinking, TraceLength
from thinkgap.nothinking.reading import ResponseReading
from thinkgap.types import Question, Response

KEY = ("dataset", "item_id", "presentation", "mode", "model")
"""Columns that identify a row, in the order in which rows are sorted."""


def _columns(record: type, apart: tuple[str, ...] = (), **renamed: str) -> dict[str, str]:
    """Column -> field of `record`; fields in `apart` have no column of their own."""
    names = [field.name for field in dataclasses.fields(record) if field.name not in apart]  # type: ignore[arg-type]
    return {renamed.get(name, name): name for name in names}


QUESTION: Mapping[str, str] = _columns(Question, answer="gold")
RESPONSE: Mapping[str, str] = _columns(Response, ("channels",), model="served_model")
READING: Mapping[str, str] = _columns(ResponseReading, ("span",), reasoning="reasoning_trace")
ETR: Mapping[str, str] = {f"etr_{name}": name for name in _columns(EmptyThinking)}
LENGTH: Mapping[str, str] = _columns(TraceLength, words="trace_words", tokens="trace_tokens")
COPY: Mapping[str, str] = {
    "copy_components": "n_components",
    "copy_containment": "containment",
    "copy_cover": "cover",
}

_TEXTS = pa.list_(pa.string())
_TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("labels", "options", "parts"), _TEXTS),
    "contents": pa.list_(pa.int32()),
    "channels": pa.map_(pa.string(), pa.string()),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "reasoning_tokens"), pa.int64()),
    **dict.fromkeys(("slot", "span_start", "span_end", "n_candidates", "copy_components"), pa.int32()),
    **dict.fromkeys(LENGTH, pa.int32()),
    **dict.fromkeys(("copy_containment", "copy_cover"), pa.float64()),
    **dict.fromkeys(("open_box", *ETR), pa.bool_()),
    **{
        field.name: pa.bool_()
        for field in dataclasses.fields(ResponseReading)
        if str(field.type) in ("bool", "bool | None")
    },
}
"""Column -> type; text where it is not here."""
_NULLABLE = frozenset(
    {
        *("open_box", "prompt_tokens", "completion_tokens", "reasoning_tokens"),
        *("answer", "slot", "span_start", "span_end", "permissive", "correct", "correct_permissive"),
        *("trace_tokens", "visible_tokens", *COPY),
    }
)

_ORDER = (
    *KEY,
    "thinking",
    "open_box",
    *QUESTION,
    *RESPONSE,
    "channels",
    *READING,
    "span_start",
    "span_end",
    *ETR,
    *LENGTH,
    *COPY,
)
SCHEMA = pa.schema(
    [pa.field(name, _TYPES.get(name, pa.string()), nullable=name in _NULLABLE) for name in dict.fromkeys(_ORDER)]
)
