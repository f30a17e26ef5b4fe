"""Several options of one group in one run: `dataset=boolq,mmlu dataset.limit=60` spelled out as Hydra takes it.

Without `-m`, names of several data sets, encoders or judges are one job's. Knows names and paths; imports
nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from thinkgap.errors import ConfigError

SEVERAL: Mapping[str, str] = {"dataset": "datasets", "encoder": "encoders", "judge": "judges"}
"""Group -> setting that holds several of its options by name."""
_OF_EXPERIMENT = re.compile(r"^\s*- /dataset@datasets\.(\w+):", re.MULTILINE)
"""How a file of `conf/experiment` names one of its data sets."""


def several(arguments: Sequence[str], group: str, options: Collection[str]) -> list[str]:
    """Arguments in which a list of options of `group` is a setting of its own for each: `datasets.NAME`.

    What is said of `dataset.KEY` holds for each of them. `dataset.path` is a folder with a folder or file for each
    name, such as `FOLDER/boolq`.

    Args:
        arguments: of the command line.
        group: one of `SEVERAL`.
        options: names of the group's options.

    Returns:
        The arguments as they are, unless they name several options and ask for no sweep.

    Raises:
        ConfigError: an option that is named twice, or a path without a part for one data set.
    """
    named = [argument for argument in arguments if argument.startswith(f"{group}=")]
    names = [name.strip() for name in named[-1].partition("=")[2].strip("[]").split(",")] if named else []
    swept = any(argument in ("-m", "--multirun") for argument in arguments)
    if swept or len(names) < 2 or not set(names) <= set(options):
        return list(arguments)
    if len(set(names)) < len(names):
        raise ConfigError(f"{named[-1]}: name each {'data set' if group == 'dataset' else group} once")
    if "none" in names:
        raise ConfigError(f"{named[-1]}: none stands alone")
    common = [argument for argument in arguments if argument.startswith(f"{group}.")]
    kept = [argument for argument in arguments if argument not in named and argument not in common]
    # The first one is also `dataset`, which titles and folders are named after.
    spelled = [f"{group}={names[0]}", *(f"+{group}@{SEVERAL[group]}.{name}={name}" for name in names)]
    spelled += [one for name in names for one in _spelled(group, name, common)]
    # In front: argparse takes no overrides behind a flag.
    return [*spelled, *kept]


def of_experiment(arguments: Sequence[str], conf: Path) -> list[str]:
    """Arguments in which what is said of `dataset.KEY` reaches every data set of an experiment that has several.

    A data set that is named beside the experiment takes the place of all of them.

    Args:
        arguments: of the command line.
        conf: folder of the options.

    Raises:
        ConfigError: a path without a part for one data set.
    """
    chosen = [one.partition("=")[2] for one in arguments if one.startswith("experiment=")]
    file = conf / "experiment" / f"{chosen[-1]}.yaml" if chosen else None
    if file is None or not file.is_file():
        return list(arguments)
    names = _OF_EXPERIMENT.findall(file.read_text(encoding="utf-8"))
    if not names:
        return list(arguments)
    if any(argument.startswith("dataset=") for argument in arguments):
        # In front: argparse takes no overrides behind a flag.
        return ["~datasets", *arguments]
    own = [argument for argument in arguments if argument.startswith("dataset.")]
    kept = [argument for argument in arguments if argument not in own]
    return [*(one for name in names for one in _spelled("dataset", name, own)), *kept]


def _spelled(group: str, name: str, common: Sequence[str]) -> list[str]:
    """`GROUP.KEY=VALUE` for one option of several."""
    found = []
    for setting in common:
        key, _, value = setting.removeprefix(f"{group}.").partition("=")
        part = _part(value, name) if (group, key) == ("dataset", "path") else value
        found.append(f"{SEVERAL[group]}.{name}.{key}={part}")
    return found


def _part(path: str, name: str) -> str:
    root = Path(path.strip("'\"")).expanduser()
    for one in (root / name, root / f"{name}.parquet", root / f"{name}.jsonl"):
        if one.exists():
            return str(one)
    raise ConfigError(
        f"dataset.path={path}: with several data sets it is a folder with one for each, and there is no {root / name}; "
        f"give datasets.{name}.path=... for each instead"
    )
