"""Sections of panels for the figures that some runs have: triggers, layers, permutations, modes, probes.

A bar is a run, a line is a run: models and data sets stand side by side in each panel. No panel names a figure that no
run has. Knows no file and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import wandb_workspaces.reports.v2.interface as wr

from analysis.dashboard.figures import Names

LEGEND = "${config:model.name} on ${config:dataset.name} (${run:displayName})"
"""How a run is called in every panel."""
_TRIGGER = {
    "accuracy": "accuracy",
    "first_slot": "first slot predicted",
    "label_mass": "label mass",
    "generated": "accuracy of generated answers",
    "aligned": "accuracy of the label after the reply",
    "match": "verdict: 1 where the event that was read is the one requested",
}
_PERMUTATION = {
    "permutation/accuracy_orders": "accuracy over all orders",
    "permutation/first_slot_orders": "first slot over all orders",
    "permutation/pairwise_agreement": "two orders agree",
    "permutation/all_correct": "right in every order",
}
_PROBE = {"native": "native readout", "probe": "linear probe", "gap": "probe less native"}
_SPACES = ("bool", "mcq", "open")
_LEVELS = {
    "etr_prefix": "answer only (ETR)",
    "etr_strict": "answer only, strict",
    "qrel_": "relevance of the trace (QRel)",
    "explicit_": "explicit inference (EIR)",
    "accuracy": "accuracy",
}
_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 3
"""A panel in W&B's grid of 24 columns."""


@dataclass(frozen=True)
class Part:
    """One section of a dashboard."""

    name: str
    about: str
    """A sentence for the report."""
    panels: tuple[wr.BarPlot | wr.LinePlot | wr.RunComparer, ...]


def sections_of(names: Names) -> list[Part]:
    """The sections that `names` can fill, the runs' own settings last."""
    parts = [
        Part("Triggers by model", "Label readouts under each condition; one bar for each run.", _triggers(names)),
        Part("Layers", "Curves over the model's layers; one line for each run.", _curves(names, layers=True)),
        Part("Permutations", "Each item in several orders of its options.", _bars(names, _PERMUTATION)),
        Part("Probes", "A linear probe at the read position beside the native readout.", _probes(names)),
        Part("Probe curves", "Probes with fewer questions or dimensions, and their online code.", _curves(names)),
        Part("Modes", "What responses are under each answer mode, by answer space.", _modes(names)),
    ]
    parts = [part for part in parts if part.panels]
    return [*parts, Part("Settings", "What differs between the runs.", (_comparer(),))]


def _triggers(names: Names) -> tuple[wr.BarPlot, ...]:
    return _bars(names, _TRIGGER)


def _probes(names: Names) -> tuple[wr.BarPlot, ...]:
    own = {name: name.split("/") for name in names.figures if name.startswith("probe/")}
    return _placed(
        [
            _bar(f"{title}, {condition}", [f"probe/{condition}/{figure}"], "share of items")
            for condition in dict.fromkeys(parts[1] for parts in own.values())
            for figure, title in _PROBE.items()
            if f"probe/{condition}/{figure}" in own
        ]
    )


def _bars(names: Names, figures: dict[str, str]) -> tuple[wr.BarPlot, ...]:
    """One panel for each figure and condition that some run has, figure by figure."""
    held = set(names.figures)
    conditions = dict.fromkeys(
        name.partition("/")[0] for name in names.figures if name.partition("/")[2] in figures and name.count("/") <= 2
    )
    return _placed(
        [
            _bar(f"{title}, {condition}", [f"{condition}/{figure}"], "share")
            for figure, title in figures.items()
            for condition in conditions
            if f"{condition}/{figure}" in held
        ]
    )


def _modes(names: Names) -> tuple[wr.BarPlot, ...]:
    """One panel for each mode and figure, the answer spaces side by side."""
    keys = [(name, name.split("/")) for name in names.figures]
    own = [(name, parts) for name, parts in keys if len(parts) == 3 and parts[1] in _SPACES]
    panels = []
    for figure, title in ((f, t) for start, t in _LEVELS.items() for f in _figures(own, start)):
        of = figure.partition("_")[2] if figure.startswith(("qrel_", "explicit_")) else ""
        for mode in dict.fromkeys(parts[0] for _, parts in own):
            metrics = [name for name, parts in own if parts[0] == mode and parts[2] == figure]
            if metrics:
                by = f" by {of}" if of else ""
                panels.append(_bar(f"{title}{by}, {mode}", metrics, "mean"))
    return _placed(panels)


def _figures(own: Sequence[tuple[str, Sequence[str]]], start: str) -> Iterator[str]:
    found = dict.fromkeys(parts[2] for _, parts in own)
    return (name for name in found if name == start or (start.endswith("_") and name.startswith(start)))


def _curves(names: Names, *, layers: bool = False) -> tuple[wr.LinePlot, ...]:
    """One panel for each line of the charts over layers, or of the others."""
    return _placed(
        [
            wr.LinePlot(
                title=f"{name.replace('_', ' ')}, {key.rpartition('/')[2]}",
                x=wr.Metric(axis),
                y=[wr.Metric(key)],
                title_x=axis.rpartition("/")[2],
                legend_template=LEGEND,
                smoothing_factor=0,
                layout=wr.Layout(),
            )
            for name, axis, keys in names.curves
            if ("layers" in name) == layers
            for key in keys
        ]
    )


def _bar(title: str, metrics: Sequence[str], axis: str) -> wr.BarPlot:
    return wr.BarPlot(
        title=title,
        metrics=[wr.Metric(one) for one in metrics],
        orientation="h",
        title_x=axis,
        legend_template=LEGEND,
        max_runs_to_show=100,
        max_bars_to_show=100,
    )


def _comparer() -> wr.RunComparer:
    return wr.RunComparer(diff_only="split", layout=wr.Layout(0, 0, _WIDTH * _COLUMNS, 2 * _HEIGHT))


def _placed(panels: list) -> tuple:
    """Each panel in its place on the grid."""
    for number, panel in enumerate(panels):
        row, column = divmod(number, _COLUMNS)
        panel.layout = wr.Layout(column * _WIDTH, row * _HEIGHT, _WIDTH, _HEIGHT)
    return tuple(panels)
