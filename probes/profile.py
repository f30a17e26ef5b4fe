"""Accuracy of probes by layer and condition, and how far each condition stays behind the reference at each layer.

A description: the layer is chosen on the selection split, not here. Knows no model and no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probes.figures import accuracy, difference, layer_probe
from probes.fits_file import Fits
from probes.heads import Place
from probes.predictions import Predictions
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet

_CAPTION = "A description only: the layer of the headline table is chosen on the selection split, never on this curve."


@dataclass(frozen=True)
class _Point:
    state: str
    place: int
    """Number of the state, from 0."""
    condition: str
    select: float
    test: Estimate
    native: Estimate
    behind: Estimate | None
    """Accuracy under the reference minus that here, on the same rows."""


def profile_sheets(found: Predictions, fits: Fits) -> list[Sheet]:
    """Selection and test accuracy of every state's probe, on items in the source's order; none without such probes."""
    rows = tuple(
        (
            one.state,
            one.condition,
            one.test.n,
            one.select,
            one.test,
            one.native,
            _behind(one, fits),
            _setting(fits, one.condition, one.state),
        )
        for one in _points(found, fits)
    )
    columns = (
        Column("state", "state", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count"),
        Column("select", "selection %", "percent"),
        Column("test", "test %", "percent"),
        Column("native", "native %", "percent"),
        Column("behind", f"G: {fits.reference} - condition", "points"),
        Column("setting", "chosen setting", "text"),
    )
    notes = (
        _CAPTION,
        "Native is the model's own readout, the same at every state. G: accuracy of the same state's probes under "
        f"{fits.reference} minus that under the condition, on the same rows.",
        "Neighbouring states are tested on the same items, so their intervals are not independent.",
    )
    return [Sheet("probe_layers", "Linear probes by layer", columns, rows, notes)] if rows else []


def _setting(fits: Fits, condition: str, state: str) -> str:
    """The chosen setting, with the epoch whose weights were kept where there are epochs."""
    chosen = fits.places[Place(condition, state)].setting
    return chosen.name if chosen.epoch is None else f"{chosen.name}, epoch {chosen.epoch}"


def profile_charts(found: Predictions, fits: Fits) -> list[Chart]:
    """Test accuracy over states with the native readout as a flat line, and G over states; none without states."""
    accuracies: list[tuple[float | str, float, str]] = []
    behind: list[tuple[float | str, float, str]] = []
    for one in _points(found, fits):
        accuracies.append((float(one.place), one.test.value, one.condition))
        accuracies.append((float(one.place), one.native.value, f"{one.condition} (native)"))
        if one.behind is not None:
            behind.append((float(one.place), one.behind.value, one.condition))
    charts = []
    for name, title, y, points in (
        ("probe_layers_accuracy", "Accuracy of linear probes by state (description only)", "accuracy", accuracies),
        ("probe_layers_gap", f"Probe accuracy under {fits.reference} minus that under each condition", "gap", behind),
    ):
        if points:
            charts.append(Chart(name, title, "line", "state", y, "condition", tuple(points)))
    return charts


def _points(found: Predictions, fits: Fits) -> Iterator[_Point]:
    shown = found.shown(IDENTITY)
    for number, state in enumerate(fits.states):
        base = shown.probes.get(layer_probe(fits.reference, state))
        for name in fits.trained:
            slots = shown.probes.get(layer_probe(name, state))
            if slots is None:
                continue
            behind = None if base is None else difference(shown, slots, base).difference
            yield _Point(
                state,
                number,
                name,
                fits.places[Place(name, state)].setting.select_accuracy,
                accuracy(shown, slots),
                accuracy(shown, shown.native[name]),
                None if name == fits.reference else behind,
            )


def _behind(one: _Point, fits: Fits) -> Cell:
    if one.behind is not None:
        return one.behind
    own = one.condition == fits.reference
    return Missing("G is taken from this row" if own else f"{fits.reference} has no probe at this state")
