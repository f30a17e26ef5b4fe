"""How the cost of packed scoring grows with context, options, permutations, triggers and items, one at a time.

An item costs its distinct tokens, so time should follow the computed tokens, and memory should not follow the number
of items.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, finish, interleaved, peak_memory_mb, reset_peak_memory, result_file, timing
from benchmarks.items import conditions, inventory, presented
from benchmarks.workload import Measured, engine_of, score_items
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.schema import ModelConfig, Scoring
from thinkgap.scoring.engine import tokens_per_pass
from thinkgap.tracking.plots import load_pyplot


@dataclass(frozen=True)
class Point:
    """One setting; a sweep changes one of these."""

    sentences: int = 6
    options: int = 4
    permutations: int = 5
    triggers: int = 6
    """Conditions, Direct included."""
    items: int = 10


# Sentences stand for context tokens, which the table shows as measured: about 60 to 1000.
SWEEPS: dict[str, tuple[int, ...]] = {
    "sentences": (3, 6, 12, 24, 50),
    "options": (2, 4, 6, 8, 10),
    "permutations": (1, 2, 4, 6, 8, 10),
    "triggers": (1, 2, 4, 6, 9, 12),
    "items": (10, 20, 40, 80, 160),
}
_QUICK: dict[str, tuple[int, ...]] = {
    "sentences": (1, 3),
    "options": (2, 3),
    "permutations": (1, 2),
    "triggers": (1, 2),
    "items": (1, 2),
}


def run(options: Options) -> None:
    """Measure all sweeps, smallest first, so that a peak that cannot be reset is still the largest so far."""
    backend = load_backend(ModelConfig(name="model", path=options.model), on_accelerator=False)
    base = Point(3, 3, 2, 2, 1) if options.quick else Point()
    base = replace(base, items=options.sized(options.items, base.items, base.items))
    _score(backend, base)
    per_step = reset_peak_memory()
    repeats = options.sized(options.repeats, 3, 1)
    rows = [
        _measured(backend, replace(base, **{axis: value}), axis, repeats)
        for axis, values in (_QUICK if options.quick else SWEEPS).items()
        for value in values
    ]
    result = {
        "base": asdict(base),
        "peak_is_per_step": per_step,
        "memory_over_items_mb": _spread(rows),
        "steps": rows,
        "plot": _plot(rows, result_file("growth", options).with_suffix(".svg")),
    }
    hidden = ("all_s", "median_s")
    finish("growth", options, result, [{key: row[key] for key in row if key not in hidden} for row in rows])


def _measured(backend: HFBackend, point: Point, axis: str, repeats: int) -> dict[str, Any]:
    found: list[Measured] = []

    def once() -> float:
        found.append(_score(backend, point))
        return found[-1].seconds

    reset_peak_memory()
    seconds = interleaved({axis: once}, repeats)[axis]
    text = inventory(0, point.sentences, point.options).context
    return {
        "axis": axis,
        "value": getattr(point, axis),
        "context tokens": len(backend.fmt.tokenize(text)),
        "s/item": statistics.median(seconds) / point.items,
        "tokens/item": found[-1].computed_tokens / point.items,
        "tokens/item, plain": found[-1].linear_tokens / point.items,
        "tokens/s": found[-1].computed_tokens / statistics.median(seconds),
        "peak MB": peak_memory_mb(),
        **timing(seconds),
    }


def _score(backend: HFBackend, point: Point) -> Measured:
    items = [inventory(number, point.sentences, point.options) for number in range(point.items)]
    shown = conditions(preset="endings")[: point.triggers]
    engine = engine_of(backend, Scoring.packed, tokens_per_pass(on_accelerator=False))
    # Chunks of the same size in every step, so that memory shows what grows.
    return score_items(engine, shown, presented(items, point.permutations), at_once=8)


def _spread(rows: Sequence[Mapping[str, Any]]) -> float:
    """How much more memory the most items took than the fewest."""
    peaks = [row["peak MB"] for row in rows if row["axis"] == "items"]
    return peaks[-1] - peaks[0]


def _plot(rows: Sequence[Mapping[str, Any]], file: Path) -> str:
    """Draw the sweeps beside the JSON."""
    pyplot = load_pyplot()
    axes = list(dict.fromkeys(row["axis"] for row in rows))
    figure, panels = pyplot.subplots(2, len(axes), figsize=(3 * len(axes), 5), squeeze=False)
    for column, axis in enumerate(axes):
        steps = [row for row in rows if row["axis"] == axis]
        across = "context tokens" if axis == "sentences" else "value"
        for panel, height in zip(panels[:, column], ("s/item", "peak MB"), strict=True):
            panel.plot([step[across] for step in steps], [step[height] for step in steps], marker="o")
            panel.set_xlabel("context tokens" if axis == "sentences" else axis)
            panel.set_ylabel(height)
            panel.set_ylim(0, 1.1 * max(step[height] for step in steps))
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    pyplot.close(figure)
    return file.name
