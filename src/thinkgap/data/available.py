"""Whether a data set has a split of some name, found out as cheaply as its source allows.

A source that cannot be asked raises its own error: "cannot be reached" never passes for "has no such split".
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from thinkgap.data.locate import SplitNotFound, looks_local
from thinkgap.data.registry import ADAPTERS
from thinkgap.data.source import open_source
from thinkgap.errors import ConfigError, DataError, nearest
from thinkgap.schema import DatasetConfig


def is_one_file(cfg: DatasetConfig) -> bool:
    """Whether the data set is a single file, which is one split under whatever name."""
    return Path(cfg.path).expanduser().is_file()


def has_split(cfg: DatasetConfig, split: str) -> bool:
    """Whether `split` can be read from the source of `cfg`; its rows are not looked at.

    A single file is one split, `cfg.split`. A data set on the hub is asked for its list of splits.

    Raises:
        ConfigError: An unknown adapter, or settings that no split can be read with.
        DataError: A source that is not there, cannot be reached, or whose split is broken.
    """
    if cfg.name not in ADAPTERS:
        raise ConfigError(f"dataset.name {cfg.name!r} is no adapter{nearest(cfg.name, ADAPTERS)}")
    adapter, asked = ADAPTERS[cfg.name], replace(cfg, split=split)
    if is_one_file(cfg):
        return split == cfg.split
    if looks_local(cfg.path):
        try:
            open_source(asked, adapter)
        except SplitNotFound:
            return False
        return True
    if adapter.generate is None:
        subjects = cfg.subjects or adapter.subjects
        per_subject = adapter.config_per_subject and cfg.config is None
        return split in _hub_splits(cfg, subjects[0] if per_subject else cfg.config)
    try:
        next(iter(open_source(asked, adapter).rows))
    except ConfigError:
        # Settings that are wrong for every split are told as they are.
        next(iter(open_source(cfg, adapter).rows))
        return False
    return True


def _hub_splits(cfg: DatasetConfig, config: str | None) -> list[str]:
    import datasets

    try:
        return datasets.get_dataset_split_names(cfg.path, config, revision=cfg.revision)
    except Exception as error:  # network, permission, unknown configuration: a dozen unrelated classes
        raise DataError(
            f"hub data set {cfg.path} ({config or 'default'}) cannot be asked for its splits, and no local path has "
            f"that name; without a network set dataset.path to a local folder, or name the splits with probe.fit and "
            f"probe.select: {type(error).__name__}: {error}"
        ) from error
