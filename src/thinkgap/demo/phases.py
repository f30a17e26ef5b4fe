"""What the settings of a demo training say of each step: lessons, layers, rates; and whether they can be honoured.

It knows no model and no example.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from thinkgap.demo.lessons import LESSONS, MOST_OPTIONS
from thinkgap.demo.world.questions import KINDS
from thinkgap.errors import ConfigError, nearest
from thinkgap.schema import DemoConfig, DemoPhase

FEWEST_OPTIONS = 2


def check_settings(cfg: DemoConfig) -> None:
    """Refuse at the start what would end a training hours later.

    Raises:
        ConfigError: a number that is too small, a phase whose lessons do not exist, or none that begins at 0.
    """
    least = dict.fromkeys(("steps", "facts", "validate_every", "validation_facts", "save_every", "plateau"), 1)
    for name, smallest in (least | {"warmup": 0, "cooldown": 0}).items():
        if (value := getattr(cfg, name)) < smallest:
            raise ConfigError(f"demo.{name}={value}: must be at least {smallest}")
    # Rotary positions turn pairs of a head's dimensions; the vision encoder has two heads, and turns two axes apart.
    for name, multiple in (("heads", 1), ("hidden", 2 * cfg.sizes.heads), ("vision_hidden", 8)):
        if (value := getattr(cfg.sizes, name)) < 1 or value % multiple:
            raise ConfigError(f"demo.sizes.{name}={value}: must be a multiple of {multiple}")
    phase_at(cfg, 0)
    for phase in cfg.phases:
        for name, holds, what in (
            ("new_layers", phase.new_layers >= 0, "layers cannot be taken away"),
            ("rate", phase.rate > 0, "a rate is above 0"),
            ("options", FEWEST_OPTIONS <= phase.options <= MOST_OPTIONS,
             f"questions have {FEWEST_OPTIONS} to {MOST_OPTIONS} options"),
            ("sums", 0 <= phase.sums <= 1, "a share is from 0 to 1"),
        ):  # fmt: skip
            if not holds:
                raise ConfigError(
                    f"demo.phases: the one that begins at {phase.start:g} has {name}={getattr(phase, name):g}; {what}"
                )
    if any(phase.sums for phase in cfg.phases) and cfg.facts < len(KINDS):
        raise ConfigError(f"demo.facts={cfg.facts}: kinds come in turn, so sums need at least {len(KINDS)}")
    taught = {name for phase in cfg.phases for name in _checked(phase)}
    if "matching" in taught and "letter_of" not in taught:
        raise ConfigError("demo.phases: matching gets more options as letter_of becomes right; add some letter_of")


def phase_at(cfg: DemoConfig, step: int) -> DemoPhase:
    """The phase that `step` is in.

    Raises:
        ConfigError: none has begun.
    """
    begun = _begun(cfg, step)
    if not begun:
        raise ConfigError(f"demo.phases: none begins at 0, so step {step} has no lessons")
    return max(begun, key=lambda phase: phase.start)


def layers_at(cfg: DemoConfig, step: int) -> int:
    """How many layers the language model has in `step`."""
    return cfg.sizes.layers + sum(phase.new_layers for phase in _begun(cfg, step))


def _begun(cfg: DemoConfig, step: int) -> list[DemoPhase]:
    return [phase for phase in cfg.phases if phase.start * cfg.steps <= step]


def _checked(phase: DemoPhase) -> Mapping[str, int]:
    for name, n in phase.lessons.items():
        if name not in LESSONS:
            raise ConfigError(f"demo.phases: no lesson {name!r}{nearest(name, LESSONS)}")
        if n < 0:
            raise ConfigError(f"demo.phases: {name} is {n}; give a number of examples")
    if not any(phase.lessons.values()):
        raise ConfigError(f"demo.phases: the one that begins at {phase.start:g} has no examples; give some lesson some")
    return {name: n for name, n in phase.lessons.items() if n}


def rate_factor(cfg: DemoConfig, step: int) -> float:
    """Share of the peak rates at `step`: a linear rise, a plateau, a fall with the square root of the step, and at the
    end a linear fall to zero; all times the share of the phase.
    """
    rise = (step + 1) / max(1, cfg.warmup)
    fall = (cfg.steps - step) / max(1.0, cfg.cooldown * cfg.steps)
    return phase_at(cfg, step).rate * min(1.0, rise, fall) * math.sqrt(cfg.plateau / max(step, cfg.plateau))
