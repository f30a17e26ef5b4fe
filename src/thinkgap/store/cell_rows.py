"""Finished cells as columns: `Reading`s, of the last layer and through the lens, there and back without loss.

A *cell* is what one forward pass said of one prompt. Knows the columns; nothing of files, states or of how a reading
came about. The columns are described in `docs/features.md`; a test keeps the two and `Reading` in step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.types import Prompt, Reading

# float64 holds what was read exactly: a cell that comes from disk gives the same record to the last digit.
_READING = [
    pa.field("label_logprobs", pa.list_(pa.float64())),
    pa.field("label_mass", pa.float64()),
    pa.field("top_token_id", pa.int32()),
    pa.field("top_logprob", pa.float64()),
    pa.field("entropy", pa.float64()),
    pa.field("gold_rank", pa.int32()),
    pa.field("reasoning_mass", pa.float64()),
    pa.field("reasoning_mass_strict", pa.float64()),
    pa.field("top_tokens", pa.list_(pa.struct([pa.field("id", pa.int32()), pa.field("logprob", pa.float64())]))),
]
READING = tuple(field.name for field in _READING)
"""The columns of `Reading`, in the order of its fields."""
SCHEMA = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("prompt_sha256", pa.string()),
        pa.field("item_id", pa.string()),
        pa.field("presentation", pa.string()),
        pa.field("condition", pa.string()),
        *_READING,
        pa.field("lens", pa.list_(pa.struct(_READING))),
    ]
)


def cell_key(prompt: Prompt) -> str:
    """Digest of what a reading depends on beside the context: tokens and images, label ids, and the gold slot.

    Raises:
        ValueError: A prompt without a digest.
    """
    if not prompt.sha256:
        raise ValueError(f"the prompt of {where(prompt)} has no sha256: build it with PromptBuilder")
    gold = None if prompt.presentation.item.gold is None else prompt.presentation.gold_slot
    return hashlib.sha256(json.dumps([prompt.sha256, prompt.label_ids, gold]).encode()).hexdigest()


def where(prompt: Prompt) -> str:
    """How messages name the cell of a prompt."""
    return f"item {prompt.presentation.item.id}, condition {prompt.condition.name}"


def to_table(
    keys: Sequence[str],
    prompts: Sequence[Prompt],
    readings: Sequence[Reading],
    lenses: Sequence[Sequence[Reading]],
) -> pa.Table:
    """Cells as a table with `SCHEMA`, in the order given.

    Args:
        keys: `n` keys.
        prompts: `n` prompts; of each, only what names it is kept.
        readings: `n` readings.
        lenses: `n` sequences with a reading per layer; empty if the lens was not asked for.

    Raises:
        StoreError: A value that its column cannot hold; the message names the column.
    """
    columns: dict[str, list[Any]] = {
        "key": list(keys),
        "prompt_sha256": [prompt.sha256 for prompt in prompts],
        "item_id": [prompt.presentation.item.id for prompt in prompts],
        "presentation": [prompt.presentation.name for prompt in prompts],
        "condition": [prompt.condition.name for prompt in prompts],
        "lens": [[_values(reading) for reading in lens] for lens in lenses],
    }
    columns |= dict(zip(READING, zip(*map(_values, readings), strict=True), strict=True))
    arrays = []
    for field in SCHEMA:
        try:
            arrays.append(pa.array(columns[field.name], type=field.type))
        except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
            raise StoreError(f"column {field.name!r} of the cells cannot be stored as {field.type}: {error}") from None
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def to_readings(table: pa.Table) -> list[Reading]:
    """The reading of every row."""
    return [_reading(row) for row in table.select(READING).to_pylist()]


def to_lenses(table: pa.Table) -> list[tuple[Reading, ...]]:
    """The lens readings of every row."""
    return [tuple(_reading(layer) for layer in lens) for lens in table.column("lens").to_pylist()]


def _values(reading: Reading) -> tuple[Any, ...]:
    return tuple(getattr(reading, name) for name in READING)


def _reading(row: dict[str, Any]) -> Reading:
    tokens = tuple((token["id"], token["logprob"]) for token in row["top_tokens"])
    return Reading(**row | {"label_logprobs": tuple(row["label_logprobs"]), "top_tokens": tokens})
