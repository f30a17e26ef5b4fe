"""What a provider can do, as `model.served` says it: checks of the profile, and what it makes of a wish.

A wish that a profile cannot honour is refused here, before anything is sent. Knows no prompt and sends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from thinkgap.errors import ConfigError
from thinkgap.schema import BackendKind, ModelConfig, PrefillForm, ServedApi, TemperatureRule, TokenField
from thinkgap.types import Thinking

_OURS = {"model", "messages", "input", "temperature", "stream", "n", *(field.value for field in TokenField)}
"""Fields that only a request of ours may set."""


def check_profile(cfg: ModelConfig) -> None:
    """Refuse a profile that makes no sense, whatever is asked.

    Raises:
        ConfigError: the first setting that is wrong, by name.
    """
    served = cfg.served
    if cfg.backend is not BackendKind.api:
        raise ConfigError(f"model={cfg.name} is not served: set model.backend=api and model.served, or run it locally")
    for name in ("base_url", "prefill_base_url"):
        url = getattr(served, name)
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            continue
        if url or name == "base_url":
            raise ConfigError(
                f"model.served.{name}={url!r}: must be the root of an API, such as http://localhost:8000/v1"
            )
    for name, least in (("concurrency", 1), ("max_retries", 0), ("requests_per_minute", 1)):
        value = getattr(served, name)
        if value is not None and value < least:
            raise ConfigError(f"model.served.{name}={value}: must be at least {least}")
    if not served.timeout > 0:
        raise ConfigError(f"model.served.timeout={served.timeout}: must be more than 0 seconds")
    if (served.api is ServedApi.responses) != (served.token_field is TokenField.max_output_tokens):
        raise ConfigError(
            f"model.served.token_field={served.token_field.name} is no field of model.served.api={served.api.name}: "
            "responses takes max_output_tokens, chat takes max_tokens or max_completion_tokens"
        )
    if served.api is ServedApi.responses and served.prefill is not PrefillForm.none:
        raise ConfigError(f"model.served.prefill={served.prefill.name}: the responses API has no prefill; set none")
    _check_fields(cfg)


def _check_fields(cfg: ModelConfig) -> None:
    switch, extra = cfg.thinking, cfg.served.extra_body
    if switch.enabled and switch.enabled == switch.disabled:
        raise ConfigError(f"model={cfg.name}: model.thinking.enabled and model.thinking.disabled send the same fields")
    if not cfg.served.thinks and (switch.enabled or switch.disabled):
        raise ConfigError(
            f"model={cfg.name}: model.served.thinks=false, but model.thinking has fields: drop one of them"
        )
    fields = {"thinking.enabled": switch.enabled, "thinking.disabled": switch.disabled, "served.extra_body": extra}
    for name, values in fields.items():
        taken = sorted(_OURS & set(values))
        if taken:
            raise ConfigError(f"model.{name} sets {taken[0]!r}, which has a setting of its own: take it out")
    controls = {path for values in (switch.enabled, switch.disabled) for path, _ in leaves(values)}
    for path, _ in leaves(extra):
        if path in controls:
            raise ConfigError(
                f"model.served.extra_body sets {'.'.join(path)!r}, which switches thinking: leave it to model.thinking"
            )


def leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value inside nested mappings, with the keys that lead to it; an empty mapping is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def thinking_fields(cfg: ModelConfig, thinking: Thinking) -> Mapping[str, Any]:
    """Fields that ask for `thinking`; none for `default`.

    Raises:
        ConfigError: the model has no such state, or nobody said how it is asked for. Leaving a field out is not off:
            many providers think unless told otherwise.
    """
    if thinking is Thinking.default or (thinking is Thinking.disabled and not cfg.served.thinks):
        return {}
    if not cfg.served.thinks:
        raise ConfigError(
            f"model={cfg.name} cannot think (model.served.thinks=false): drop modes that ask for thinking"
        )
    fields = cfg.thinking.enabled if thinking is Thinking.enabled else cfg.thinking.disabled
    if fields:
        return fields
    if thinking is Thinking.enabled:
        raise ConfigError(
            f"model={cfg.name} has no switch that turns its thinking on: give its request fields as "
            "model.thinking.enabled, or drop modes that ask for thinking"
        )
    raise ConfigError(
        f"model={cfg.name} has no switch that turns its thinking off: give its request fields as "
        "model.thinking.disabled; for a model that cannot think, set model.served.thinks=false; for one whose "
        "thinking cannot be turned off, drop the modes that ask for it"
    )


def sent_temperature(cfg: ModelConfig, thinking: Thinking, temperature: float | None) -> float | None:
    """`temperature` if it is sent, None if the profile leaves it out in this state (or none was asked for).

    Raises:
        ConfigError: no temperature, or one that the profile refuses in this state, or, for `default`, a profile that
            treats the two states differently.
    """
    if temperature is None:
        return None
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ConfigError(f"temperature={temperature}: must be 0 or more")
    on, off = cfg.served.temperature_thinking, cfg.served.temperature_plain
    if thinking is Thinking.default and cfg.served.thinks and on is not off:
        raise ConfigError(
            f"model={cfg.name} takes a temperature in one state of thinking only, and thinking=default does not say "
            "which state it is: ask for enabled or disabled, or for no temperature"
        )
    rule, name = (on, "temperature_thinking") if thinking is Thinking.enabled else (off, "temperature_plain")
    if rule is TemperatureRule.refuse:
        raise ConfigError(
            f"model={cfg.name} takes no temperature with thinking {thinking.name} (model.served.{name}=refuse): ask "
            f"for none, or set model.served.{name}=omit to leave it out and have that recorded"
        )
    return temperature if rule is TemperatureRule.send else None


def check_prefill(cfg: ModelConfig, thinking: Thinking) -> None:
    """Refuse a prefill that this model cannot be given in this state.

    Raises:
        ConfigError: the provider has no prefill, or thinking is on, which would have to come before it.
    """
    if cfg.served.prefill is PrefillForm.none:
        raise ConfigError(
            f"model={cfg.name} cannot be given the opening of its turn (model.served.prefill=none): drop mode "
            "prefix_assistant, or use mode prefix, whose prefix stands in the user's turn"
        )
    if thinking is Thinking.enabled:
        raise ConfigError(
            f"model={cfg.name}: a prefill opens the visible turn, so no thinking can come before it; ask for thinking "
            "disabled"
        )
