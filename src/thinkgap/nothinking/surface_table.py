"""`surface`: what a change of the options' surface does to the same items (inertia study, table I.3).

Accuracy, ETR, QRel and EIR under each perturbation beside the item as its source gives it, paired differences, and how
far the answer stays the same option.
"""

from __future__ import annotations

import numpy as np

from thinkgap import metrics
from thinkgap.nothinking.figures import Values
from thinkgap.nothinking.variants import KEYS, Places, Variants, common, figure_notes, places
from thinkgap.presentation_names import CONTROL, IDENTITY, is_rewrite
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

_CONSISTENCY = (
    Column("consistency", "Cons. %", "percent"),
    Column("parsed_pairs", "both parse", "count"),
    Column("consistency_parsed", "Cons., both parse %", "percent"),
)
_NO_BASE = Missing("")
"""A base is not compared with itself."""
_NOTE = (
    "Base: the item as its source gives it, over the items that the variants below it have too; variants of other "
    "items have a base of their own, named after the first of them. Δ: variant minus base over the items that have "
    "both, with the interval of the mean difference within items. Cons.: of the pairs, those with an answer under both "
    "that is the same option of the source; no answer under either is no agreement. Both parse: over the pairs with an "
    "answer under both."
)


def surface_sheet(variants: Variants) -> Sheet | None:
    """A row for each model, data set, mode and variant, the base first; None without any variant of a choice."""
    found: list[tuple[Cell, ...]] = []
    blank = (_NO_BASE,) * (len(variants.figures) + len(_CONSISTENCY))
    for key, shown in variants.cells():
        base = shown.get(IDENTITY, {})
        others = [name for name in shown if name != IDENTITY and _is_surface(name)]
        pairs = {name: items for name in others if (items := common(base, shown[name]))}
        if not pairs:
            continue
        last: list[str] = []
        # Variants of the same items stand below one base, so that a row minus its base is its difference.
        for name, items in sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[1])):
            if items != last:
                # Rows are found by name: that of most items alone is the base.
                called = f"base of {name}" if last else "base"
                own, last = places(base, items), items
                found.append((*key, called, len(own), *(variants.cell(one, own) for one in variants.figures), *blank))
            first, second = places(base, items), places(shown[name], items)
            found.append(
                (
                    *key,
                    name,
                    len(items),
                    *(variants.cell(one, second) for one in variants.figures),
                    *(variants.difference(one, first, [second]) for one in variants.figures),
                    *_consistency(variants, first, second),
                )
            )
    if not found:
        return None
    columns = (
        *KEYS,
        Column("variant", "variant", "text"),
        Column("n", "n", "count"),
        *(figure.column for figure in variants.figures),
        *(variants.spread(figure) for figure in variants.figures),
        *_CONSISTENCY,
    )
    notes = (_NOTE, *figure_notes(variants.figures))
    return Sheet("surface", "Surface perturbations with the answer set fixed", columns, tuple(found), notes)


def _is_surface(name: str) -> bool:
    return not is_rewrite(name) and not name.startswith(CONTROL)


def answered_content(variants: Variants, rows: Places) -> Values:
    """Content index of the source's option that each response answers, NaN where none was read."""
    frame = variants.rows.frame
    slots, contents = frame["slot"].to_numpy(dtype=np.float64), frame["contents"].to_numpy()
    return np.array(
        [np.nan if np.isnan(slots[row]) or not len(contents[row]) else contents[row][int(slots[row])] for row in rows]
    )


def _consistency(variants: Variants, base: Places, other: Places) -> tuple[Cell, ...]:
    first, second = answered_content(variants, base), answered_content(variants, other)
    groups = variants.rows.group[base]
    parsed = ~np.isnan(first + second)
    same = (first == second).astype(float)
    rate: Cell = metrics.rate(same[parsed], groups[parsed]) if parsed.any() else Missing("no pair with two answers")
    return metrics.rate(same, groups), int(parsed.sum()), rate
