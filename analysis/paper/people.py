"""Figures of people's labels, from what `python -m analysis.annotate read` has left and the runs it was drawn from.

Knows files of an annotation and nothing of how agreement is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.annotation.sample import read_key
from analysis.annotation.tables import agreement_sheets, join
from analysis.paper.from_sheets import Ours, of_sheets
from analysis.paper.ours import Run
from analysis.paper.sources import PEOPLE
from thinkgap.errors import StoreError
from thinkgap.nothinking.store import RESPONSES_FILE

ANNOTATIONS = Path("agreement") / "annotations.csv"
"""What `read` leaves of all annotators' files."""
_SAID = ("item", "annotator", "label", "relevance", "note", "seconds")


def read_annotation(folder: Path, runs: Sequence[Run]) -> Run:
    """The figures of tables 5, 6 and D.6 to D.9.

    Args:
        folder: of the sample, with what its annotators said.
        runs: finished runs; those that the sample was drawn from give judges and encoders.

    Raises:
        StoreError: nobody's labels have been read there, or the key is missing or damaged.
    """
    key, file = read_key(folder), folder / ANNOTATIONS
    if not file.is_file():
        raise StoreError(
            f"{folder} holds no labels that were read: run `python -m analysis.annotate read {folder} FILE.csv ...` "
            "first"
        )
    try:
        said = pd.read_csv(file, keep_default_na=True, dtype={"item": str, "annotator": str, "note": str})
        said = said.loc[:, list(_SAID)]
    except (KeyError, ValueError, OSError) as error:
        raise StoreError(f"{file} is damaged ({error}): run `python -m analysis.annotate read` again") from None
    own = [run.folder for run in runs if (run.folder / RESPONSES_FILE).exists()]
    joined = join(said, key, own)
    sheets = agreement_sheets(joined, key)
    annotators = set(said["annotator"])
    figures = tuple(one for one in of_sheets(sheets, PEOPLE, "inertia", folder, {}) if _belongs(one, annotators))
    n = len(key.rows)
    notes = (*([] if n == 600 else [f"a sample of {n} responses, the study's of 600"]), *joined.notes)
    return Run(folder, {}, figures, notes)


def _belongs(one: Ours, annotators: set[str]) -> bool:
    """Table 5 has the mean of people beside judges, table D.9 people alone, table 6 means alone."""
    who = one.keys.get("annotator", "")
    if one.table == "table5":
        return who not in annotators
    if one.table == "table6":
        return who not in annotators
    return one.table != "D.9" or who in annotators or who == "mean"
