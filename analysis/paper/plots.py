"""The figures of both studies from finished runs, as PDF and SVG. Only what the runs hold is drawn.

The text of the prefix study has no captions for its figures 2 and 3; here they are the layer profile and the position
shift that its protocol describes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.paper.ours import Run
from analysis.paper.panels import bars, heat, lines
from analysis.paper.picked import Found, called, change_of, one_of, present, series_of
from analysis.reference.catalogue import catalogue
from analysis.style import PAGE, house_style, save
from thinkgap.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODES = {"think_on": "M1", "think_off": "M2", "cot": "M3", "soft": "M4", "strict": "M5", "prefix": "M6"}
SPACES = ("bool", "mcq", "open")
AREAS = ("humanities", "social", "STEM", "other")
_LEVELS = (("etr", "ETR, %"), ("qrel", "QRel, cosine"), ("eir", "explicit inference, %"))
_FOUR = (("accuracy", "accuracy, %"), *_LEVELS)


def write_figures(
    runs: Sequence[Run], out: Path, whole: Collection[str], asked: Collection[tuple[str, str]] = ()
) -> list[Path]:
    """Draw the figures of whole studies, or those that are asked for.

    Args:
        runs: finished runs.
        out: folder.
        whole: `prefix`, `inertia` or `all`.
        asked: (study, figure) of single ones.
    """
    found: list[Path] = []
    with house_style():
        for (study, name), draw in FIGURES.items():
            if not ({study, "all"} & set(whole) or (study, name) in asked):
                continue
            own = [one for run in runs for one in run.figures if (one.study, one.table) == (study, name)]
            if own:
                figure = draw(own)
                _legend(figure)
                found += [save(figure, out / f"{study}.{name}.{ending}") for ending in ("pdf", "svg")]
                _close(figure)
    return found


def is_figure(study: str, name: str) -> bool:
    """Whether a catalogue id is that of a figure that can be drawn.

    Raises:
        ConfigError: a figure of the study that has none to draw.
    """
    if (study, name) in FIGURES:
        return True
    entry = next((one for one in catalogue(study) if one.id == name), None)
    if entry is not None and entry.kind == "figure":
        raise ConfigError(f"{study}.{name} is nothing that runs can be drawn as ({entry.needs})")
    return False


def _legend(figure: Figure) -> None:
    """One legend above all panels, each series once."""
    named: dict[str, tuple[Any, str]] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            named.setdefault(label.partition(" (n = ")[0], (handle, label))
    if named:
        handles, labels = zip(*named.values(), strict=True)
        figure.legend(handles, labels, loc="outside upper left", ncols=2)


def _close(figure: Figure) -> None:
    from matplotlib import pyplot

    pyplot.close(figure)


def _figure(rows: int, columns: int, height: float) -> tuple[Figure, list[list[Any]]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=(PAGE, height * rows), squeeze=False)
    return figure, [list(row) for row in axes]


def _by_space_and_mode(found: Found, modes: Sequence[str], measures: Sequence[tuple[str, str]]) -> Figure:
    """A row of panels for each measure, a panel for each answer space; models over modes."""
    shown = [mode for mode in present(found, "mode", list(MODES)) if mode in modes]
    spaces, models = present(found, "space", SPACES), present(found, "model")
    figure, axes = _figure(len(measures), len(spaces), 1.45)
    for row, (measure, label) in enumerate(measures):
        for column, space in enumerate(spaces):
            series = {model: series_of(found, measure, "mode", shown, space=space, model=model) for model in models}
            lines(
                axes[row][column],
                [MODES.get(mode, mode) for mode in shown],
                series,
                label=called(found, measure, label) if column == 0 else "",
                title=space if row == 0 else "",
            )
    return figure


def _native(found: Found) -> Figure:
    """Figure 1: M2 by data set, ETR beside visible length."""
    sets, models = present(found, "dataset"), present(found, "model")
    figure, axes = _figure(1, 2, 2.2)
    for place, (measure, label) in enumerate((("etr", "ETR, %"), ("visible_words", "visible words"))):
        series = {model: series_of(found, measure, "dataset", sets, mode="think_off", model=model) for model in models}
        bars(axes[0][place], sets, series, label=label, title="M2: think-off")
    return figure


def _answer_spaces(found: Found) -> Figure:
    """Figure 6: the same items as proposals, choices and open questions, under M2."""
    variants = ("verification", "identity", "open_numeric")
    sets = [(model, name) for model in present(found, "model") for name in present(found, "dataset")]
    figure, axes = _figure(1, len(_FOUR), 1.9)
    for place, (measure, label) in enumerate(_FOUR):
        series = {
            f"{model}, {name}": series_of(
                found, measure, "variant", variants, mode="think_off", model=model, dataset=name
            )
            for model, name in sets
        }
        bars(axes[0][place], ("Bool", "MCQ", "open"), series, label=called(found, measure, label), title="")
    return figure


def _trade_off(found: Found) -> Figure:
    """Figure G.2: accuracy lost from M2 to M5, and ETR under M5, by data set."""
    sets, models = present(found, "dataset"), present(found, "model")
    figure, axes = _figure(1, 2, 2.2)
    change = [[change_of(found, model, "dataset", name) for name in sets] for model in models]
    heat(axes[0][0], models, sets, change, title="accuracy, M5 - M2, points", centred=True)
    etr = [[one_of(found, "etr", model=model, dataset=name, mode="strict") for name in sets] for model in models]
    heat(axes[0][1], models, sets, etr, title="ETR under M5, %")
    return figure


def _heat_by_space(found: Found) -> Figure:
    """Figure H.1: M2 by model and answer space, a panel for each level."""
    spaces, models = present(found, "space", SPACES), present(found, "model")
    figure, axes = _figure(1, len(_LEVELS), 1.9)
    for place, (measure, label) in enumerate(_LEVELS):
        table = [
            [one_of(found, measure, model=model, space=space, mode="think_off") for space in spaces] for model in models
        ]
        heat(axes[0][place], models, spaces, table, title=called(found, measure, label))
    return figure


def _areas(found: Found) -> Figure:
    """Figure H.2: areas of MMLU: ETR under M2, and accuracy lost to M5."""
    areas, models = present(found, "area", AREAS), present(found, "model")
    figure, axes = _figure(1, 2, 2.0)
    etr = [[one_of(found, "etr", model=model, area=area, mode="think_off") for area in areas] for model in models]
    heat(axes[0][0], models, areas, etr, title="ETR under M2, %")
    change = [[change_of(found, model, "area", area) for area in areas] for model in models]
    heat(axes[0][1], models, areas, change, title="accuracy, M5 - M2, points", centred=True)
    return figure


_LAYERED = {
    "lens": "label readout (logit lens) after each layer",
    "probe": "linear probe after each layer",
    "native": "native readout of the probes' rows",
}
"""Readouts of figure 2 -> heading of their panel."""


def _layers(found: Found) -> Figure:
    """Figure 2: accuracy after each layer by condition, of the lens, of probes and of the model's own readout."""
    readouts = [name for name in _LAYERED if name in present(found, "readout")]
    figure, axes = _figure(len(readouts), 1, 2.2)
    for axis, readout in zip((one for row in axes for one in row), readouts, strict=False):
        own = [one for one in found if one.keys.get("readout") == readout]
        # Embeddings stand before the first layer, what the final norm makes after the last.
        layers = sorted(present(own, "layer"), key=_place_of)
        lines(axis, layers, _by_run(own, "accuracy", "layer", layers), label="accuracy, %", title=_LAYERED[readout])
        axis.set_xlabel("layer")
    return figure


def _by_run(found: Found, measure: str, key: str, values: Sequence[str]) -> dict[str, list[Any]]:
    """A series for each condition, and for each model and data set where there are several."""
    series: dict[str, list[Any]] = {}
    for model, dataset in dict.fromkeys((one.keys.get("model", ""), one.keys.get("dataset", "")) for one in found):
        own = [one for one in found if (one.keys.get("model", ""), one.keys.get("dataset", "")) == (model, dataset)]
        several = len(own) < len(found)
        for condition in present(own, "condition"):
            name = f"{condition}, {model} on {dataset}" if several else condition
            series[name] = series_of(own, measure, key, values, condition=condition)
    return series


def _place_of(layer: str) -> tuple[int, int]:
    return (1, int(layer)) if layer.isdecimal() else (0 if layer == "embeddings" else 2, 0)


def _shift(found: Found) -> Figure:
    """Figure 3: shift of p(gold) from Direct by the slot of the right answer."""
    slots = sorted(present(found, "variable"))
    figure, axes = _figure(1, 1, 2.2)
    series = _by_run(found, "shift", "variable", slots)
    bars(axes[0][0], slots, series, label="shift of p(gold), points", title="by slot of the right answer")
    axes[0][0].set_xlabel("slot of the right answer")
    return figure


Draw = Callable[[Found], "Figure"]
FIGURES: Mapping[tuple[str, str], Draw] = {
    ("prefix", "figure2"): _layers,
    ("prefix", "figure3"): _shift,
    ("inertia", "figure1"): _native,
    ("inertia", "figure4"): lambda found: _by_space_and_mode(found, ("think_on", "think_off", "cot"), _LEVELS),
    ("inertia", "figure5"): lambda found: _by_space_and_mode(found, ("think_off", "soft", "strict", "prefix"), _FOUR),
    ("inertia", "figure6"): _answer_spaces,
    ("inertia", "figureG.1"): lambda found: _by_space_and_mode(found, tuple(MODES), _FOUR),
    ("inertia", "figureG.2"): _trade_off,
    ("inertia", "figureH.1"): _heat_by_space,
    ("inertia", "figureH.2"): _areas,
}
"""(study, catalogue id) -> what draws it."""
