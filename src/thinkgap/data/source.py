"""Rows of a data set, from the hub, from local Parquet or JSONL files, or generated.

Image bytes stay in the memory-mapped Arrow file and are read again when a prompt needs them. It does not know what
columns mean or which rows are sound.
"""

from __future__ import annotations

import glob
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgap.data.adapter import Adapter, Row
from thinkgap.data.columns import arrow_kinds, check_columns, value_kinds
from thinkgap.data.jsonlines import read_jsonl
from thinkgap.data.locate import find_files, looks_local
from thinkgap.errors import ConfigError, DataError
from thinkgap.hub import offline_if_unreachable
from thinkgap.schema import DatasetConfig, GenerationConfig

if TYPE_CHECKING:
    import datasets

GENERATED = "generated"
"""Path of a data set that makes its own items."""
_COMMIT = re.compile(r"@([0-9a-f]{40})/")


@dataclass(frozen=True)
class Source:
    """Rows in the source's order, and where they came from."""

    rows: Iterable[Row]
    record: Mapping[str, Any]
    """For the manifest: path, split, config, and files with digests or the hub's revision."""
    n_configs: int = 0
    """How many per-subject configurations were read; 0 if the set is not kept so."""


def open_source(cfg: DatasetConfig, adapter: Adapter) -> Source:
    """Find the rows of `cfg.split` and check that the columns are the adapter's.

    Raises:
        DataError: No such file, folder, split or hub data set, or a column that is missing or of another kind.
        ConfigError: A path for a generated set, or a setting of generation that this set has not.

    """
    record: dict[str, Any] = {"path": cfg.path, "split": cfg.split, "config": cfg.config}
    _check_generation(cfg, adapter)
    if adapter.generate is not None and (cfg.path == GENERATED or not looks_local(cfg.path)):
        if cfg.path != GENERATED:
            raise ConfigError(
                f"dataset {adapter.name} makes its own items: dataset.path is '{GENERATED}', or a file or folder "
                f"with its columns, not {cfg.path!r}"
            )
        settings = {name: getattr(cfg.generation, name) for name in adapter.generation}
        record |= {"seed": cfg.seed} | ({"generation": settings} if settings else {})
        return Source((Row(values) for values in adapter.generate(cfg)), record)
    if looks_local(cfg.path):
        files, n_configs = _local_files(cfg, adapter)
        record["files"] = [{"path": str(file), "sha256": _sha256(file)} for file in files]
        root = Path(cfg.image_root).expanduser() if cfg.image_root is not None else None
        rows = _file_rows(files, adapter)
        return Source(rows if root is None else (replace(row, image_root=root) for row in rows), record, n_configs)
    return _hub_source(cfg, adapter, record)


def _check_generation(cfg: DatasetConfig, adapter: Adapter) -> None:
    """Refuse a setting that would change nothing."""
    defaults = GenerationConfig()
    for name in (field.name for field in fields(GenerationConfig)):
        if getattr(cfg.generation, name) == getattr(defaults, name):
            continue
        if cfg.path != GENERATED:
            raise ConfigError(f"dataset.generation.{name} is set, and {cfg.path} is read as it is: leave it out")
        if name not in adapter.generation:
            known = ", ".join(adapter.generation) or "none"
            raise ConfigError(
                f"dataset.generation.{name} is set, and {adapter.name} has no such setting (it has: {known})"
            )


def _local_files(cfg: DatasetConfig, adapter: Adapter) -> tuple[list[Path], int]:
    if not adapter.config_per_subject or cfg.config is not None:
        files = find_files(cfg.path, cfg.split, cfg.config)
        return files, int(adapter.config_per_subject and cfg.config in files[0].parts)
    try:
        return find_files(cfg.path, cfg.split), 0
    except DataError:
        subjects = cfg.subjects or adapter.subjects
        if not any((Path(cfg.path).expanduser() / subject).is_dir() for subject in subjects):
            raise
    return [file for subject in subjects for file in find_files(cfg.path, cfg.split, subject)], len(subjects)


def _file_rows(files: Sequence[Path], adapter: Adapter) -> Iterable[Row]:
    if files[0].suffix == ".jsonl":
        rows = [row for file in files for row in read_jsonl(file)]
        if kinds := value_kinds(row.values for row in rows):  # without one object the rows' problems say more
            check_columns(adapter, kinds, str(files[0]))
        return rows
    import pyarrow.parquet as pq

    for file in files:
        try:
            schema = pq.read_schema(file)
        except Exception as error:  # pyarrow raises ArrowInvalid, OSError, ... by what is broken
            raise DataError(f"{file} is no readable Parquet file: {error}") from error
        check_columns(adapter, arrow_kinds(schema), str(file))
    names = [glob.escape(str(file)) for file in files]  # `datasets` reads a path with brackets as a pattern
    rows = _load("parquet", f"{files[0]} cannot be loaded", data_files=names, split="train")
    return _dataset_rows(rows, adapter, files[0].parent)


def _hub_source(cfg: DatasetConfig, adapter: Adapter, record: dict[str, Any]) -> Source:
    per_subject = adapter.config_per_subject and cfg.config is None
    configs = list(cfg.subjects or adapter.subjects) if per_subject else [cfg.config]
    parts = []
    for config in configs:
        where = f"{cfg.path} ({config or 'default'}, {cfg.split})"
        complaint = (
            f"hub data set {where} cannot be loaded, and no local path has that name; without a network set "
            f"dataset.path to a local folder with {cfg.split}.parquet"
        )
        part = _load(cfg.path, complaint, name=config, split=cfg.split, revision=cfg.revision)
        schema = part.features.arrow_schema
        check_columns(adapter, arrow_kinds(schema), where)
        parts.append(part)
    commits = {
        match.group(1) for part in parts for match in map(_COMMIT.search, part.download_checksums or {}) if match
    }
    record["revision"] = ", ".join(sorted(commits)) or cfg.revision
    record["fingerprint"] = [part._fingerprint for part in parts]
    rows = (row for part in parts for row in _dataset_rows(part, adapter, None))
    return Source(rows, record, len(configs) if adapter.config_per_subject else 0)


def _load(path: str, complaint: str, **arguments: Any) -> datasets.Dataset:
    import datasets

    try:
        with _quiet():
            offline_if_unreachable()
            loaded = datasets.load_dataset(path, **arguments)
    except Exception as error:  # network, permission, unknown split, broken file: a dozen unrelated classes
        raise DataError(f"{complaint}: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, datasets.Dataset):
        raise DataError(f"{complaint}: it is a {type(loaded).__name__}, not one split")
    for name, feature in loaded.features.items():
        if isinstance(feature, datasets.Image):
            loaded = loaded.cast_column(name, datasets.Image(decode=False))
    return loaded


def _dataset_rows(dataset: datasets.Dataset, adapter: Adapter, folder: Path | None) -> Iterator[Row]:
    if not adapter.all_columns:
        wanted = {*adapter.columns, *adapter.optional}
        dataset = dataset.select_columns([name for name in dataset.column_names if name in wanted])
    single: dict[str, datasets.Dataset] = {}

    def cell(index: int, column: str) -> object:
        if column not in single:
            single[column] = dataset.select_columns([column])
        return single[column][index][column]

    done = 0
    try:
        for index, values in enumerate(dataset):
            yield Row(dict(values), folder, partial(cell, index))
            done += 1
    except UnicodeDecodeError:  # Parquet does not check texts; one that is no UTF-8 costs its row and no other
        for index in range(done, len(dataset)):
            try:
                row = Row(dict(dataset[index]), folder, partial(cell, index))
            except UnicodeDecodeError as error:
                row = Row({}, folder, problem=f"row {index} holds a text that is not UTF-8: {error.reason}")
            yield row


@contextmanager
def _quiet() -> Iterator[None]:
    """Progress bars of `datasets` only where someone watches a terminal."""
    import datasets

    if sys.stderr.isatty() or not datasets.is_progress_bar_enabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
