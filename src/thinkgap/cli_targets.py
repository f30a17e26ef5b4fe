"""Refuses what would let a configuration that somebody sent run any program.

Nothing of thinkgap builds objects from `_target_`, but Hydra does: its launcher, sweeper and callbacks, and the
handlers of its logging. So files that come from outside (`--config-dir`, `hydra.searchpath`) are read before Hydra sees
them, and a target is one of known packages. It does not know what targets do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.errors import ConfigError
from thinkgap.home import expanded, is_there

ALLOWED = (
    "thinkgap.",
    "hydra._internal.core_plugins.",
    "hydra.experimental.callbacks.LogJobReturnCallback",
    "hydra_plugins.",
    "optuna.samplers.",
    "logging.",
    "colorlog.",
)
"""What a `_target_`, or the class of a log handler, begins with."""
_TARGET = "_target_"
_LOGGING = ("class", "()", "factory")
"""Keys under which Python's logging configuration names what it calls."""
_MOST_FOLDERS = 1000
_IN_VALUE = re.compile(r"""_target_['"]?\s*:\s*['"]?([^\s'",}]*)""")
_FOLDERS = ("--config-dir", "-cd", "--config-path", "-cp")


def check_targets(arguments: Sequence[str]) -> None:
    """Look through the command line and the folders of configuration that it names.

    Raises:
        ConfigError: a target of another package, or a pickled job, with where it stands.
    """
    for argument in arguments:
        if argument.partition("=")[0] == "--experimental-rerun":
            raise ConfigError(
                "--experimental-rerun reads a pickle, which can run any program: give the command again with "
                "hydra.run.dir=FOLDER, which goes on from what is finished"
            )
        key, _, value = argument.lstrip("+~").partition("=")
        said = [value.strip().strip("'\"")] if key.split(".")[-1] == _TARGET else _IN_VALUE.findall(value)
        for target in said:
            _check(target, argument)
    for folder in _named_folders(arguments):
        if not is_there(folder):
            continue  # Hydra says so
        for file in _yaml_files(folder):
            _check_file(file)


def _named_folders(arguments: Sequence[str]) -> Iterator[Path]:
    for place, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in _FOLDERS and "=" not in argument:
            value = arguments[place + 1] if place + 1 < len(arguments) else ""
        if name in _FOLDERS and value:
            yield expanded(value)
        elif name.lstrip("+") == "hydra.searchpath":
            parts = (part.strip().strip("'\"") for part in value.strip().strip("'\"").strip("[]").split(","))
            yield from (expanded(part.removeprefix("file://")) for part in parts if not part.startswith("pkg:"))


def _yaml_files(folder: Path) -> Iterator[Path]:
    """Files that Hydra could read below a folder, and not a whole disk's."""
    for count, (place, _, names) in enumerate(os.walk(folder)):
        if count >= _MOST_FOLDERS:
            raise ConfigError(
                f"{folder} holds more than {_MOST_FOLDERS:,} folders: give the folder that holds configurations alone"
            )
        yield from (Path(place, name) for name in sorted(names) if name.endswith((".yaml", ".yml")))


def _check_file(file: Path) -> None:
    import yaml

    try:
        content = yaml.safe_load(file.read_bytes())
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return  # Hydra reads it by the same rules, and says what is wrong if it is used
    for path, value in _leaves(content):
        if path[-1] == _TARGET or (
            path[-1] in _LOGGING and any("handlers" in part or "formatters" in part for part in path)
        ):
            _check(str(value), f"{file}, {'.'.join(path)}")
        elif "searchpath" in path:
            raise ConfigError(f"{file}, {'.'.join(path)}: give hydra.searchpath on the command line")


def _leaves(content: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each value that holds no others, with the keys that lead to it; without recursion, for a file may be deep."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), content)]
    seen: set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping | list):
            if id(value) in seen:  # an anchor that is used again, or one that holds itself
                continue
            seen.add(id(value))
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            waiting += [((*path, str(key)), one) for key, one in pairs]
        elif path:
            yield path, value


def _check(target: str, where: str) -> None:
    if not target.startswith(ALLOWED):
        raise ConfigError(f"{where}: {target!r:.100} is not called: a target begins with one of {', '.join(ALLOWED)}")
