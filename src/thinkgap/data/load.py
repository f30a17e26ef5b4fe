"""From a configured data set to its items: every row is read and accounted for.

Each row ends as an item, as a bad row with its reason, or in a count of what was filtered or not sampled. It does not
know columns, file formats or prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinkgap.data.adapter import Adapter
from thinkgap.data.images import check_image
from thinkgap.data.registry import ADAPTERS
from thinkgap.data.rows import BadRow, ParsedRows, parse_rows
from thinkgap.data.sample import stratified_sample
from thinkgap.data.source import Source, open_source
from thinkgap.errors import ConfigError, DataError, RowError, nearest
from thinkgap.schema import DatasetConfig, ImageFilter
from thinkgap.types import Item

_SHOWN = 5


@dataclass(frozen=True)
class LoadedDataset:
    """Items to measure, and what became of every other row."""

    items: tuple[Item, ...]
    bad: tuple[BadRow, ...]
    n_rows: int
    """Rows read; the denominator of the share of bad rows."""
    n_filtered: Mapping[str, int]
    """Sound rows left out, by reason."""
    notes: tuple[str, ...]
    """What a reader of the results should know, as sentences for console and manifest."""
    source: Mapping[str, Any]
    """Where the rows came from: path, split, config, and files with digests or the hub's revision."""


def load_dataset_items(cfg: DatasetConfig, unfit: Callable[[Item], str] | None = None) -> LoadedDataset:
    """Read the items that `cfg` describes.

    Args:
        cfg: the data set.
        unfit: why a run cannot use an item, empty if it can; such items are counted by reason and never sampled.

    Raises:
        ConfigError: An unknown adapter, subject or split, or a limit below 1.
        DataError: A source that cannot be read as the adapter expects, too many bad rows, or no items left.

    """
    adapter = _adapter(cfg)
    source = open_source(cfg, adapter)
    parsed = parse_rows(source.rows, adapter, cfg.split, cfg.duplicate_options)
    _check_share(parsed.bad, parsed.n_rows, cfg, "rows")
    items, n_filtered, notes = _apply_filters(parsed, adapter, cfg)
    if unfit is not None:
        reasons = [unfit(item) for item in items]
        n_filtered |= Counter(reason for reason in reasons if reason)
        items = [item for item, reason in zip(items, reasons, strict=True) if not reason]
    notes = [*_count_notes(parsed.n_rows, source, adapter, cfg), *parsed.notes, *notes]
    if cfg.limit is not None and cfg.limit > len(items):
        notes.append(f"dataset.limit {cfg.limit} is more than the {len(items)} items there are; all are kept")
    elif cfg.limit is not None:
        items = stratified_sample(items, cfg.limit, cfg.seed)
    n_sampled = len(items)
    items, unreadable = _check_images(items)
    _check_share(unreadable, n_sampled, cfg, "sampled items")
    bad = [*parsed.bad, *unreadable]
    if not items:
        counts = [f"{reason} removed {count:,}" for reason, count in n_filtered.items()] + [f"bad rows: {len(bad)}"]
        raise DataError(
            f"dataset {cfg.name} ({cfg.path}) has no items left of {parsed.n_rows:,} rows ({'; '.join(counts)}): "
            "loosen the filter, or give another dataset.path"
        )
    return LoadedDataset(tuple(items), tuple(bad), parsed.n_rows, n_filtered, tuple(notes), source.record)


def _adapter(cfg: DatasetConfig) -> Adapter:
    if cfg.name not in ADAPTERS:
        raise ConfigError(f"dataset.name {cfg.name!r} is no adapter{nearest(cfg.name, ADAPTERS)}")
    if cfg.limit is not None and cfg.limit < 1:
        raise ConfigError(f"dataset.limit is {cfg.limit}; it is at least 1, or null for all items")
    if not 0 <= cfg.max_bad <= 1:
        raise ConfigError(f"dataset.max_bad is {cfg.max_bad}; it is a share between 0 and 1")
    if cfg.subjects is not None and not cfg.subjects:
        raise ConfigError("dataset.subjects is empty; null keeps all subjects")
    adapter = ADAPTERS[cfg.name]
    if adapter.subjects:
        _check_subjects(cfg, adapter.subjects)
    return adapter


def _check_subjects(cfg: DatasetConfig, known: Sequence[str]) -> None:
    for subject in cfg.subjects or ():
        if subject not in known:
            raise ConfigError(f"dataset.subjects: {cfg.name} has no {subject!r}{nearest(subject, known)}")


def _check_share(bad: Sequence[BadRow], n: int, cfg: DatasetConfig, of_what: str) -> None:
    if not bad or len(bad) / n <= cfg.max_bad:
        return
    listed = "; ".join(f"{row.id}: {row.reason}" for row in bad[:_SHOWN])
    more = f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    raise DataError(
        f"dataset {cfg.name}: {len(bad):,} of {n:,} {of_what} are bad, more than dataset.max_bad={cfg.max_bad:g} "
        f"allows ({listed}{more}). Mend the source, or raise dataset.max_bad to skip them"
    )


def _apply_filters(
    parsed: ParsedRows, adapter: Adapter, cfg: DatasetConfig
) -> tuple[list[Item], dict[str, int], list[str]]:
    n_filtered = dict(parsed.n_filtered)
    items, notes = parsed.items, []
    if cfg.images is not ImageFilter.any:
        wanted = cfg.images is ImageFilter.only
        kept = [item for item in items if bool(item.images) == wanted]
        n_filtered[f"images: {cfg.images.value}"] = len(items) - len(kept)
        items = kept
    if cfg.subjects is not None:
        present = {item.subject for item in parsed.items}
        if not adapter.subjects:
            _check_subjects(cfg, sorted(present))
        if absent := [subject for subject in cfg.subjects if subject not in present]:
            notes.append(f"the source has no items of {', '.join(absent)}")
        kept = [item for item in items if item.subject in cfg.subjects]
        n_filtered["subjects"] = len(items) - len(kept)
        items = kept
    return items, n_filtered, notes


def _count_notes(n_rows: int, source: Source, adapter: Adapter, cfg: DatasetConfig) -> list[str]:
    published = adapter.published.get(cfg.split)
    if source.n_configs and cfg.split in adapter.published_per_config:
        published = adapter.published_per_config[cfg.split] * source.n_configs
    if published is None or n_rows == published:
        return []
    tail = f", {adapter.other_count}" if adapter.other_count else ""
    return [f"{n_rows:,} rows; the published {cfg.split} split has {published:,}{tail}"]


def _check_images(items: Sequence[Item]) -> tuple[list[Item], list[BadRow]]:
    good: list[Item] = []
    bad: list[BadRow] = []
    seen: set[str] = set()
    for item in items:
        try:
            for image in item.images:
                if image.sha256 not in seen:
                    check_image(image.load())
                    seen.add(image.sha256)
        except RowError as error:
            bad.append(BadRow(item.id, str(error)))
        else:
            good.append(item)
    return good, bad
