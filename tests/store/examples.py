"""Made-up records for the tests of what lies behind the model: store, tables, analysis."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

from thinkgap.types import Record


def record(item_id: str = "q1", condition: str = "direct", **changes: object) -> Record:
    """One record of a four-option item with gold in slot 1, predicted right; slots and contents agree."""
    base = Record(
        item_id=item_id,
        presentation="identity",
        condition=condition,
        readout="native",
        group_id=item_id,
        split="test",
        subject="physics",
        k=4,
        order=(0, 1, 2, 3),
        labels=("A", "B", "C", "D"),
        gold_slot=1,
        gold_content=1,
        pred_slot=1,
        pred_content=1,
        correct=True,
        tied=False,
        label_logprobs=(-1.25, -0.1, -7.5, -math.pi),
        label_mass=0.25,
        label_token_ids=((32, 362), (33,), (34,), (35,)),
        top_token_id=33,
        top_token=" B\u00e9|",
        top_logprob=-0.1,
        entropy=0.5,
        gold_rank=1,
        reasoning_mass=0.01,
        reasoning_mass_strict=0.005,
        top_ids=(33, 32),
        top_tokens=(" B\u00e9|", "A"),
        top_logprobs=(-0.1, -1.25),
        lens_label_logprobs=((-2.0, -3.0, -math.inf, -1.0), (-1.25, -0.1, -7.5, -math.pi)),
        lens_label_mass=(0.125, 0.25),
        n_tokens=120,
        n_image_tokens=0,
        prompt_sha256=hashlib.sha256(f"{item_id}{condition}".encode()).hexdigest(),
    )
    changed = replace(base, **changes)  # pyright: ignore[reportArgumentType]
    return replace(
        changed,
        correct=changed.pred_slot == changed.gold_slot,
        pred_content=changed.order[changed.pred_slot] if changed.pred_slot >= 0 else -1,
        gold_content=changed.order[changed.gold_slot],
    )


def run_records(n: int = 12, conditions: tuple[str, ...] = ("direct", "think")) -> list[Record]:
    """`n` items with 2 to 4 options under each condition; the second condition favours the first slot."""
    records = []
    for i in range(n):
        k = 2 + i % 3
        shown: dict[str, object] = {"k": k, "order": tuple(range(k)), "labels": tuple("ABCD"[:k]), "gold_slot": i % k}
        for c, condition in enumerate(conditions):
            slot = (i % k if i % 5 else (i + 1) % k) if c == 0 else (0 if i % 4 else i % k)
            logprobs = tuple(-1.0 - 0.1 * j for j in range(k))
            ids = tuple((65 + j,) for j in range(k))
            records.append(
                record(f"q{i:03d}", condition, pred_slot=slot, label_logprobs=logprobs, label_token_ids=ids, **shown)
            )
    return records
