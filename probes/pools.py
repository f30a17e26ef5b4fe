"""What the pools of a training hold: runs that are found, made or given, and which role gets which of their items.

Knows items, groups and folders; reads no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from probes.capture_run import capture_of
from probes.captures import Captures
from probes.roles import Pool, cuts
from probes.runs import Run, items_of_run, open_run
from probes.splits import first_items, share_out
from thinkgap.data import load_dataset_items
from thinkgap.errors import ConfigError, DataError, StoreError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import DatasetConfig, TrainConfig
from thinkgap.types import Item


@dataclass(frozen=True)
class FilledPool:
    """A pool with its items, and its runs as soon as there are any."""

    pool: Pool
    runs: tuple[Run, ...]
    """One for each split, or the one that was given; none of a pool that the model is still to read."""
    items: tuple[Mapping[str, Item] | None, ...]
    """Of each run, by id; None if the data set of a given run is not at hand."""
    datasets: tuple[DatasetConfig, ...] = ()
    """Of each run that the model is to read."""

    def held(self) -> list[dict[str, str]]:
        """Of each run its items: id -> group. Before there are runs, those that the model is to read."""
        if self.runs:
            return [dict(zip(run.rows["item_id"], run.rows["group_id"], strict=True)) for run in self.runs]
        return [{item.id: item.group_id for item in (of or {}).values()} for of in self.items]


@dataclass(frozen=True)
class RoleItems:
    """The items of one role."""

    runs: tuple[Run, ...]
    groups: tuple[Mapping[str, str], ...]
    """Of each run, the items that the role has: id -> group."""
    items: Mapping[str, Item]
    """Those that are at hand, by id."""


def open_pools(cfg: TrainConfig, pools: list[Pool]) -> list[FilledPool]:
    """Open the runs that are given, and read the items of the others; no model reads anything.

    Raises:
        ThinkgapError: a folder that is no run with states, or data that cannot be read.
    """
    opened = []
    for pool in pools:
        if pool.source.folder is not None:
            run = _given(pool)
            items = items_of_run(f"probe.{pool.roles[0]}_features", run.manifest)
            opened.append(FilledPool(pool, (run,), (items,)))
            continue
        read: list[Mapping[str, Item]] = []
        datasets = tuple(pool.datasets(cfg))
        for dataset in datasets:
            try:
                loaded = load_dataset_items(dataset)
            except (ConfigError, DataError) as error:
                names = ", ".join(f"probe.{role}" for role in pool.roles)
                raise type(error)(f"{names} ({pool.source}): {error}") from error
            read.append({item.id: item for item in loaded.items})
        opened.append(FilledPool(pool, (), tuple(read), datasets))
    return opened


def fill_pools(cfg: TrainConfig, opened: list[FilledPool], world: World = ALONE) -> list[FilledPool]:
    """Find or make the runs that the model reads.

    Raises:
        ThinkgapError: what a capture raises.
    """
    given = {run.folder: run.manifest["model"] for one in opened for run in one.runs}
    captures = Captures(given, world, cfg.probe.state)
    return [
        one
        if one.runs
        else replace(
            one,
            runs=tuple(
                captures.get(capture_of(cfg, dataset), list((items or {}).values()))
                for dataset, items in zip(one.datasets, one.items, strict=True)
            ),
        )
        for one in opened
    ]


def _given(pool: Pool) -> Run:
    assert pool.source.folder is not None
    try:
        return open_run(pool.source.folder)
    except StoreError as error:
        raise StoreError(f"probe.{pool.roles[0]}_features: {error}") from None


def deal(cfg: TrainConfig, filled: list[FilledPool]) -> dict[str, RoleItems]:
    """Which role has which items, in the order of pools.

    Raises:
        DataError: one item id in two splits of a sum.
    """
    dealt: dict[str, RoleItems] = {}
    for one in filled:
        held = one.held()
        _refuse_repeated(one, held)
        known = {item: of_one[item] for of_one in one.items if of_one is not None for item in of_one}
        owner = dict.fromkeys((item for groups in held for item in groups), one.pool.roles[0])
        if one.pool.is_shared:
            everyone = [(item, group, known.get(item)) for groups in held for item, group in groups.items()]
            owner = share_out(everyone, one.pool.roles, cfg.probe.shares, cfg.dataset.seed)
        for role in one.pool.roles:
            own = [{item: group for item, group in groups.items() if owner[item] == role} for groups in held]
            if one.pool.is_shared or one.pool.source.folder is not None:
                own = [_cut(groups, cuts(cfg.probe)[role], cfg.dataset.seed) for groups in own]
            dealt[role] = RoleItems(
                one.runs, tuple(own), {item: known[item] for of in own for item in of if item in known}
            )
    return dealt


def _cut(groups: Mapping[str, str], n: int | None, seed: int) -> dict[str, str]:
    kept = first_items(groups, n, seed)
    return {item: group for item, group in groups.items() if item in kept}


def _refuse_repeated(one: FilledPool, held: list[dict[str, str]]) -> None:
    seen: set[str] = set()
    for groups in held:
        for item in groups:
            if item in seen:
                raise DataError(
                    f"item {item} is in two splits of {one.pool.source}: one question would count twice; name one of "
                    "the splits"
                )
            seen.add(item)
