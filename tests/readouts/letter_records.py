"""Records of scripted models: what they answer follows from slot, letter and content alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from tests.items import mcq
from tests.store.examples import record
from thinkgap.data.label_sets import with_labels
from thinkgap.data.present import factorial, identity
from thinkgap.store.records import to_table
from thinkgap.types import Item, Presentation, Record

Model = Callable[[Item, int, str, int], float]
"""Logit of a label from the item, the slot, the label and the content."""


def items(n: int, k: int = 3) -> list[Item]:
    """`n` items with gold going round the contents."""
    choices = tuple(f"option {number}" for number in range(k))
    return [mcq(f"q{number:03d}", choices=choices, gold=number % k) for number in range(n)]


def answered(shown: Presentation, condition: str, model: Model, mass: float = 0.5) -> Record:
    """The record of one presentation; labels share `mass` of the next token's probability."""
    logits = np.array(
        [
            model(shown.item, slot, label, content)
            for slot, (label, content) in enumerate(zip(shown.labels, shown.order, strict=True))
        ]
    )
    logprobs = logits - np.log(np.exp(logits).sum()) + math.log(mass)
    return record(
        shown.item.id,
        condition,
        presentation=shown.name,
        group_id=shown.item.group_id,
        k=shown.k,
        order=shown.order,
        labels=shown.labels,
        gold_slot=shown.gold_slot,
        pred_slot=int(logits.argmax()),
        label_logprobs=tuple(logprobs),
        label_mass=mass,
        label_token_ids=tuple((65 + slot,) for slot in range(shown.k)),
    )


def frame_of(models: dict[str, Model], asked: Sequence[Item], sets: Sequence[str] = ()) -> pd.DataFrame:
    """Every item in the source's order, under label sets, and under every rotation of contents and letters."""
    presentations = [
        one
        for item in asked
        for one in (identity(item), *(with_labels(identity(item), name) for name in sets), *factorial(item))
        if one is not None
    ]
    records = [answered(one, condition, model) for condition, model in models.items() for one in presentations]
    return to_table(records).to_pandas()
