"""What an adapter is trained on: token ids of each row's labels as tensors, and the two losses.

A label may stand for several token ids; its probability is their sum. Knows no model and no file.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from thinkgap.schema import AdapterLoss
from thinkgap.types import Record

_NONE = -1
"""Stands where a row has fewer labels, or a label fewer ids, than another."""


def label_table(records: Sequence[Record]) -> tuple[Tensor, Tensor]:
    """Token ids of all labels `[n, K, M]`, and of the right one `[n, M]`, both filled up with -1.

    K is the largest number of labels of a row, M of ids of a label.
    """
    slots = max(len(record.label_token_ids) for record in records)
    variants = max(len(ids) for record in records for ids in record.label_token_ids)
    table = torch.full((len(records), slots, variants), _NONE)
    for row, record in enumerate(records):
        for slot, ids in enumerate(record.label_token_ids):
            table[row, slot, : len(ids)] = torch.tensor(ids)
    gold = torch.tensor([record.gold_slot for record in records])
    return table, table[torch.arange(len(records)), gold]


def log_sum(logits: Tensor, ids: Tensor) -> Tensor:
    """Log of the summed exponentials of some tokens' logits.

    Args:
        logits: `[B, V]`.
        ids: `[B, N]` token ids; -1 is no token.

    Returns:
        `[B]`.
    """
    found = logits.gather(1, ids.clamp(min=0))
    return found.masked_fill(ids == _NONE, float("-inf")).logsumexp(-1)


def adapter_loss(kind: AdapterLoss, logits: Tensor, gold: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log p(right label), over the whole vocabulary or over the row's labels.

    Args:
        kind: over which tokens.
        logits: `[B, V]`.
        gold: `[B, M]` ids of the right label.
        labels: `[B, K, M]` ids of all labels of the row.
    """
    total = logits.logsumexp(-1) if kind is AdapterLoss.vocabulary else log_sum(logits, labels.flatten(1))
    return (total - log_sum(logits, gold)).mean()
