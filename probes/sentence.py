"""Two or three plain sentences on what native readout and probe say together, for whoever reads nothing else.

A claim is made only where its interval carries it. Computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from probes.figures import Figures
from thinkgap.metrics import Estimate

_NAMED = 3
"""Up to this many conditions of one kind are told one by one, more by their ranges."""

Kind = Literal["hidden", "task", "alike", "reference", "equal", "below", "chance"]
_SAID: Mapping[Kind, str] = {
    "hidden": "the answer is in the state and not in the readout",
    "task": "the probe is right more often, but its selectivity does not show that the state holds the answer",
    "alike": "the probe is right more often, but not clearly more so than under {reference}",
    "reference": "the probe is right more often, and nothing says whether that is the condition's doing",
    "equal": "no clear difference between probe and readout",
    "below": "the probe is right less often than the readout, so it does not say what the state holds",
    "chance": "the probe is not clearly above a fixed slot, which does not show that the answer is not in the state",
}


def probe_sentence(
    found: Sequence[Figures], state: str, reference: str, selectivity: Mapping[str, Estimate] | None = None
) -> str:
    """What each condition's figures say, the reference first; empty without figures.

    Args:
        found: figures of the headline table.
        state: at which the probes read.
        reference: condition that Gamma is taken to.
        selectivity: condition -> accuracy minus that on the control task, if there was one.
    """
    known = selectivity or {}
    sentences = []
    for one in found:
        if one.condition == reference and one.n:
            said = "" if clear(one.gap.difference) else ", no clear difference"
            sentences.append(f"{_native_and_probe([one], state)} (gap {_points(one.gap.difference)}{said})")
    others = [one for one in found if one.condition != reference and one.n]
    kinds: dict[Kind, list[Figures]] = {}
    for one in others:
        kinds.setdefault(kind_of(one, known.get(one.condition)), []).append(one)
    for kind, own in kinds.items():
        text = _SAID[kind].format(reference=reference)
        if len(own) <= _NAMED:
            sentences += [f"{_native_and_probe([one], state)}: {text} ({_intervals(one, known)})" for one in own]
        else:
            sentences.append(f"{_native_and_probe(own, state)}: {text} ({_ranges(own)})")
    return f"In short: {'; '.join(sentences)}." if sentences else ""


def kind_of(one: Figures, selectivity: Estimate | None) -> Kind:
    """What the figures of a condition other than the reference carry.

    `hidden`, that the answer is in the state and not in the readout, needs four intervals: the probe above guessing
    and above any fixed slot, probe minus native above 0, Gamma above 0, and selectivity above 0 where it was measured.
    """
    gap = clear(one.gap.difference)
    if gap < 0:
        return "below"
    if not one.probe.low > max(one.chance, one.fixed_slot):
        return "chance"
    if gap == 0:
        return "equal"
    if one.gamma is None:
        return "reference"
    if clear(one.gamma) <= 0:
        return "alike"
    return "task" if selectivity is not None and clear(selectivity) <= 0 else "hidden"


def clear(one: Estimate) -> int:
    """1 or -1 where the interval lies above or below 0, else 0, also where there is no interval."""
    return 1 if one.low > 0 else -1 if one.high < 0 else 0


def _native_and_probe(rows: Sequence[Figures], state: str) -> str:
    name = rows[0].condition if len(rows) == 1 else f"{len(rows)} other conditions"
    native, probe = (
        _range([share.value for share in shares])
        for shares in ([row.native for row in rows], [row.probe for row in rows])
    )
    return f"{name}: native {native}, probe {probe} at {state}"


def _intervals(one: Figures, selectivity: Mapping[str, Estimate]) -> str:
    parts = [f"gap {_points(one.gap.difference)}"]
    if one.gamma is not None:
        parts.append(f"Gamma {_points(one.gamma)}")
    own = selectivity.get(one.condition)
    parts.append("selectivity not measured" if own is None else f"selectivity {_points(own)}")
    return ", ".join(parts)


def _ranges(rows: Sequence[Figures]) -> str:
    parts = [f"gap {_range([one.gap.difference.value for one in rows])}"]
    gammas = [one.gamma.value for one in rows if one.gamma is not None]
    if gammas:
        parts.append(f"Gamma {_range(gammas)}")
    return ", ".join(parts)


def _points(one: Estimate) -> str:
    value = f"{100 * one.value:.1f}"
    return value if math.isnan(one.low) else f"{value} [{100 * one.low:.1f}, {100 * one.high:.1f}]"


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"
