"""Which files hold a split: from a file, or from a folder laid out in one of the usual ways.

It knows names only and opens nothing. What a path that names nothing on disk means is decided in `looks_local`.
"""

from __future__ import annotations

import re
from pathlib import Path

from thinkgap.errors import DataError
from thinkgap.home import expanded, is_there

_FORMATS = (".parquet", ".jsonl")
# `org/set-v1.5` is a hub id, so only suffixes that data files have make a path local.
_FILE_SUFFIXES = (*_FORMATS, ".json", ".ndjson", ".csv", ".tsv", ".arrow", ".txt", ".gz", ".zip", ".xlsx")
_SHARD = re.compile(r"-(\d+)-of-(\d+)")
_LISTED = 20


class SplitNotFound(DataError):
    """A folder that is there and has no such split."""


def looks_local(path: str) -> bool:
    """Whether `path` means the disk: it exists, starts with `.`, `/` or `~`, has a file suffix, or is too deep for a
    hub id. Such a path is never looked up on the hub, so that a typo is an error and not a download.
    """
    return (
        is_there(path)
        or path.startswith((".", "/", "~"))
        or Path(path).is_absolute()
        or path.lower().endswith(_FILE_SUFFIXES)
        or path.count("/") > 1
    )


def find_files(path: str, split: str, config: str | None = None) -> list[Path]:
    """The file or the ordered shards that hold a split.

    In a folder these are tried in turn, Parquet before JSONL: `{split}.parquet`, `{split}.jsonl`,
    `{split}-*-of-*.parquet`, `{split}-{n}.parquet`, `{split}/*.parquet`; each under `{config}/` first if there is a
    configuration, then in the folder itself, then under `data/`.

    Raises:
        SplitNotFound: The folder has no such split.
        DataError: Nothing there, an unknown format, or a missing shard.

    """
    root = expanded(path)
    if root.is_file():
        if root.suffix not in _FORMATS:
            raise DataError(f"{path}: a data file is .parquet or .jsonl, not {root.suffix or 'without a suffix'}")
        return [root]
    if not root.is_dir():
        raise DataError(f"dataset.path {path} does not exist (it looks like a local path, so the hub was not asked)")
    prefixes = [f"{config}/", f"data/{config}/"] if config else []
    prefixes += ["", "data/"]
    stems = [f"{split}{suffix}" for suffix in _FORMATS]
    stems += [f"{split}-*-of-*.parquet", f"{split}-[0-9]*.parquet", f"{split}/*.parquet"]
    for prefix in prefixes:
        for stem in stems:
            folder, _, name = f"{prefix}{stem}".rpartition("/")
            files = sorted(file for file in (root / folder).glob(name) if file.is_file())
            if files:
                _check_shards(files)
                return files
    looked_for = ", ".join(f"{prefix}{stem}" for prefix in prefixes for stem in stems)
    raise SplitNotFound(f"{path} has no split {split!r}: looked for {looked_for}; the folder has {_listing(root)}")


def _check_shards(files: list[Path]) -> None:
    numbers = [match.groups() for file in files if (match := _SHARD.search(file.name))]
    if not numbers:
        return
    have = [int(number) for number, _ in numbers]
    totals = {int(total) for _, total in numbers}
    if len(totals) > 1:
        raise DataError(f"{files[0].parent} mixes shards of several versions: {', '.join(f.name for f in files)}")
    missing = sorted(set(range(totals.pop())) - set(have))
    if missing or len(have) != len(set(have)):
        what = f"lacks shard(s) {missing}" if missing else "has a shard twice"
        raise DataError(f"{files[0].parent} {what}: {', '.join(f.name for f in files)}")


def _listing(root: Path) -> str:
    names = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(names[:_LISTED]) or "no files") + more
