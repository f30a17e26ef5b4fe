"""Tables of the demo model's card, as Markdown, from measured figures and settings.

It reads no file and measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgap.readouts.in_short import mass_text
from thinkgap.readouts.table_text import grid


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.1f}%"


def conditions(measured: Mapping[str, Any]) -> str:
    """One row a condition: readout, orders of the options, generation."""
    header = ["condition", "accuracy", "first slot", "gold first", "label mass", "gold rank", "mean ± SD", "generation",
              "no letter"]  # fmt: skip
    rows = []
    for name, found in measured["conditions"].items():
        spread = "" if found["permuted_sd"] is None else f" ± {100 * found['permuted_sd']:.1f}"
        rows.append(
            [
                name,
                share(found["accuracy"]),
                share(found["first_slot"]),
                share(found["gold_first"]),
                mass_text(found["label_mass"]),
                f"{found['gold_rank']:g}",
                f"{100 * found['permuted_mean']:.1f}{spread}",
                share(found["generation"]["accuracy"]),
                str(found["generation"]["unparsed"]),
            ]
        )
    return grid(header, rows, left=1)


def kinds(measured: Mapping[str, Any]) -> str:
    """Accuracy under Direct by kind of question and by number of options."""
    kinds, options = measured["kinds"], measured["options"]
    header = ["", *kinds, *(f"{k} options" for k in options)]
    return grid(header, [["accuracy", *(share(value) for value in (*kinds.values(), *options.values()))]], left=1)


def slot_or_letter(measured: Mapping[str, Any]) -> str:
    """What predictions follow when slots and letters come apart."""
    rows = [
        [
            name,
            share(found["first_slot"]),
            *(share(found["letters_reversed"][key]) for key in ("first_slot", "letter_a")),
        ]
        for name, found in measured["conditions"].items()
    ]
    return grid(
        ["condition", "letters in order: first slot (A)", "reversed: first slot", "reversed: letter A"], rows, left=1
    )


def phases(settings: Mapping[str, Any]) -> str:
    """One row a phase of the training."""
    lessons = list(dict.fromkeys(lesson for phase in settings["phases"] for lesson in phase["lessons"]))
    rows, layers = [], settings["sizes"]["layers"]
    for phase in settings["phases"]:
        layers += phase["new_layers"]
        rows.append(
            [
                f"{math.ceil(phase['start'] * settings['steps']):,}",
                *(str(phase["lessons"].get(name, 0)) for name in lessons),
                str(layers),
                str(phase["options"]),
                f"{phase['rate']:g}",
                f"{phase['sums']:g}",
            ]
        )
    header = ["from step", *lessons, "layers", "options from", "of the rates", "about sums"]
    return "Examples in a step, by lesson:\n\n" + grid(header, rows, left=1)


def mixture(settings: Mapping[str, Any]) -> str:
    """The shares within the lessons, in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in settings["mixture"].items())


def variants(models: Sequence[Mapping[str, Any]]) -> str:
    """One row a model: what differs, and Direct beside the triggers that ask for a rationale."""
    base = models[0]["training"]["settings"]
    rows = []
    for one in models:
        measured, settings = one["measured"], one["training"]["settings"]
        direct = measured["conditions"]["direct"]
        cues = [found for name, found in measured["conditions"].items() if name not in ("direct", "answer")]
        rows.append(
            [
                one["name"],
                _differences(base, settings),
                str(settings["seed"]),
                share(direct["accuracy"]),
                _span([found["accuracy"] for found in cues]),
                _span([found["first_slot"] for found in cues]),
                _span([found["letters_reversed"]["letter_a"] for found in cues]),
                _span([found["generation"]["accuracy"] for found in cues]),
            ]
        )
    header = ["model", "differs in", "seed", "Direct", "under the triggers", "first slot", "reversed: letter A",
              "generation"]  # fmt: skip
    return grid(header, rows, left=1)


def _differences(base: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    found = [
        f"{name.replace('_', ' ')} {value:g}"
        for name, value in settings["mixture"].items()
        if value != base["mixture"][name]
    ]
    if settings["phases"] != base["phases"]:
        found.append("lessons")
    if settings["steps"] != base["steps"]:
        found.append(f"{settings['steps']:,} steps")
    own, others = _rest(settings), _rest(base)
    found += [f"{name.replace('_', ' ')} {value:g}" for name, value in own.items() if value != others[name]]
    return ", ".join(found) or "-"


def _rest(settings: Mapping[str, Any]) -> dict[str, float]:
    """Sizes, rates and the like, without what has a place of its own or changes no weight."""
    told = ("name", "seed", "mixture", "phases", "steps", "sizes", "validate_every", "validation_facts", "save_every")
    return {name: value for name, value in settings.items() if name not in told} | settings["sizes"]


def _span(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{high}%" if low == high else f"{low} to {high}%"
