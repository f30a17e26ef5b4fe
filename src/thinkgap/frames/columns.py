"""The files of a run folder that become frames: their names, their columns, and which text columns are categories.

Knows names and types only.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from thinkgap.nothinking.columns import SCHEMA as RESPONSES
from thinkgap.nothinking.levels import JUDGEMENTS_FILE, JUDGEMENTS_SCHEMA, RELEVANCE_FILE, RELEVANCE_SCHEMA
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.store.items import ITEMS_FILE
from thinkgap.store.items import SCHEMA as ITEMS
from thinkgap.store.likelihoods import LIKELIHOODS_FILE
from thinkgap.store.likelihoods import SCHEMA as LIKELIHOODS
from thinkgap.store.records import RECORDS_FILE
from thinkgap.store.records import SCHEMA as RECORDS
from thinkgap.store.side import REPLIES

_TEXT, _SLOT = pa.string(), pa.int32()
# Those of `probes.predictions`, which comes after this layer; a test keeps the two in step.
_PREDICTIONS = {
    **dict.fromkeys(("condition", "trained_on", "role", "state", "item_id", "presentation", "group_id"), _TEXT),
    **dict.fromkeys(("k", "gold_slot", "pred_slot"), _SLOT),
    "correct": pa.bool_(),
    "gold_logprob": pa.float32(),
    "native_slot": _SLOT,
    "native_correct": pa.bool_(),
}
PREDICTIONS = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _PREDICTIONS.items()])


@dataclass(frozen=True)
class Part:
    """One file of a run folder."""

    file: str
    schema: pa.Schema


PARTS = {
    "records": Part(RECORDS_FILE, RECORDS),
    "items": Part(ITEMS_FILE, ITEMS),
    "replies": Part("replies.parquet", REPLIES),
    "likelihoods": Part(LIKELIHOODS_FILE, LIKELIHOODS),
    "responses": Part(RESPONSES_FILE, RESPONSES),
    "relevance": Part(RELEVANCE_FILE, RELEVANCE_SCHEMA),
    "judgements": Part(JUDGEMENTS_FILE, JUDGEMENTS_SCHEMA),
    "predictions": Part("predictions.parquet", PREDICTIONS),
}
"""Frame -> its file."""
MAIN = ("records", "responses", "predictions")
"""Of these a finished run has one at least."""
CATEGORIES = frozenset(
    {
        *("run", "presentation", "condition", "readout", "split", "subject", "area", "top_token", "dataset", "mode"),
        *("model", "thinking", "space", "status", "rule", "finish", "finish_reason", "served_model", "encoder"),
        *("judge", "kind", "trained_on", "role", "state"),
    }
)
"""Text columns with few values, which become pandas categories: smaller, and faster to compare and to group by."""
