"""Annotations of people side by side with judges' labels of the same outputs, and the label that most people give.

Knows the columns of long frames and what they may not say; computes no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinkgap.errors import DataError
from thinkgap.nothinking.judged import judge_names
from thinkgap.nothinking.levels import EMPTY
from thinkgap.nothinking.rated import LABELS, Codes, Mask, check_columns, explicit, label_codes, places_in, values_of

if TYPE_CHECKING:
    import pandas as pd

Annotated = NDArray[np.float64]
RELEVANCES = (1, 2, 3, 4, 5)
_EMPTY = LABELS.index(EMPTY)


@dataclass(frozen=True)
class People:
    """Annotations with one column per output."""

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: Codes
    """Place in `LABELS` or -1, shape [annotators, items]."""
    relevance: Annotated
    """1 to 5 or NaN, shape [annotators, items]."""
    empty: Mask
    """Whether the trace is empty, shape [items]."""
    judges: Mapping[str, Judge]

    @classmethod
    def of(cls, annotations: pd.DataFrame, judged: pd.DataFrame | None) -> People:
        """Annotations and judgements in long form, as `people_sheets` takes them.

        Raises:
            DataError: see there.
        """
        check_columns(annotations, ("item", "annotator", "label", "relevance"), ("item", "annotator"), "annotations")
        items, annotators = values_of(annotations, "item"), values_of(annotations, "annotator")
        at = (places_in(annotators, annotations, "annotator"), places_in(items, annotations, "item"))
        labels = np.full((len(annotators), len(items)), -1, dtype=np.int64)
        labels[at] = label_codes(annotations, "annotations")
        relevance = np.full(labels.shape, np.nan)
        relevance[at] = annotations["relevance"].to_numpy(dtype=np.float64, na_value=np.nan)
        if not (np.isnan(relevance) | np.isin(relevance, RELEVANCES)).all():
            wrong = sorted(set(relevance[~np.isnan(relevance)].tolist()) - set(RELEVANCES))
            raise DataError(f"annotations: relevance {wrong[0]:g} is none of 1 to 5; leave it empty if there is none")
        judges = {} if judged is None else _judges(judged, items)
        everyone = np.concatenate([labels, *(judge.annotated[None] for judge in judges.values())])
        empty = (everyone == _EMPTY).any(axis=0)
        if (contradicted := empty & ((everyone >= 0) & (everyone != _EMPTY)).any(axis=0)).any():
            item = items[int(np.flatnonzero(contradicted)[0])]
            raise DataError(f"the output {item} is empty to one rater and not to another: correct the label")
        return cls(tuple(items), tuple(annotators), labels, relevance, empty, judges)

    def majority(self) -> Codes:
        """The label that more annotators give than any other, shape [items]; -1 without labels or with a tie."""
        return _majority(self.labels, len(LABELS))

    def majority_explicit(self) -> Codes:
        """1 where more annotators say explicit reasoning than not, 0 the reverse, -1 without labels or with a tie."""
        return _majority(explicit(self.labels), 2)

    def counted(self) -> str:
        """How many outputs there are."""
        return f"Of {len(self.items):,} annotated outputs {int(self.empty.sum()):,} are empty."


@dataclass(frozen=True)
class Judge:
    """One judge's labels."""

    annotated: Codes
    """Of the annotated outputs, place in `LABELS` or -1, shape [items]."""
    everything: Codes
    """Of all its outputs, shape [outputs of the judge]."""
    groups: Codes
    """Group of each of them."""


def _judges(judged: pd.DataFrame, items: list[str]) -> dict[str, Judge]:
    check_columns(judged, ("item", "judge", "label"), (), "judgements")
    there = judged["item"].notna()
    check_columns(judged.loc[there], (), ("item", "judge"), "judgements")
    codes = label_codes(judged, "judgements")
    if "status" in judged.columns:
        codes[(judged["status"] != "ok").to_numpy()] = -1
    place = {item: number for number, item in enumerate(items)}
    names = judge_names(judged)
    found: dict[str, Judge] = {}
    for judge in sorted(names):
        rows = (judged["judge"].astype(str) == judge).to_numpy()
        own = judged.loc[rows]
        annotated = np.full(len(items), -1, dtype=np.int64)
        for item, code in zip(own["item"], codes[rows], strict=True):
            if str(item) in place:
                annotated[place[str(item)]] = code
        keys = [name for name in ("dataset", "group_id") if name in own.columns]
        groups = own.groupby(keys, sort=False).ngroup().to_numpy() if "group_id" in keys else np.arange(len(own))
        found[names[judge]] = Judge(annotated, codes[rows], groups)
    return found


def _majority(codes: Codes, width: int) -> Codes:
    counts = np.stack([(codes == label).sum(axis=0) for label in range(width)])
    most = counts.max(axis=0)
    decided = (most > 0) & ((counts == most).sum(axis=0) == 1)
    return np.where(decided, counts.argmax(axis=0), -1)
