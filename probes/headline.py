"""The main tables of linear probes: by condition, over all orders, by number of options, and by slot.

Made from predictions and fits. Formulas: `docs/probes.md`. Knows no model and no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from probes.figures import Figures, accuracy, figures, right_in_all, study_probe
from probes.fits_file import Fits
from probes.predictions import BEST, Predictions, Probed
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet, slot_name

_CONDITION = Column("condition", "condition", "text")
_BOTH = (
    Column("n", "n", "count"),
    Column("native", "native %", "percent"),
    Column("probe", "probe %", "percent"),
    Column("gap", "probe - native", "points"),
)
_SLOTS = (
    Column("native_first", "native first slot %", "percent"),
    Column("probe_first", "probe first slot %", "percent"),
    Column("gold_first", "gold first %", "percent"),
    Column("mean_reciprocal_k", "mean(1/k) %", "percent"),
    Column("fixed_slot", "best fixed slot %", "percent"),
)
_GAMMA = Column("gamma", "Gamma", "points")
_COLUMNS = (
    _CONDITION,
    *_BOTH,
    Column("mcnemar_p", "p", "p"),
    *_SLOTS,
    _GAMMA,
    Column("best_state", "best layer", "text"),
    Column("best_select", "its selection %", "percent"),
    Column("best_test", "its test %", "percent"),
    Column("selectivity", "selectivity", "points"),
)
_INTERVALS = "[low, high]: 95% intervals, clustered by group."
_STUDY = (
    "The study (arXiv 2609.29278, Qwen2.5-VL-7B on ScienceQA): probe 84.27 under Direct and 78.94 under the prefix, "
    "native 80.76 and 45.48, gaps 3.51 and 33.46, Gamma 29.95."
)
_LIMIT = (
    "A probe that is right shows that the answer can be read linearly from the state. It does not show that the model "
    "would have said it; a probe that is wrong does not show that the answer is not there."
)


def headline_figures(found: Predictions, fits: Fits) -> list[Figures]:
    """Figures of the study's probe by condition, on items in the source's order."""
    return _figures(found.shown(IDENTITY), fits)


def headline_sheet(
    found: Predictions, fits: Fits, selectivity: Mapping[str, Estimate] | None = None, notes: Sequence[str] = ()
) -> Sheet:
    """Every condition's probe beside the native readout, on items in the source's order.

    Args:
        found: predictions of the run.
        fits: what was fitted and chosen.
        selectivity: condition -> accuracy minus that on the control task, if there was one.
        notes: further lines below the table.
    """
    shown = found.shown(IDENTITY)
    rows = tuple(
        (
            one.condition,
            one.n,
            one.native,
            one.probe,
            one.gap.difference,
            one.gap.p_value,
            *_slots(one),
            _gamma(one, fits),
            *_best(shown, fits, one.condition),
            (selectivity or {}).get(one.condition, Missing("no control task: probe.controls.control_task=true")),
        )
        for one in _figures(shown, fits)
    )
    own = (
        f"Probe: on the state {fits.study_state}, one for each condition; p by McNemar's test. {_INTERVALS}",
        f"Gamma: (probe - native) minus the same under {fits.reference}, with a bootstrap interval over groups "
        f"({fits.draws:,} draws).",
        "Best layer: the state with the highest accuracy on the selection split, and its accuracy on the test split.",
        "Beside the first slot %: gold first % is what a perfect readout would have, mean(1/k) % what guessing would.",
        "Best fixed slot %: accuracy of always saying the slot that is right most often among the items of equal k; a "
        "probe that knows nothing of the options can reach it.",
        _STUDY,
        _LIMIT,
    )
    title = f"Linear probes: {fits.title}" if fits.title else "Linear probes"
    return Sheet("linear_probes", title, _COLUMNS, rows, (*notes, *own))


def order_sheets(found: Predictions, fits: Fits) -> list[Sheet]:
    """The same over every order in which items are shown, and slots; none if all are shown in one order."""
    if len(set(found.presentation.tolist())) < 2:
        return []
    columns = (
        _CONDITION,
        Column("items", "items", "count"),
        *_BOTH,
        *_SLOTS,
        _GAMMA,
        Column("native_all", "native right in all orders %", "percent"),
        Column("probe_all", "probe right in all orders %", "percent"),
    )
    items = len(set(found.item_id.tolist()))
    rows = tuple(
        (
            one.condition,
            items,
            one.n,
            one.native,
            one.probe,
            one.gap.difference,
            *_slots(one),
            _gamma(one, fits),
            right_in_all(found, found.native[one.condition]),
            right_in_all(found, found.probes[study_probe(one.condition, fits.study_state)]),
        )
        for one in _figures(found, fits)
    )
    notes = (
        f"All orders that were shown, the source's own among them; n counts rows. {_INTERVALS}",
        "The probe predicts the slot of the right content, wherever that stands. There is no p: it would take the "
        "orders of an item as independent.",
    )
    return [Sheet("linear_probes_orders", "Linear probes over all orders of the options", columns, rows, notes)]


def k_sheets(found: Predictions, fits: Fits) -> list[Sheet]:
    """By number of options, on items in the source's order; none if all have the same."""
    shown = found.shown(IDENTITY)
    ks = sorted(set(shown.k.tolist()))
    if len(ks) < 2:
        return []
    columns = (Column("k", "k", "text"), _CONDITION, *_BOTH, *_SLOTS, _GAMMA)
    rows = tuple(
        (
            str(k),
            one.condition,
            one.n,
            one.native,
            one.probe,
            one.gap.difference,
            *_slots(one),
            _gamma(one, fits),
        )
        for k in ks
        for one in _figures(shown.where(shown.k == k), fits)
    )
    return [Sheet("linear_probes_by_k", "Linear probes by number of options", columns, rows, (_INTERVALS,))]


def slot_sheet(found: Predictions, fits: Fits) -> Sheet:
    """How often each slot is right, is read and is predicted by the probe, over all rows."""
    columns = (
        _CONDITION,
        Column("slot", "slot", "text"),
        Column("n", "rows that have it", "count"),
        Column("gold", "right %", "percent"),
        Column("native", "native %", "percent"),
        Column("probe", "probe %", "percent"),
    )
    rows = []
    for name in fits.trained:
        slots = found.probes.get(study_probe(name, fits.study_state))
        if slots is None:
            continue
        for slot in range(int(found.k.max(initial=0))):
            have = found.k > slot
            shares = (float(np.mean(array[have] == slot)) for array in (found.gold, found.native[name], slots))
            rows.append((name, slot_name(slot), int(have.sum()), *shares))
    notes = ("Shares of the rows that have the slot, over all orders that were shown.",)
    return Sheet("linear_probes_slots", "Slots: right, read and predicted by the probe", columns, tuple(rows), notes)


def slot_charts(sheet: Sheet) -> list[Chart]:
    """Bars of `slot_sheet`, one chart to a condition."""
    charts = []
    for name in dict.fromkeys(row[0] for row in sheet.rows):
        points = tuple(
            (str(row[1]), float(share), series)
            for row in sheet.rows
            if row[0] == name
            for share, series in zip(row[3:], ("right", "native", "probe"), strict=True)
            if isinstance(share, float)
        )
        title = f"Slots under {name}"
        charts.append(Chart(f"linear_probes_slots_{name}", title, "bar", "slot", "share", "of", points))
    return charts


def headline_chart(figures: Sequence[Figures]) -> Chart:
    """Bars of the native and the probe's accuracy, by condition."""
    points = tuple(
        (one.condition, share.value, series)
        for one in figures
        for share, series in ((one.native, "native"), (one.probe, "probe"))
    )
    return Chart("linear_probes", "Native readout and probe", "bar", "condition", "accuracy", "read by", points)


def _figures(shown: Predictions, fits: Fits) -> list[Figures]:
    return figures(shown, fits.trained, fits.study_state, fits.reference, fits.draws, fits.seed)


def _slots(one: Figures) -> tuple[Cell, ...]:
    return one.native_first, one.probe_first, one.gold_first, one.chance, one.fixed_slot


def _gamma(one: Figures, fits: Fits) -> Cell:
    if one.gamma is not None:
        return one.gamma
    if one.condition == fits.reference:
        return Missing("Gamma is taken to this row")
    return Missing(f"{fits.reference} has no probe: add it to probe.conditions")


def _best(shown: Predictions, fits: Fits, condition: str) -> tuple[Cell, ...]:
    place = fits.best.get(condition)
    if place is None or place not in fits.places:
        return (Missing("no layer was chosen"),) * 3
    slots = shown.probes.get(Probed(condition, condition, BEST, place.state))
    tested = Missing("the chosen layer was not tested") if slots is None else accuracy(shown, slots)
    return place.state, fits.places[place].setting.select_accuracy, tested
