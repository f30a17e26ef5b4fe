"""Settings that are null or a whole mapping, such as `model.quantization={load_in_4bit: true}`.

OmegaConf cannot merge a mapping into null, and ends with a failure of its own. A setting that is missing it can, so
each such override is preceded by one that makes it so: the mapping replaces what an option had.
"""

from __future__ import annotations

from thinkgap.errors import ConfigError

MAPPINGS = ("quantization",)
"""Last part of the names of these settings."""


def spelled(key: str, value: str) -> list[str] | None:
    """Overrides that set one of these settings; None if `key` is none.

    Raises:
        ConfigError: a part of a mapping, or a value that is no mapping, with how it is written.
    """
    parts = key.lstrip("+").split(".")
    at = next((place for place, part in enumerate(parts) if part in MAPPINGS and place), None)
    if at is None:
        return None
    name = ".".join(parts[: at + 1])
    bare = value.strip().strip("'\"")
    if at + 1 == len(parts) and (bare in ("null", "") or bare.startswith("${")):
        return [f"{name}={value}"]
    if at + 1 < len(parts) or not value.strip().startswith("{"):
        raise ConfigError(
            f"{key}={value}: {name} is one mapping, in quotes so that the shell leaves it whole: "
            f"'{name}={{quant_method: bitsandbytes, load_in_4bit: true}}'"
        )
    return [f"{name}=???", f"+{name}={value}"]
