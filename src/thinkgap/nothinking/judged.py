"""Judgements of several judges side by side: one row for each output, one array of labels for each judge.

Knows the columns of judgements in long form and what they may not say; computes no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinkgap.errors import DataError
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import EMPTY
from thinkgap.nothinking.rated import LABELS, Codes, Mask, check_columns, group_codes, label_codes

if TYPE_CHECKING:
    import pandas as pd

NEEDED = (*KEY, "space", "group_id", "judge", "label", "status")
NOT_ASKED = -2
"""In place of a label's integer: the judge has no row of this output."""


@dataclass(frozen=True)
class Judged:
    """Judgements with one row per output."""

    frame: pd.DataFrame
    """Key, space and group_id of each output."""
    groups: Codes
    empty: Mask
    labels: Mapping[str, Codes]
    """Judge -> place in `LABELS`, -1 where it gave no label, -2 where it was not asked."""

    @classmethod
    def of(cls, judged: pd.DataFrame) -> Judged:
        """Judgements in long form, as `judge_agreement_sheets` takes them.

        Raises:
            DataError: columns that are not there, a judgement that occurs twice, an unknown label, or an output that is
                empty to one judge and not to another.
        """
        check_columns(judged, NEEDED, (*KEY, "judge"), "judgements")
        output = judged.groupby(list(KEY), sort=True).ngroup().to_numpy()
        codes = label_codes(judged, "judgements")
        codes[(judged["status"] != "ok").to_numpy()] = -1
        first = np.unique(output, return_index=True)[1]
        frame = judged[[*KEY, "space", "group_id"]].iloc[first].reset_index(drop=True)
        empty = np.zeros(len(frame), dtype=bool)
        empty[output[codes == LABELS.index(EMPTY)]] = True
        if (contradicted := empty[output] & (codes != LABELS.index(EMPTY))).any():
            place = int(output[contradicted][0])
            raise DataError(
                f"judgements: the output {tuple(frame.loc[place, list(KEY)])} is empty to one judge and not to "
                "another: make the judgements again from one file of responses"
            )
        names = judge_names(judged)
        labels: dict[str, Codes] = {}
        for judge in sorted(names):
            rows = (judged["judge"] == judge).to_numpy()
            labels[names[judge]] = np.full(len(frame), NOT_ASKED, dtype=np.int64)
            labels[names[judge]][output[rows]] = codes[rows]
        return cls(frame, group_codes(frame), empty, labels)


def judge_names(judged: pd.DataFrame) -> dict[str, str]:
    """Judge -> how tables call it: one of rules is never taken for a model."""
    judges = dict.fromkeys(map(str, judged["judge"]))
    rules = set(judged.loc[judged["kind"] == "rules", "judge"]) if "kind" in judged.columns else set()
    return {judge: f"{judge} (rules)" if judge in rules else judge for judge in judges}
