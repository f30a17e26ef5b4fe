"""What stands between the command line and Hydra: short forms, and errors that name the nearest option.

`model=PATH`, `encoder=PATH` and `dataset=FILE.jsonl` are short for the generic options with that path;
`probe.fit=train[image]` needs no quotes. An unknown group option or key is refused here, because Hydra's own message
does not say which name was meant. Imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from thinkgap.cli_launchers import check_launch, check_launcher
from thinkgap.cli_mappings import spelled
from thinkgap.cli_several import SEVERAL, of_experiment, several
from thinkgap.cli_targets import check_targets
from thinkgap.errors import ConfigError, ThinkgapError, nearest
from thinkgap.home import expanded, is_there
from thinkgap.printable import printable

Config = TypeVar("Config")
CONF = Path(__file__).resolve().parents[2] / "conf"
_PATH_GROUPS = {"model": "local", "dataset": "jsonl", "encoder": "local"}
_PATH_SUFFIXES = {".gguf", ".json", ".jsonl", ".parquet"}
_SHORT = {"estimate": "evaluation.estimate"}
"""Settings that a short name stands for."""
_NULLABLE = {"mode", "experiment"}
_NOT_SETTINGS = {"experiment", "local"}
"""Groups that set others and have no settings of their own."""
_SWEEP = re.compile(r"(choice|glob|range|shuffle|sort|extend_list)\(.*\)")
"""Hydra's functions of option names; it checks those itself."""
_LINES = "\n\t"
"""What messages are laid out with."""
_SPLITS = {"probe.fit", "probe.select", "probe.test"}
_SPECIAL = re.compile(r"[\[\]+]")
"""What names of splits hold (`train[image]`, `dev+validation`) that Hydra would read as its own."""


def prepare_arguments(arguments: list[str], schema: type, conf: Path = CONF) -> list[str]:
    """Overrides with short forms spelled out; flags and Hydra's own settings pass untouched.

    Raises:
        ConfigError: an option or a key that does not exist, with the nearest names.
    """
    check_targets(arguments)
    prepared: list[str] = []
    value_follows = False
    taken = {field.name for field in dataclasses.fields(schema)}
    for group in (group for group, setting in SEVERAL.items() if setting in taken):
        for argument in arguments:
            if argument.startswith(f"{group}."):
                _check_key(argument.partition("=")[0], schema)
        arguments = several(arguments, group, {file.stem for file in (conf / group).glob("*.yaml")})
    arguments = of_experiment(arguments, conf)
    for argument in arguments:
        if value_follows or argument.startswith("-") or "=" not in argument:
            prepared.append(argument)
            if argument.startswith("~") and argument[1:] in {"model", "dataset", "trigger", "evaluation", "probe"}:
                raise ConfigError(f"{argument}: this group is needed; choose another option of it instead")
            value_follows = argument in {"--config-dir", "-cd", "--config-name", "-cn", "--config-path", "-cp", "--cfg",
                                         "-c", "--package", "-p", "--info", "-i"}  # fmt: skip
            continue
        key, _, value = argument.partition("=")
        key = _SHORT.get(key, key)
        prepared += _prepared(key, value, schema, conf)
    for group in ("model", "encoder"):
        if f"{group}=local" in prepared and not any(one.startswith(f"{group}.path=") for one in prepared):
            raise ConfigError(f"{group}=local needs {group}.path=PATH (or write {group}=PATH)")
    return prepared


def _prepared(key: str, value: str, schema: type, conf: Path) -> list[str]:
    group = key.lstrip("+~")
    if group.startswith("hydra") or any(group.startswith(f"{one}@{setting}.") for one, setting in SEVERAL.items()):
        return [f"{key}={value}"]
    if key.startswith("+") and group.startswith(("trigger.conditions.", "mode.conditions.")):
        kind = group.partition(".")[0]
        raise ConfigError(
            f"{key}: a {kind} cannot be added here; use trigger=custom trigger.conditions.custom.text=..., or write a "
            f"file conf/{kind}/NAME.yaml"
        )
    if not is_there(conf / group):
        _check_key(group, schema)
        if (mapping := spelled(key, value)) is not None:
            return mapping
        return [f"{key}={_quoted_splits(value) if group in _SPLITS else value}"]
    _check_group(group, schema)
    options = {file.stem for file in (conf / group).glob("*.yaml")}
    whole = value.strip().strip("'\"")
    values = [whole] if group in _PATH_GROUPS and is_there(whole) else _split(value)
    if "null" in values and group not in _NULLABLE:
        raise ConfigError(f"{group}=null: one of {', '.join(sorted(options))} is needed")
    unknown = [one for one in values if one not in options and one != "null"]
    if not unknown or _SWEEP.fullmatch(whole):
        return [f"{key}={value}"]
    if group in _PATH_GROUPS and all(_looks_like_path(one) for one in unknown):
        if len(unknown) < len(values):
            raise ConfigError(f"{group}={value} mixes option names and paths: sweep over one kind at a time")
        quoted = ",".join(map(_quoted, unknown))
        return [f"{group}={_PATH_GROUPS[group]}", f"{group}.path={quoted}"]
    message = f"{group}={unknown[0]}: no such option{nearest(unknown[0], options)}"
    if group in _PATH_GROUPS:
        message += " (a folder or file is taken too, if it exists or starts with ./ or /)"
    raise ConfigError(message)


def _check_group(group: str, schema: type) -> None:
    """Require that an entry point takes a group; `conf/` holds those of all of them."""
    # `datasets` is what several names of `dataset` become, and no group.
    taken = {field.name for field in dataclasses.fields(schema)} - set(SEVERAL.values())
    if group not in taken | _NOT_SETTINGS:
        raise ConfigError(f"{group}: not an option of this command (it takes {', '.join(sorted(taken))})")


def _split(value: str) -> list[str]:
    inner = value.strip().removeprefix("[").removesuffix("]")
    return [part.strip().strip("'\"") for part in inner.split(",")]


def _quoted_splits(value: str) -> str:
    """Names of splits, or several for a sweep, in quotes where Hydra's grammar asks for them."""
    if _SWEEP.fullmatch(value.strip()):
        return value
    return ",".join(_quoted(part) if _SPECIAL.search(part) else part for part in value.split(","))


def _quoted(value: str) -> str:
    bare = value.strip()
    return value if bare.startswith(("'", '"')) else "'" + bare.replace("'", r"\'") + "'"


def _looks_like_path(value: str) -> bool:
    path = expanded(value)
    return "/" in value or value.startswith(("package:", "~", ".")) or is_there(path) or path.suffix in _PATH_SUFFIXES


def _check_key(key: str, schema: type) -> None:
    """Require that a dotted key exists in the schema; free-form mappings accept anything below them."""
    node: Any = schema
    seen: list[str] = []
    for part in key.split("."):
        if not dataclasses.is_dataclass(node):
            return
        fields = {field.name: field for field in dataclasses.fields(node)}
        if part not in fields:
            where = ".".join(seen)
            full = {(f"{where}." if where else "") + name for name in fields}
            raise ConfigError(f"{key}: no such setting{nearest('.'.join([*seen, part]), full)}")
        seen.append(part)
        field = fields[part]
        node = field.default_factory if field.default_factory is not dataclasses.MISSING else None


def exit_code(job: Callable[[], object]) -> int:
    """Run `job`; a refusal is printed and gives 1, else 0."""
    try:
        job()
    except ThinkgapError as error:
        print(f"error: {printable(str(error), kept=_LINES)}", file=sys.stderr)
        return 1
    return 0


def typed(cfg: DictConfig, schema: type[Config]) -> Config:
    """The composed config as its dataclass.

    Raises:
        ConfigError: a setting without a default was not given.
    """
    missing = sorted(OmegaConf.missing_keys(cfg))
    if missing:
        raise ConfigError(f"{', '.join(missing)}: not set and without a default; give {missing[0]}=...")
    try:
        config = OmegaConf.to_object(cfg)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{str(error).splitlines()[0]} (write \\${{...}} for a literal ${{...}})") from None
    assert isinstance(config, schema)
    return config


def run_job(
    cfg: DictConfig, schema: type[Config], name: str, work: Callable[[Config, Path, str | None], object]
) -> None:
    """Run one composed job inside Hydra: its refusals are one message in its log, and one status.

    Args:
        cfg: what Hydra composed.
        schema: its type.
        name: of the command, for the log.
        work: called with the typed config, the job's folder, and the name of the sweep it belongs to.

    Raises:
        SystemExit: a refusal, with status 1; an interruption, with status 130.
        CompactHydraException: a refusal in a sweep, whose other jobs then still run.
    """
    import logging

    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import CompactHydraException
    from hydra.types import RunMode

    job = HydraConfig.get()
    sweep = Path(job.sweep.dir).name if job.mode is RunMode.MULTIRUN else None
    try:
        work(typed(cfg, schema), Path(job.runtime.output_dir), sweep)
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # what was at work has said how to go on
    except ThinkgapError as error:
        logging.getLogger(name).error("%s", error)  # into the job's own log as well
        if sweep is None:
            raise SystemExit(1) from None
        # Hydra lets the other jobs of a sweep run, and then repeats this message alone.
        raise CompactHydraException(printable(str(error), kept=_LINES)) from None


def rewrite_argv(schema: type) -> None:
    """Apply `prepare_arguments` to this process's arguments; a refusal is printed and ends it with status 2."""
    try:
        check_launch(sys.argv[1:], os.environ)
        check_launcher(sys.argv[1:])
        sys.argv[1:] = prepare_arguments(sys.argv[1:], schema)
    except ThinkgapError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
