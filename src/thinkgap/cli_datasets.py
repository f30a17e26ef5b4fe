"""Several data sets in one run: `dataset=boolq,mmlu dataset.limit=60` spelled out as Hydra takes it.

Without `-m`, names of several data sets are one job's. Knows names and paths; imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thinkgap.errors import ConfigError

_KEY = "dataset."


def several_datasets(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Arguments in which a list of data sets is a setting of its own for each: `datasets.NAME`.

    What is said of `dataset.KEY` holds for each of them. `dataset.path` is a folder with a folder or file for each
    name, such as `FOLDER/boolq`.

    Args:
        arguments: of the command line.
        options: names of the group `dataset`.

    Returns:
        The arguments as they are, unless they name several data sets and ask for no sweep.

    Raises:
        ConfigError: a data set that is named twice, or a path without a part for one of them.
    """
    named = [argument for argument in arguments if argument.startswith("dataset=")]
    names = [name.strip() for name in named[-1].partition("=")[2].strip("[]").split(",")] if named else []
    swept = any(argument in ("-m", "--multirun") for argument in arguments)
    if swept or len(names) < 2 or not set(names) <= set(options):
        return list(arguments)
    if len(set(names)) < len(names):
        raise ConfigError(f"{named[-1]}: name each data set once")
    kept = [argument for argument in arguments if argument not in named and not argument.startswith(_KEY)]
    common = [argument.removeprefix(_KEY) for argument in arguments if argument.startswith(_KEY)]
    # The first one is also `dataset`, which titles and folders are named after.
    spelled = [f"dataset={names[0]}", *(f"+dataset@datasets.{name}={name}" for name in names)]
    for setting in common:
        key, _, value = setting.partition("=")
        spelled += [f"datasets.{name}.{key}={_part(value, name) if key == 'path' else value}" for name in names]
    # In front: argparse takes no overrides behind a flag.
    return [*spelled, *kept]


def _part(path: str, name: str) -> str:
    root = Path(path.strip("'\"")).expanduser()
    for one in (root / name, root / f"{name}.parquet", root / f"{name}.jsonl"):
        if one.exists():
            return str(one)
    raise ConfigError(
        f"dataset.path={path}: with several data sets it is a folder with one for each, and there is no {root / name}; "
        f"give datasets.{name}.path=... for each instead"
    )
