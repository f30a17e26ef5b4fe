"""API keys: read from the environment when they are needed, and taken out of every text that is kept or shown."""

from __future__ import annotations

import os

from thinkgap.errors import ConfigError
from thinkgap.schema import ServedConfig

REMOVED = "[removed]"
_SHORTEST = 8
"""Shorter values ("none", "EMPTY") are no secrets, and occur by accident."""


def read_key(served: ServedConfig) -> str:
    """The key of a provider, or an empty text if the profile names no variable.

    Raises:
        ConfigError: the variable is not set, or its value cannot be a key; the message never holds the value.
    """
    name = served.api_key_env
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise ConfigError(
            f"the environment variable {name} is not set, and {served.base_url} asks for a key: export {name}=..., or "
            "name another variable with model.served.api_key_env"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the environment variable {name} holds characters that no key has: set it again")
    return key


def without_key(text: str, key: str) -> str:
    """`text` with "[removed]" wherever it holds the key; servers repeat what they were sent."""
    return text.replace(key, REMOVED) if len(key) >= _SHORTEST else text
