"""Configured triggers and modes -> `Condition`s, Direct first.

Knows the names and the order of conditions; knows neither items nor models.
"""

from __future__ import annotations

from thinkgap.errors import ConfigError
from thinkgap.schema import ModeConfig, PromptConfig, TriggerConfig
from thinkgap.types import Condition, Request

DIRECT = "direct"


def trigger_conditions(trigger: TriggerConfig, prompt: PromptConfig) -> list[Condition]:
    """Direct, then the configured triggers in their order.

    Direct is measured in every run: a trigger's figure means something only beside it, on the same items.
    """
    specs = trigger.conditions
    if DIRECT in specs and specs[DIRECT].text:
        raise ConfigError(f"trigger '{DIRECT}' must have an empty text, not {specs[DIRECT].text!r}: rename it")
    direct = Condition(DIRECT, "trigger", Request.label, placement=trigger.placement, thinking=prompt.thinking)
    conditions = [direct]
    for name, spec in specs.items():
        if name == DIRECT:
            continue
        if not spec.text.strip():
            raise ConfigError(f"trigger '{name}' has no text, so it equals Direct: give it one or drop it")
        conditions.append(
            Condition(
                name,
                "trigger",
                spec.requests,
                text=spec.text,
                placement=trigger.placement,
                thinking=prompt.thinking,
            )
        )
    return conditions


def mode_conditions(mode: ModeConfig) -> list[Condition]:
    """The configured answer modes in their order."""
    return [
        Condition(
            name,
            "mode",
            spec.requests,
            text=spec.instruction,
            thinking=spec.thinking,
            user_suffix=spec.user_suffix,
            prefill=spec.prefill,
            soft_switch=spec.soft_switch,
            format_example=mode.format_example,
        )
        for name, spec in mode.conditions.items()
    ]


def all_conditions(trigger: TriggerConfig, mode: ModeConfig, prompt: PromptConfig) -> list[Condition]:
    """Every condition of a run; names are unique across triggers and modes."""
    conditions = trigger_conditions(trigger, prompt) + mode_conditions(mode)
    names = [condition.name for condition in conditions]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(f"{', '.join(doubled)}: used both as a trigger and as a mode; rename one of them")
    return conditions
