"""Sheets of the two audits by model: answers before their explanation, copies of the question, and the sweep.

Made from the rows of `responses.parquet`; what a copy is is `nothinking.audits`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinkgap.nothinking.audits import COPY, SWEEP, exact_rate
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

if TYPE_CHECKING:
    import pandas as pd

_EXACT = "Intervals are exact (Clopper-Pearson) and take responses as independent, which those to one item are not."


def audit_sheets(frame: pd.DataFrame) -> list[Sheet]:
    """`answer_first`, `copies` and `copies_sweep` by model; none without rows.

    Args:
        frame: rows of `responses.parquet`.
    """
    if not len(frame):
        return []
    models = sorted(frame["model"].unique().tolist())
    parts = {model: frame.loc[frame["model"] == model] for model in models}
    return [_answer_first(parts), _copies(parts), _sweep(parts)]


def _answer_first(parts: dict[str, pd.DataFrame]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for model, part in parts.items():
        boxed = part["boxed"].to_numpy(dtype=bool)
        first = int((part["answer_first"].to_numpy(dtype=bool) & boxed).sum())
        n = int(boxed.sum())
        rows.append((model, len(part), n, first, exact_rate(first, n) if n else Missing("no response has a box")))
    return Sheet(
        "answer_first",
        "Answers before their explanation",
        (
            Column("model", "model", "text"),
            Column("n", "n", "count"),
            Column("boxed", "boxed", "count"),
            Column("answer_first", "answer first", "count"),
            Column("rate", "of boxed %", "percent"),
        ),
        tuple(rows),
        (
            "Answer first: the first box comes after at most 3 words and before at least 3. Of the responses with a "
            "box (arXiv 2610.11765, table E.1).",
            _EXACT,
        ),
    )


def _copies(parts: dict[str, pd.DataFrame]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for model, part in parts.items():
        known, containment, cover = _shares(part)
        hits = int(((containment >= COPY) & (cover >= COPY)).sum())
        n = int(known.sum())
        rows.append((model, len(part), n, hits, exact_rate(hits, n) if n else _unknown()))
    return Sheet(
        "copies",
        "Traces that repeat the question",
        (
            Column("model", "model", "text"),
            Column("n", "n", "count"),
            Column("audited", "audited", "count"),
            Column("copies", "copies", "count"),
            Column("rate", "of audited %", "percent"),
        ),
        tuple(rows),
        (
            f"Copy: the trace holds {COPY:g} of the four-grams of some part of the question (context, stem, an option "
            f"of 8 words or more), and {COPY:g} of its own four-grams are the question's.",
            "Audited: all responses to questions whose parts are known apart, empty traces included.",
            _EXACT,
        ),
    )


def _sweep(parts: dict[str, pd.DataFrame]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for model, part in parts.items():
        known, containment, cover = _shares(part)
        n = int(known.sum())
        for least in SWEEP:
            hits = [int(((containment >= least) & (cover >= other)).sum()) for other in SWEEP]
            rows.append((model, f"{least:g}", n, *(exact_rate(one, n) if n else _unknown() for one in hits)))
    return Sheet(
        "copies_sweep",
        "Traces that repeat the question, by threshold",
        (
            Column("model", "model", "text"),
            Column("containment", "of the part at least", "text"),
            Column("audited", "audited", "count"),
            *(Column(f"cover_{least:g}", f"of the trace at least {least:g}, %", "percent") for least in SWEEP),
        ),
        tuple(rows),
        ("Rates are of the audited responses, as in the table of copies.", _EXACT),
    )


def _shares(part: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Whether a response is audited, and its two shares; a question without a long part has none, and no copy."""
    known = ~np.isnan(part["copy_components"].to_numpy(dtype=np.float64, na_value=np.nan))
    containment, cover = (
        np.nan_to_num(part[name].to_numpy(dtype=np.float64, na_value=np.nan))
        for name in ("copy_containment", "copy_cover")
    )
    return known, containment, cover


def _unknown() -> Missing:
    return Missing("the parts of the questions are not known apart")
