"""Launchers of sweeps, which are plugins of Hydra: is the one that is asked for there? Imports nothing heavy."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from thinkgap.errors import ConfigError

_LAUNCHERS = {
    "slurm": ("hydra_submitit_launcher", "slurm"),
    "slurm_local": ("hydra_submitit_launcher", "slurm"),
    "ray": ("hydra_ray_launcher", "ray"),
    "joblib": ("hydra_joblib_launcher", "joblib"),
}
"""Launcher -> the plugin that brings it, and the extra of this package that installs it."""


def check_launcher(arguments: Sequence[str]) -> None:
    """Require the plugin behind a launcher; Hydra's own message names a file that is not there.

    Args:
        arguments: of the command line.

    Raises:
        ConfigError: it is not installed.
    """
    name = next((one.partition("=")[2] for one in arguments if one.startswith("hydra/launcher=")), "")
    plugin, extra = _LAUNCHERS.get(name, ("", ""))
    if plugin and not _is_there(f"hydra_plugins.{plugin}"):
        raise ConfigError(f"hydra/launcher={name} is not installed: pip install 'thinkgap[{extra}]'")


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # no plugin of Hydra at all
        return False
