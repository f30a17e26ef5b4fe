"""The likelihood readout: the option whose whole string is most likely, in four normalisations, and its sheets.

A score is, per option, the string's log-likelihood as it is, per token, per byte, or less that after the condition's
premise alone (domain conditional PMI, Holtzman et al. 2021, arXiv 2104.08315). Formulas: `docs/likelihood.md`.
Knows no model and no file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.errors import StoreError
from thinkgap.readouts.frames import OTHER, paired, parts_of
from thinkgap.readouts.rows import answer_record, best_slot
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet
from thinkgap.readouts.table import REFERENCE
from thinkgap.store.likelihoods import OptionScores
from thinkgap.types import Prompt, Record

if TYPE_CHECKING:
    import pandas as pd

NORMALISATIONS = {
    "likelihood_sum": "sum",
    "likelihood_token": "per token",
    "likelihood_byte": "per byte",
    "likelihood_pmi": "PMI",
}
"""Readout -> how its normalisation is called in sheets."""
READOUTS = tuple(NORMALISATIONS)

_FIGURES = (
    Column("condition", "condition", "text"),
    Column("normalisation", "normalisation", "text"),
    Column("n", "n", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("difference", "difference to {reference}", "points"),
    Column("mcnemar_p", "p", "p"),
    Column("b", "b", "count"),
    Column("c", "c", "count"),
    Column("first_slot", "first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
    Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
    Column("tied", "tied", "count"),
    Column("unanswered", "no answer", "count"),
)
_LENGTHS = (
    Column("condition", "condition", "text"),
    Column("normalisation", "normalisation", "text"),
    Column("n", "n", "count"),
    Column("longest", "longest %", "percent"),
    Column("gold_longest", "gold longest %", "percent"),
    Column("guess_longest", "longest by guessing %", "percent"),
    Column("shortest", "shortest %", "percent"),
    Column("gold_shortest", "gold shortest %", "percent"),
    Column("guess_shortest", "shortest by guessing %", "percent"),
)


def normalised(scores: OptionScores) -> dict[str, tuple[float, ...]]:
    """Readout -> score per slot, in nats (per token, per byte); higher is better."""
    sums = scores.option_logprobs
    return {
        "likelihood_sum": sums,
        "likelihood_token": tuple(one / n for one, n in zip(sums, scores.n_tokens, strict=True)),
        "likelihood_byte": tuple(one / n for one, n in zip(sums, scores.n_bytes, strict=True)),
        "likelihood_pmi": tuple(one - base for one, base in zip(sums, scores.premise_logprobs, strict=True)),
    }


def likelihood_records(prompt: Prompt, scores: OptionScores) -> list[Record]:
    """One row per normalisation; `label_logprobs` are its scores.

    Args:
        prompt: what the options continue.
        scores: of the same presentation and condition.
    """
    records = []
    for readout, own in normalised(scores).items():
        # An option that cannot come, neither here nor after the premise, has no PMI.
        slot, tied = (None, False) if any(map(math.isnan, own)) else best_slot(prompt.presentation, own)
        records.append(answer_record(prompt, readout, slot, tied=tied, scores=own))
    return records


def likelihood_sheets(
    frame: pd.DataFrame, scores: Sequence[OptionScores], conditions: Sequence[str], *, reference: str = REFERENCE
) -> list[Sheet]:
    """Accuracy and position by condition and normalisation, and how often the longest and shortest option is taken.

    Args:
        frame: records of one run; those of other readouts are left out.
        scores: the run's side table, for the lengths of the options.
        conditions: the run's order.
        reference: condition that differences are taken to, with the same normalisation.

    Returns:
        Two sheets, the second where options differ in length; none if the run has no likelihoods.

    Raises:
        StoreError: a key that occurs twice, or a record without its row of the side table.
    """
    lengths = {one.key: np.array(one.n_tokens) for one in scores}
    by_readout = {readout: parts_of(frame, readout, conditions) for readout in READOUTS}
    names = list(dict.fromkeys(name for parts in by_readout.values() for name in parts))
    figures: list[tuple[Cell, ...]] = []
    biases: list[tuple[Cell, ...]] = []
    for name in names:
        for readout, heading in NORMALISATIONS.items():
            if (part := by_readout[readout].get(name)) is None:
                continue
            base = None if name == reference else by_readout[readout].get(reference)
            figures.append((name, heading, *_figures(part, base, name == reference)))
            biases.append((name, heading, *_biases(part, lengths)))
    if not figures:
        return []
    columns = tuple(
        Column(one.name, one.heading.format(reference=reference), one.format) if "{" in one.heading else one
        for one in _FIGURES
    )
    notes = (
        "score of an option: the log-likelihood of its whole string after the prompt (sum), over its tokens (per "
        "token), over its UTF-8 bytes (per byte), or less its log-likelihood after the premise alone (PMI)",
        "differences, McNemar's p, b (right under the reference only) and c (right here only) are to the reference "
        "with the same normalisation, on the items that both have",
        "gold first: the first-slot rate of a perfect model; mean(1/k): the first-slot rate and accuracy of guessing",
    )
    sheet = Sheet("likelihood", "Whole option strings", columns, tuple(figures), notes)
    if not any(row[_LENGTHS_N] for row in biases):
        return [sheet]  # options that are all alike in length, as Yes and No are
    title = "Whole option strings: length of the answer"
    return [sheet, Sheet("likelihood_length", title, _LENGTHS, tuple(biases), _ON_LENGTHS)]


_LENGTHS_N = [column.name for column in _LENGTHS].index("n")
_ON_LENGTHS = (
    "n: items whose options differ in their number of tokens; an answer is the longest (shortest) if no option has "
    "more (fewer) tokens",
    "gold: how often the right option is the longest (shortest), the rate of a perfect model; guessing: the rate of a "
    "uniform draw",
)


def _figures(part: pd.DataFrame, base: pd.DataFrame | None, is_reference: bool) -> tuple[Cell, ...]:
    groups = part["group_id"].to_numpy()
    slots = part["pred_slot"].to_numpy()
    return (
        len(part),
        metrics.rate(part["correct"].to_numpy(), groups),
        *_difference(part, base, is_reference),
        metrics.first_slot_rate(slots, groups),
        metrics.gold_first_rate(part["gold_slot"].to_numpy(), groups).value,
        metrics.mean_reciprocal_k(part["k"].to_numpy()),
        int(part["tied"].to_numpy().sum()),
        int((slots < 0).sum()),
    )


def _difference(part: pd.DataFrame, base: pd.DataFrame | None, is_reference: bool) -> tuple[Cell, Cell, Cell, Cell]:
    if base is None:
        missing = Missing("differences are taken to it" if is_reference else "the reference was not read")
        return missing, missing, missing, missing
    both = paired(part, base, ["correct"])
    if both.empty:
        missing = Missing("no item has both")
        return missing, missing, missing, missing
    found = metrics.paired_difference(both["correct" + OTHER], both["correct"], both["group_id"].to_numpy())
    return found.difference, found.p_value, found.b, found.c


def _biases(part: pd.DataFrame, lengths: Mapping[tuple[str, str, str], np.ndarray]) -> tuple[Cell, ...]:
    keys = list(zip(part["item_id"], part["presentation"], part["condition"], strict=True))
    lost = next((key for key in keys if key not in lengths), None)
    if lost is not None:
        raise StoreError(
            f"likelihoods.parquet has no row for {lost}, whose records are there: it belongs to another run; give the "
            "file that the run wrote"
        )
    counts = [lengths[key] for key in keys]
    uneven = [row for row, count in enumerate(counts) if count.min() < count.max()]
    groups = part["group_id"].to_numpy()[uneven]
    rates: list[Cell] = []
    for extreme in (np.max, np.min):
        among = [counts[row] == extreme(counts[row]) for row in uneven]
        predicted, gold = (
            metrics.rate([slot >= 0 and mask[slot] for slot, mask in zip(slots, among, strict=True)], groups)
            for slots in (part["pred_slot"].to_numpy()[uneven], part["gold_slot"].to_numpy()[uneven])
        )
        guessing = float(np.mean([mask.mean() for mask in among])) if among else math.nan
        rates += [predicted, gold.value, guessing]
    return (len(uneven), *rates)
