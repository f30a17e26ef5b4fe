"""`open_numeric`: the same items as choices, as proposals and without any candidate (inertia study, table I.5).

`open_text` is the same for answers that are no numbers; the study has no such table.
"""

from __future__ import annotations

import numpy as np

from thinkgap import metrics
from thinkgap.nothinking.figures import Values
from thinkgap.nothinking.numeric_form import exact, parses
from thinkgap.nothinking.variants import KEYS, Places, Variants, common, figure_notes, places
from thinkgap.nothinking.verification_table import headed
from thinkgap.presentation_names import IDENTITY, NEGATIVE, OPEN_NUMERIC, OPEN_TEXT, POSITIVE
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet

_NO_PROPOSALS = Missing("no proposals of these items: add evaluation.variants.rewrites=[verification]")
_NOTE = (
    "Over the items that have the choice form, the open form and, where proposals were asked at all, both proposals. "
    "Δ: open minus MCQ within items, with the interval of the mean difference; intervals resample groups. Pooled: the "
    "items of all data sets together, as the study has them."
)
_NUMERIC = (
    "Accuracy of open answers: exact rational equality, never algebra. Parse: of all n, answers that are one "
    "rational number; exact: of all n, those that are the right answer as strings, commas apart."
)
_TEXT = (
    "Beyond the study: open answers are right if they equal the right option's text (case, punctuation and articles "
    "apart) or its value, so other words for the same answer count as wrong."
)


def open_sheets(variants: Variants) -> list[Sheet]:
    """`open_numeric` and `open_text`, those that have rows."""
    found = [
        _sheet(variants, OPEN_NUMERIC, "Matched numeric items as choices, proposals and open questions", _NUMERIC),
        _sheet(variants, OPEN_TEXT, "Matched items as choices, proposals and open questions", _TEXT),
    ]
    return [one for one in found if one is not None]


def _sheet(variants: Variants, name: str, title: str, note: str) -> Sheet | None:
    found: list[tuple[Cell, ...]] = []
    numeric = name == OPEN_NUMERIC
    for key, shown in (*variants.cells(), *variants.pooled(IDENTITY, name)):
        base, opened = shown.get(IDENTITY, {}), shown.get(name, {})
        proposals = [shown[one] for one in (POSITIVE, NEGATIVE) if one in shown]
        items = common(base, opened, *proposals)
        if not items:
            continue
        first, last = places(base, items), places(opened, items)
        both = np.concatenate([places(one, items) for one in proposals]) if proposals else None
        found.append(
            (
                *key,
                len(items),
                *(variants.cell(one, first) for one in variants.figures),
                *(_NO_PROPOSALS if both is None else variants.cell(one, both) for one in variants.figures),
                *(variants.cell(one, last) for one in variants.figures),
                *(_forms(variants, last) if numeric else ()),
                *(variants.difference(one, first, [last]) for one in variants.figures),
            )
        )
    if not found:
        return None
    forms = (Column("parse", "Parse %", "percent"), Column("exact", "Exact %", "percent")) if numeric else ()
    columns = (
        *KEYS,
        Column("n", "n", "count"),
        *(headed(figure.column, "mcq", "MCQ") for figure in variants.figures),
        *(headed(figure.column, "bool", "Bool") for figure in variants.figures),
        *(headed(figure.column, "open", "Open") for figure in variants.figures),
        *forms,
        *(variants.spread(figure) for figure in variants.figures),
    )
    notes = (_NOTE, note, *figure_notes(variants.figures))
    return Sheet(name, title, columns, tuple(found), notes)


def _forms(variants: Variants, rows: Places) -> tuple[Cell, ...]:
    frame, groups = variants.rows.frame, variants.rows.group[rows]
    # A missing answer is None or NaN, as pandas likes.
    answers = [one if isinstance(one, str) else None for one in frame["answer"].to_numpy(dtype=object)[rows]]
    golds = frame["gold"].to_numpy(dtype=object)[rows]

    def rate(values: list[bool]) -> Cell:
        shares: Values = np.array(values, dtype=np.float64)
        return metrics.rate(shares, groups)

    return (
        rate([parses(answer) for answer in answers]),
        rate([exact(gold, answer) for gold, answer in zip(golds, answers, strict=True)]),
    )
