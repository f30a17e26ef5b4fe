"""What the model was about to say at the read position: masses, ranks and top tokens of the full vocabulary.

The figures of study A's table 3 from the native rows of items in the source's order, as levels and as changes to
Direct on the same items, and the tokens that come out on top. Which tokens open a rationale is the caller's matter
(`scoring.vocabulary`). Formulas: `docs/vocabulary.md`. Knows no model and no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkgap import metrics
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.frames import NATIVE, OTHER, paired, parts_of
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet
from thinkgap.readouts.table import REFERENCE

if TYPE_CHECKING:
    import pandas as pd

MASSES = {
    "label_mass": "answer mass",
    "reasoning_mass": "reasoning mass",
    "reasoning_mass_strict": "reasoning mass, strict",
}
"""Column of the records -> its heading."""
_SHOWN = 10
_UNREAD = Missing("reasoning masses were not read in every row")
_UNTOLD = Missing("the program that ran the model tells log-probabilities of chosen tokens only")

_LEVELS = (
    Column("condition", "condition", "text"),
    Column("n", "n", "count"),
    *(Column(name, heading, "mass") for name, heading in MASSES.items()),
    Column("gold_rank", "answer rank (mean)", "count"),
    Column("gold_rank_median", "answer rank (median)", "count"),
    Column("reasoning_top", "reasoning top token %", "percent"),
    Column("reasoning_top_strict", "strict %", "percent"),
    Column("entropy", "entropy (nats)", "number"),
)
_CHANGES = (
    Column("condition", "condition", "text"),
    Column("n", "n", "count"),
    *(
        column
        for name, heading in MASSES.items()
        for column in (
            Column(f"{name}_change", heading, "mass"),
            Column(f"{name}_factor", f"{heading} x", "mass"),
        )
    ),
    Column("gold_rank_change", "answer rank (mean)", "count"),
    Column("reasoning_top_change", "reasoning top token, points", "points"),
    Column("reasoning_top_p", "p", "p"),
    Column("entropy_change", "entropy (nats)", "number"),
)
_TOPS = (
    Column("condition", "condition", "text"),
    Column("token", "token", "text"),
    Column("token_id", "id", "text"),
    Column("share", "top in %", "percent"),
    Column("probability", "its probability there", "mass"),
    Column("reasoning", "reasoning token", "text"),
    Column("label", "label in %", "percent"),
)


def vocabulary_sheets(
    frame: pd.DataFrame,
    conditions: Sequence[str],
    *,
    reference: str = REFERENCE,
    reasoning_ids: Collection[int],
    strict_ids: Collection[int],
) -> list[Sheet]:
    """Levels by condition, changes to the reference, and top tokens.

    Args:
        frame: records of one run; native rows of items in the source's order are used.
        conditions: the run's order.
        reference: condition that changes are taken to; without rows of it there is no sheet of changes.
        reasoning_ids: tokens that open a rationale.
        strict_ids: those of them that do not open an answer as well.

    Returns:
        `vocabulary`, `vocabulary_change` and `top_tokens`; none without such rows.

    Raises:
        StoreError: a key that occurs twice.
    """
    parts = parts_of(frame, NATIVE, conditions, IDENTITY)
    if not parts:
        return []
    sets = (set(reasoning_ids), set(strict_ids))
    levels = tuple((name, *_levels(part, sets)) for name, part in parts.items())
    sheets = [Sheet("vocabulary", "What the model is about to say", _LEVELS, levels, _ON_LEVELS)]
    base = parts.get(reference)
    if base is not None and len(parts) > 1:
        changes = tuple((name, *_changes(part, base, sets[0])) for name, part in parts.items() if name != reference)
        title = f"What the model is about to say: change from {reference}"
        sheets.append(Sheet("vocabulary_change", title, _CHANGES, changes, _ON_CHANGES))
    tops = tuple((name, *row) for name, part in parts.items() for row in _top_tokens(part, sets))
    sheets.append(Sheet("top_tokens", "Most frequent top tokens", _TOPS, tops, _ON_TOPS))
    return sheets


def vocabulary_charts(frame: pd.DataFrame, conditions: Sequence[str]) -> list[Chart]:
    """Bars of the mean masses by condition; those that were not read are left out.

    Raises:
        StoreError: a key that occurs twice.
    """
    parts = parts_of(frame, NATIVE, conditions, IDENTITY)
    rows = tuple(
        (name, float(masses.mean()), heading)
        for name, part in parts.items()
        for column, heading in MASSES.items()
        if not np.isnan(masses := part[column].to_numpy()).any()
    )
    title = "Probability of the next token, by what it opens"
    return [Chart("vocabulary", title, "bar", "condition", "mass", "mass of", rows)] if rows else []


_ON_LEVELS = (
    "masses are means of next-token probability over the full vocabulary, not renormalised: answer, of all labels; "
    "reasoning, of tokens that open a rationale; strict, without those of them that open an answer as well",
    "answer rank: of the right label's most probable token in the full vocabulary, 1 the most probable",
    "reasoning top token: items whose most probable token opens a rationale (all, strict)",
)
_ON_CHANGES = (
    "means over the items that both conditions have of the condition's figure less the reference's; x: mean under the "
    "condition over mean under the reference; p: McNemar's, of reasoning tokens on top",
)
_ON_TOPS = (
    f"per condition the {_SHOWN} tokens that are most often the most probable; 'its probability there' is a mean over "
    "those items, 'label in %' the share of those items that have it as a label",
    "reasoning token: 'ambiguous' opens an answer as well and is left out of the strict set",
)


def _levels(part: pd.DataFrame, sets: Sequence[Collection[int]]) -> tuple[Cell, ...]:
    groups = part["group_id"].to_numpy()
    ranks = part["gold_rank"].to_numpy()
    masses = [_mean(part[name].to_numpy(), groups) for name in MASSES]
    tops = [metrics.rate(_among(part["top_token_id"].to_numpy(), ids), groups) for ids in sets]
    return (
        len(part),
        *masses,
        *((_UNTOLD, _UNTOLD) if (ranks < 1).any() else (metrics.mean(ranks, groups), float(np.median(ranks)))),
        *tops,
        _mean(part["entropy"].to_numpy(), groups, _UNTOLD),
    )


def _changes(part: pd.DataFrame, base: pd.DataFrame, reasoning_ids: Collection[int]) -> tuple[Cell, ...]:
    both = paired(part, base, [*MASSES, "gold_rank", "top_token_id", "entropy"])
    if both.empty:
        return (0, *[Missing("no item has both")] * (len(_CHANGES) - 2))
    groups = both["group_id"].to_numpy()
    own = {name: _known(both[name].to_numpy(float), name) for name in (*MASSES, "gold_rank", "entropy")}
    reference = {name: _known(both[name + OTHER].to_numpy(float), name) for name in own}
    change = {
        name: _mean(values - reference[name], groups, _UNREAD if name in MASSES else _UNTOLD)
        for name, values in own.items()
    }
    before, after = (_among(both[name].to_numpy(), reasoning_ids) for name in ("top_token_id" + OTHER, "top_token_id"))
    top = metrics.paired_difference(before, after, groups)
    return (
        len(both),
        *(cell for name in MASSES for cell in (change[name], _factor(own[name], reference[name]))),
        change["gold_rank"],
        top.difference,
        top.p_value,
        change["entropy"],
    )


def _known(values: np.ndarray, name: str) -> np.ndarray:
    """A column's values, NaN where there is none."""
    return np.where(values < 1, np.nan, values) if name == "gold_rank" else values


def _mean(values: np.ndarray, groups: np.ndarray, unknown: Missing = _UNREAD) -> Cell:
    """The mean with its interval; one over some of the rows would pass for one over all of them."""
    return unknown if np.isnan(values).any() else metrics.mean(values, groups)


def _factor(own: np.ndarray, reference: np.ndarray) -> Cell:
    if np.isnan(own).any() or np.isnan(reference).any():
        return _UNREAD
    below = float(reference.mean())
    return float(own.mean()) / below if below else Missing("the mass under the reference is 0")


def _among(tokens: np.ndarray, ids: Collection[int]) -> np.ndarray:
    return np.isin(tokens, list(ids))


def _top_tokens(part: pd.DataFrame, sets: Sequence[Collection[int]]) -> list[tuple[Cell, ...]]:
    ids = part["top_token_id"].to_numpy()
    counts = Counter(ids.tolist())
    # By frequency, then id, so that equal counts have one order.
    chosen = sorted(counts, key=lambda token: (-counts[token], token))[:_SHOWN]
    groups = part["group_id"].to_numpy()
    texts, logprobs = part["top_token"].to_numpy(), part["top_logprob"].to_numpy()
    labels = [{token for own in label_ids for token in own} for label_ids in part["label_token_ids"]]
    reasoning_ids, strict_ids = sets
    rows: list[tuple[Cell, ...]] = []
    for token in chosen:
        here = np.flatnonzero(ids == token)
        kind = "yes" if token in strict_ids else "ambiguous" if token in reasoning_ids else "no"
        rows.append(
            (
                # A token's text may hold blanks and control characters, which must show.
                repr(str(texts[here[0]])),
                str(token),
                metrics.rate(ids == token, groups),
                float(np.exp(logprobs[here]).mean()),
                kind,
                float(np.mean([token in labels[row] for row in here])),
            )
        )
    return rows
