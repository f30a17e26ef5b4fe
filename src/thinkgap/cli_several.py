"""Several options of one group in one run: `dataset=boolq,mmlu dataset.limit=60` spelled out as Hydra takes it.

Without `-m`, names of several data sets, encoders or judges are one job's. Knows names and paths; imports
nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from thinkgap.errors import ConfigError
from thinkgap.home import expanded, is_there

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
    named = [one.partition("=")[2] for one in arguments if one.startswith("experiment=")]
    # A sweep may name several experiments.
    files = [conf / "experiment" / f"{name.strip()}.yaml" for name in named[-1].split(",")] if named else []
    found = {tuple(_OF_EXPERIMENT.findall(file.read_text(encoding="utf-8"))) for file in files if file.is_file()}
    own = [argument for argument in arguments if argument.startswith("dataset.")]
    chosen = any(argument.startswith("dataset=") for argument in arguments)
    if len(found) > 1 and (own or chosen):
        raise ConfigError(
            f"experiment={named[-1]}: they have other data sets, so {own[0] if own else 'dataset=...'} cannot be said "
            "of all of them; start one after the other"
        )
    names = found.pop() if len(found) == 1 else ()
    if not names:
        return list(arguments)
    if chosen:
        return _instead(names, arguments)
    kept = [argument for argument in arguments if argument not in own]
    # In front: argparse takes no overrides behind a flag.
    return [*(one for name in names for one in _spelled("dataset", name, own)), *kept]


def _instead(names: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Arguments with data sets of their own, which take the place of those of an experiment."""
    begin = f"+dataset@{SEVERAL['dataset']}."
    asked = [argument.removeprefix(begin).partition("=")[0] for argument in arguments if argument.startswith(begin)]
    if not asked:
        return [f"~{SEVERAL['dataset']}", *arguments]
    gone = [f"~{SEVERAL['dataset']}.{name}" for name in names if name not in asked]
    # Those that the experiment has as well are there already.
    return [*gone, *(one for one in arguments if one not in {f"{begin}{name}={name}" for name in names})]


def _spelled(group: str, name: str, common: Sequence[str]) -> list[str]:
    """`GROUP.KEY=VALUE` for one option of several."""
    found = []
    for setting in common:
        key, _, value = setting.removeprefix(f"{group}.").partition("=")
        part = _part(value, name) if (group, key) == ("dataset", "path") else value
        found.append(f"{SEVERAL[group]}.{name}.{key}={part}")
    return found


def _part(path: str, name: str) -> str:
    root = expanded(path.strip("'\""))
    for one in (root / name, root / f"{name}.parquet", root / f"{name}.jsonl"):
        if is_there(one):
            return str(one)
    raise ConfigError(
        f"dataset.path={path}: with several data sets it is a folder with one for each, and there is no {root / name}; "
        f"give datasets.{name}.path=... for each instead"
    )
