"""One plain sentence on what a table shows, for whoever reads nothing else.

It names what the figures are and draws no conclusion that they do not carry: a difference is one only where its
interval leaves out zero. Computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from thinkgap.metrics import PairedDifference
from thinkgap.readouts.table import Row, Table

_CLEAR = 0.05
_NAMED = 3
"""Up to this many conditions are named, more are counted."""


def in_short(table: Table) -> str:
    """The sentence; empty if there is no condition to compare with the reference."""
    by_name = {row.condition: row for row in table.rows}
    reference = by_name.get(table.reference)
    others = [row for row in table.rows if row.condition != table.reference and row.difference is not None]
    if reference is None or not reference.n or not others:
        return ""
    where = f"under {_names(others)} the same readout is right on {_range([row.accuracy.value for row in others])}"
    sentence = (
        f"In short: {table.reference} is right on {_percent(reference.accuracy.value)} of {_rows(reference.n)}; "
        f"{where} ({_verdict(others)}; guessing is right on {_percent(reference.mean_reciprocal_k)}), the first slot "
        f"takes {_range([row.first_slot.value for row in others])} of its answers instead of "
        f"{_percent(reference.first_slot.value)}"
    )
    if all(row.label_mass.n for row in (reference, *others)):
        sentence += (
            f", and the labels hold {_masses(others)} of the next token's probability instead of "
            f"{mass_text(reference.label_mass.value)}"
        )
    return f"{sentence}."


def mass_text(value: float) -> str:
    """A mean probability, or a difference of two, readable also where it is tiny."""
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def _verdict(rows: Sequence[Row]) -> str:
    directions = [_direction(row.difference) for row in rows if row.difference is not None]
    words = {-1: "lower", 1: "higher", 0: "not clearly different"}
    found = [(directions.count(direction), word) for direction, word in words.items() if direction in directions]
    if len(found) > 1:
        return ", ".join(f"{word} under {n}" for n, word in found)
    (n, word) = found[0]
    return word if n == 1 else f"{word} under all of them"


def _direction(pair: PairedDifference) -> int:
    """-1 for lower, 1 for higher, 0 for no clear difference: by the interval, or by p where all rows differ alike."""
    low, high = pair.difference.low, pair.difference.high
    if math.isnan(low):
        # Rows of one group have no interval either, and their p takes them as independent.
        alike = abs(pair.difference.value) == 1 and pair.p_value < _CLEAR
        return int(math.copysign(1, pair.difference.value)) if alike else 0
    return 1 if low > 0 else -1 if high < 0 else 0


def _names(rows: Sequence[Row]) -> str:
    if len(rows) > _NAMED:
        return f"the {len(rows)} other conditions"
    names = [row.condition for row in rows]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _range(shares: Sequence[float]) -> str:
    low, high = _percent(min(shares)), _percent(max(shares))
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _masses(rows: Sequence[Row]) -> str:
    values = [row.label_mass.value for row in rows]
    low, high = mass_text(min(values)), mass_text(max(values))
    return low if low == high else f"{low} to {high}"
