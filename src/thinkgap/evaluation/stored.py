"""Responses of earlier runs, found by folder or pattern, so that levels 2 and 3 need no model. Reads, never writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path

from thinkgap.errors import ConfigError
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.store import RESPONSES_FILE, check_unique, read_responses, to_analysed
from thinkgap.store.manifest import read_manifest


@dataclass(frozen=True)
class Stored:
    """The responses of finished runs, as they were read then."""

    rows: Sequence[Analysed]
    modes: tuple[str, ...]
    """In the order of the runs' settings."""
    files: tuple[Path, ...]


def stored_runs(responses: str) -> Stored | None:
    """The runs that `responses` names; None if it names a file of another format.

    Args:
        responses: the folder of a run, its `responses.parquet`, or a pattern such as `outputs/evaluate/*` of which
            folders without responses are left out.

    Raises:
        ConfigError: a folder without responses, or a pattern without a run.
        StoreError: a damaged file, or two runs with responses of one key.
    """
    path = Path(responses).expanduser()
    if has_magic(responses) and not path.exists():
        found = Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))
        files = [file for one in sorted(found) if (file := one / RESPONSES_FILE).is_file()]
        if not files:
            raise ConfigError(f"responses={responses}: no folder of this pattern has a {RESPONSES_FILE}")
    elif path.is_dir():
        files = [path / RESPONSES_FILE]
        if not files[0].is_file():
            raise ConfigError(
                f"responses={responses}: the folder has no {RESPONSES_FILE}; give the folder of a finished "
                "evaluation=no_thinking run, or a file of responses"
            )
    elif path.name == RESPONSES_FILE and path.is_file():
        files = [path]
    else:
        return None
    rows = [row for file in files for row in to_analysed(read_responses(file))]
    check_unique(sorted(row.key for row in rows), where=f"responses={responses}: ")
    modes = [mode for file in files for mode in _modes(file.parent)]
    return Stored(rows, tuple(dict.fromkeys([*modes, *(row.answered.mode for row in rows)])), tuple(files))


def _modes(folder: Path) -> list[str]:
    """Modes in the order that a run was asked for; none if the file stands alone."""
    if not (folder / "manifest.json").is_file():
        return []
    return list(read_manifest(folder).get("modes", ()))
