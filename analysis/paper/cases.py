"""Representative responses, picked by rule from no-thinking runs: the kinds of figure 1 and tables F.1 and F.2.

A rule names a kind; where several responses are of it, the most pronounced one is shown, ties going to the first key.
Texts are shown as they came, between fences that they cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import read_relevance
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.presentation_names import IDENTITY, NEGATIVE, POSITIVE
from thinkgap.printable import printable

if TYPE_CHECKING:
    import pandas as pd

LONG, SHORT = 60, 25
"""Visible words from which a trace is long, and up to which it is short."""


@dataclass(frozen=True)
class Case:
    """One kind of response with the responses that show it; none where no run has one."""

    name: str
    rule: str
    responses: tuple[Mapping[str, object], ...]
    """Rows of `responses.parquet`."""


def cases(folders: Sequence[Path]) -> list[Case]:
    """Every kind, from the responses of all runs that have some.

    Raises:
        StoreError: a damaged run.
    """
    import pandas as pd

    frames = [_frame(folder) for folder in folders if (folder / RESPONSES_FILE).exists()]
    frame = pd.concat(frames, ignore_index=True) if frames else None
    return [
        Case(name, rule, () if frame is None or not len(frame) else tuple(pick(frame))) for name, rule, pick in _KINDS
    ]


def cases_markdown(found: Sequence[Case]) -> str:
    """All cases with their texts."""
    blocks = ["# Representative responses"]
    for case in found:
        blocks.append(f"## {case.name}\n\n{case.rule}")
        if not case.responses:
            blocks.append("No run has one.")
        blocks += [_shown(row) for row in case.responses]
    return "\n\n".join(blocks) + "\n"


def _frame(folder: Path) -> pd.DataFrame:
    frame = read_responses(folder / RESPONSES_FILE).to_pandas()
    relevance = read_relevance(folder).to_pandas()
    if not len(relevance):
        return frame.assign(cosine=float("nan"))
    # Of several encoders one is enough to tell near from far.
    first = relevance.loc[relevance["encoder"] == sorted(set(relevance["encoder"]))[0], [*KEY, "cosine"]]
    return frame.merge(first, on=list(KEY), how="left")


Rows = list[Mapping[str, object]]


def _first(frame: pd.DataFrame, by: str, *, largest: bool) -> Rows:
    """The row that has most or least of something; none of an empty frame."""
    ordered = frame.sort_values([by, *KEY], ascending=[not largest, *([True] * len(KEY))])
    return [dict(row) for row in ordered.head(1).to_dict("records")]


def _right(frame: pd.DataFrame) -> pd.DataFrame:
    kept = (frame["correct"] == True) & (frame["presentation"] == IDENTITY)  # noqa: E712  # missing is not right
    return frame.loc[kept]


def _answer_only(frame: pd.DataFrame) -> Rows:
    own = _right(frame)
    return _first(own.loc[own["etr_strict"]], "visible_words", largest=False)


def _by_length(*, long: bool, near: bool) -> Callable[[pd.DataFrame], Rows]:
    def pick(frame: pd.DataFrame) -> Rows:
        own = _right(frame)
        words = own["visible_words"]
        sized = own.loc[(words >= LONG) if long else ((words > 0) & (words <= SHORT))]
        return _first(sized.loc[sized["cosine"].notna()], "cosine", largest=near)

    return pick


def _pair(frame: pd.DataFrame, modes: tuple[str, str], space: str) -> pd.DataFrame:
    """Responses of one item under two modes side by side, the second one's columns ending in `_2`."""
    own = frame.loc[(frame["presentation"] == IDENTITY) & (frame["space"] == space)]
    keys = ["dataset", "item_id", "model"]
    first, second = (own.loc[own["mode"] == mode] for mode in modes)
    return first.merge(second, on=keys, suffixes=("", "_2"))


def _both(frame: pd.DataFrame, pairs: pd.DataFrame, modes: Sequence[str], by: str) -> Rows:
    if not len(pairs):
        return []
    top = _first(pairs, by, largest=True)[0]
    chosen = frame.loc[
        (frame["dataset"] == top["dataset"])
        & (frame["item_id"] == top["item_id"])
        & (frame["model"] == top["model"])
        & (frame["presentation"] == IDENTITY)
        & frame["mode"].isin(modes)
    ]
    rows = {str(row["mode"]): dict(row) for row in chosen.to_dict("records")}
    return [rows[mode] for mode in modes]


def _native(frame: pd.DataFrame) -> Rows:
    own = _right(frame)
    return _first(
        own.loc[(own["mode"] == "think_off") & (own["space"] == "open") & ~own["etr_prefix"]],
        "visible_words",
        largest=True,
    )


def _re_elicited(frame: pd.DataFrame) -> Rows:
    modes = ("think_off", "cot")
    pairs = _pair(frame, modes, "bool")
    kept = pairs.loc[pairs["etr_strict"] & (pairs["correct"] == True) & (pairs["correct_2"] == True)]  # noqa: E712
    return _both(frame, kept.loc[~kept["etr_prefix_2"]], modes, "visible_words_2")


def _compressed(frame: pd.DataFrame) -> Rows:
    modes = ("think_off", "strict")
    pairs = _pair(frame, modes, "open")
    kept = pairs.loc[(pairs["correct"] == True) & (pairs["correct_2"] == False)]  # noqa: E712
    return _both(frame, kept.loc[kept["visible_words"] > kept["visible_words_2"]], modes, "visible_words")


def _candidates(frame: pd.DataFrame) -> Rows:
    keys = ["dataset", "item_id", "model", "mode"]
    own = frame.loc[frame["mode"] == "think_off"]
    parts = {name: own.loc[own["presentation"] == name] for name in (IDENTITY, POSITIVE, NEGATIVE)}
    right = {name: part.loc[part["correct"] == True] for name, part in parts.items()}  # noqa: E712
    choice = right[IDENTITY].loc[~right[IDENTITY]["etr_prefix"]]
    for name in (POSITIVE, NEGATIVE):
        choice = choice.merge(right[name].loc[right[name]["etr_prefix"], keys], on=keys)
    if not len(choice):
        return []
    top = _first(choice, "visible_words", largest=True)[0]
    found: Rows = []
    for part in parts.values():
        same = (
            (part["dataset"] == top["dataset"]) & (part["item_id"] == top["item_id"]) & (part["model"] == top["model"])
        )
        found += [dict(row) for row in part.loc[same].to_dict("records")]
    return found


_KINDS: Sequence[tuple[str, str, Callable[[pd.DataFrame], Rows]]] = (
    ("Answer only", "Right, and nothing but the answer (table F.1, case 1).", _answer_only),
    (
        "Short and relevant",
        f"Right, 1 to {SHORT} visible words before the answer, the highest QRel (table F.1, case 2).",
        _by_length(long=False, near=True),
    ),
    (
        "Short and far from the question",
        f"Right, 1 to {SHORT} visible words before the answer, the lowest QRel (table F.1, case 3).",
        _by_length(long=False, near=False),
    ),
    (
        "Long and relevant",
        f"Right, {LONG} visible words or more before the answer, the highest QRel (table F.1, case 4).",
        _by_length(long=True, near=True),
    ),
    (
        "Long and far from the question",
        f"Right, {LONG} visible words or more before the answer, the lowest QRel (table F.1, case 5).",
        _by_length(long=True, near=False),
    ),
    (
        "Native residual information",
        "Right under think-off on an open question with text before the answer, the longest (table F.2, figure 1).",
        _native,
    ),
    (
        "Re-elicitation",
        "A yes/no item right under think-off with the answer alone, and right with text under step by step; the "
        "longest text (table F.2).",
        _re_elicited,
    ),
    (
        "Compression cost",
        "An open question right under think-off and wrong, with fewer words, under the strict mode; the longest text "
        "(table F.2).",
        _compressed,
    ),
    (
        "Candidate visibility",
        "Right as a choice with text before the answer, and right with the answer alone for both proposals (F.2).",
        _candidates,
    ),
)


def _shown(row: Mapping[str, object]) -> str:
    facts = [
        f"{row['model']}, {row['dataset']}, item {row['item_id']}, {row['mode']}",
        *([str(row["presentation"])] if row["presentation"] != IDENTITY else []),
        f"{row['visible_words']} words before the answer",
        *([f"QRel {row['cosine']:.3f}"] if row["cosine"] == row["cosine"] else []),
        f"right answer {row['gold']}, read {row['answer'] if isinstance(row['answer'], str) else 'none'}",
    ]
    text = "".join(one if one == "\n" else printable(one) for one in str(row["content"]))
    ticks = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{printable('; '.join(facts))}\n\n{fence}text\n{text}\n{fence}"
