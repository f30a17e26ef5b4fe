"""How a command is launched: by torchrun, or by a plugin of Hydra that may not be installed. Imports nothing heavy."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence

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


def check_launch(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse what torchrun's processes would each do in a folder of their own.

    Args:
        arguments: of the command line.
        environment: variables of this process.

    Raises:
        ConfigError: a sweep, or a folder that depends on when a process started.
    """
    if "TORCHELASTIC_RUN_ID" not in environment or environment.get("WORLD_SIZE") == "1":
        return
    if {"-m", "--multirun"} & set(arguments):
        raise ConfigError("-m cannot be launched by torchrun: start one torchrun command for each job")
    if not environment.get("RUN_ID") and not any(one.startswith("hydra.run.dir=") for one in arguments):
        raise ConfigError(
            "torchrun: each process would make its own folder; set RUN_ID=NAME before the command, or give "
            "hydra.run.dir=FOLDER"
        )
