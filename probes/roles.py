"""Which splits or finished runs the roles of a training read: as set, or found out from the data set.

Roles that name the same source share it out; sources that overlap without being the same are refused. Knows no item, no
state and no model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from probes.splits import ROLES, NamedSplit, check_shares, parse_splits
from thinkgap.data.available import has_split, is_one_file
from thinkgap.errors import ConfigError
from thinkgap.schema import DatasetConfig, ProbeConfig, TrainConfig

log = logging.getLogger(__name__)

TRAIN, VALIDATION = "train", "validation"
"""Splits that are looked for where none are named."""


@dataclass(frozen=True)
class Source:
    """Where rows come from: splits that the model reads, or a finished run."""

    splits: tuple[NamedSplit, ...] = ()
    folder: Path | None = None

    def __str__(self) -> str:
        return "+".join(map(str, self.splits)) if self.folder is None else str(self.folder)

    @property
    def names(self) -> set[str]:
        """Of its splits."""
        return {split.name for split in self.splits}


@dataclass(frozen=True)
class Pool:
    """A source, and the roles that read it: one, or several that share it out."""

    source: Source
    roles: tuple[str, ...]

    @property
    def is_shared(self) -> bool:
        """Whether several roles share it out."""
        return len(self.roles) > 1

    def datasets(self, cfg: TrainConfig) -> list[DatasetConfig]:
        """One data set for each of its splits, with the limit that the roles set."""
        limits = {"fit": cfg.probe.examples, "select": cfg.probe.select_examples, "test": cfg.dataset.limit}
        limit = cfg.dataset.limit if self.is_shared else limits[self.roles[0]]
        return [replace(cfg.dataset, split=one.name, images=one.images, limit=limit) for one in self.source.splits]


def cuts(probe: ProbeConfig) -> dict[str, int | None]:
    """Items that each role keeps of a split that was not read for it alone."""
    return {"fit": probe.examples, "select": probe.select_examples, "test": None}


def find_pools(cfg: TrainConfig) -> list[Pool]:
    """What each role reads, in the order of `ROLES`.

    Raises:
        ConfigError: A setting that cannot be honoured, sources that overlap, or shares that give a role nothing.
        DataError: A data set that cannot be asked for its splits.
    """
    sources = _sources(cfg)
    _refuse_overlaps(cfg, sources)
    pools: dict[Source, list[str]] = {}
    for role in ROLES:
        pools.setdefault(sources[role], []).append(role)
    found = [Pool(source, tuple(roles)) for source, roles in pools.items()]
    for pool in found:
        if pool.is_shared:
            check_shares(cfg.probe.shares, pool.roles)
        shared = ", shared out by group" if pool.is_shared else ""
        log.info("%s: %s%s", " and ".join(pool.roles), pool.source, shared)
    return found


def _sources(cfg: TrainConfig) -> dict[str, Source]:
    given = {role: _given(cfg, role) for role in ROLES}
    test = given["test"] or Source((NamedSplit(cfg.dataset.split, cfg.dataset.images),))
    fit = given["fit"] or _default_fit(cfg, [test, *filter(None, [given["select"]])])
    select = given["select"] or _default_select(cfg, fit, test)
    return {"fit": fit, "select": select, "test": test}


def _given(cfg: TrainConfig, role: str) -> Source | None:
    text, folder = getattr(cfg.probe, role), getattr(cfg.probe, f"{role}_features")
    if text is not None and folder is not None:
        raise ConfigError(
            f"probe.{role}={text} and probe.{role}_features={folder}: the one says what the model reads, the other "
            "gives what it has read; leave one out"
        )
    if folder is not None:
        return Source(folder=Path(folder).expanduser().resolve())
    return None if text is None else Source(parse_splits(f"probe.{role}", text, cfg.dataset.images))


def _default_fit(cfg: TrainConfig, others: list[Source]) -> Source:
    for source in others:
        if TRAIN in source.names:
            return source
    return Source((NamedSplit(TRAIN, cfg.dataset.images),)) if has_split(cfg.dataset, TRAIN) else others[0]


def _default_select(cfg: TrainConfig, fit: Source, test: Source) -> Source:
    if fit.folder is not None or VALIDATION in fit.names | test.names or not has_split(cfg.dataset, VALIDATION):
        return fit
    return Source((NamedSplit(VALIDATION, cfg.dataset.images),))


def _refuse_overlaps(cfg: TrainConfig, sources: Mapping[str, Source]) -> None:
    for place, role in enumerate(ROLES):
        for other in ROLES[place + 1 :]:
            one, two = sources[role], sources[other]
            if one == two:
                continue
            if common := sorted(one.names & two.names):
                raise ConfigError(
                    f"{role} reads {one} and {other} reads {two}, which both hold {common[0]}: name the same splits in "
                    f"both to share them out by group (probe.{role}={two} probe.{other}={two}), or splits that have "
                    "none in common"
                )
            if one.splits and two.splits and is_one_file(cfg.dataset):
                raise ConfigError(
                    f"{role} reads {one} and {other} reads {two}, and dataset.path={cfg.dataset.path} is one file and "
                    f"so one split: name the same in both to share it out by group (probe.{role}={two})"
                )
