"""What the pools of a training hold: runs that are found, made or given, and which role gets which of their items.

Knows items, groups and folders; reads no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes.capture_run import capture_of
from probes.captures import Captures
from probes.roles import Pool, cuts
from probes.runs import Run, items_of_run, open_run
from probes.splits import first_items, share_out
from thinkgap.data import load_dataset_items
from thinkgap.errors import ConfigError, DataError, StoreError
from thinkgap.schema import TrainConfig
from thinkgap.types import Item


@dataclass(frozen=True)
class FilledPool:
    """A pool with its runs."""

    pool: Pool
    runs: tuple[Run, ...]
    """One for each split, or the one that was given."""
    items: tuple[Mapping[str, Item] | None, ...]
    """Of each run, by id; None if the data set of a given run is not at hand."""


@dataclass(frozen=True)
class RoleItems:
    """The items of one role."""

    runs: tuple[Run, ...]
    groups: tuple[Mapping[str, str], ...]
    """Of each run, the items that the role has: id -> group."""
    items: Mapping[str, Item]
    """Those that are at hand, by id."""


def fill_pools(cfg: TrainConfig, pools: list[Pool], world: Any = None) -> list[FilledPool]:
    """Open the runs that are given, and find or make those that the model reads.

    Raises:
        ThinkgapError: a folder that is no run with states, data that cannot be read, or what a capture raises.
    """
    given = {pool.source: _given(pool) for pool in pools if pool.source.folder is not None}
    captures = Captures({run.folder: run.manifest["model"] for run in given.values()}, world, cfg.probe.state)
    filled = []
    for pool in pools:
        if pool.source in given:
            run = given[pool.source]
            items = items_of_run(f"probe.{pool.roles[0]}_features", run.manifest)
            filled.append(FilledPool(pool, (run,), (items,)))
            continue
        read = []
        for dataset in pool.datasets(cfg):
            try:
                loaded = load_dataset_items(dataset)
            except (ConfigError, DataError) as error:
                names = ", ".join(f"probe.{role}" for role in pool.roles)
                raise type(error)(f"{names} ({pool.source}): {error}") from error
            read.append((dataset, {item.id: item for item in loaded.items}))
        runs = tuple(captures.get(capture_of(cfg, dataset), list(items.values())) for dataset, items in read)
        filled.append(FilledPool(pool, runs, tuple(items for _, items in read)))
    return filled


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
        held = [dict(zip(run.rows["item_id"], run.rows["group_id"], strict=True)) for run in one.runs]
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
    seen: dict[str, Run] = {}
    for run, groups in zip(one.runs, held, strict=True):
        for item in groups:
            if item in seen:
                raise DataError(
                    f"item {item} is in two splits of {one.pool.source}: one question would count twice; name one of "
                    "the splits"
                )
            seen[item] = run
