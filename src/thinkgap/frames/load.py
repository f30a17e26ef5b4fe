"""`thinkgap.load`: one or several finished runs as tidy data frames, each read when it is first asked for.

The columns are described in `docs/analysis.md`. Loads no model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thinkgap.frames.columns import PARTS
from thinkgap.frames.folders import Manifest, check_run, folders_of, is_pattern, names_of, refuse_mixed_models
from thinkgap.frames.long import labels_long, layers_long
from thinkgap.frames.read import encoded, read_part, to_frame, with_run
from thinkgap.store.fingerprint import flat

if TYPE_CHECKING:
    import pandas as pd


def load(run: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, allow_mixed_models: bool = False) -> Runs:
    """A finished run, or several, as data frames.

    Args:
        run: the folder of a run (`hydra.run.dir`), a pattern of folders (`outputs/*`, `**` for any depth), or a list of
            folders and patterns. A pattern and a list give every frame a first column `run`; a single folder does not.
        allow_mixed_models: take runs that call different models (another revision or digest of weights, random weights,
            quantisation) by one name.

    Returns:
        The frames. Folders, manifests and the columns of all files are checked at once, rows when a frame is first
        used.

    Raises:
        StoreError: no such folder, no run or a half-written one in it, a damaged file, one of another version of
            thinkgap (which is named), or different models of one name.
    """
    single = isinstance(run, str | os.PathLike)
    given: list[str | os.PathLike[str]] = [run] if isinstance(run, str | os.PathLike) else list(run)
    folders = folders_of(given)
    manifests = dict(zip(names_of(folders), map(check_run, folders), strict=True))
    if not allow_mixed_models:
        refuse_mixed_models(manifests)
    several = not single or is_pattern(Path(os.fspath(given[0])).expanduser())
    return Runs(dict(zip(manifests, folders, strict=True)), manifests, several)


class Runs:
    """Frames of finished runs; a part that no run has is an empty frame with the same columns. Made by `load`."""

    def __init__(self, folders: Mapping[str, Path], manifests: Mapping[str, Manifest], several: bool) -> None:
        self.folders: dict[str, Path] = dict(folders)
        """Run -> its folder."""
        self.manifests: dict[str, Manifest] = dict(manifests)
        """Run -> its manifest; empty for a folder without one."""
        self._several = several

    def __repr__(self) -> str:
        there = [name for name, part in PARTS.items() if any((path / part.file).exists() for path in self._paths)]
        runs = ", ".join(self.folders) if len(self.folders) <= 3 else f"{len(self.folders)} runs"
        return f"<thinkgap.load: {runs}; {', '.join(there)}>"

    @property
    def manifest(self) -> Manifest:
        """The manifest of a single run; with a column `run`, run -> manifest."""
        return self.manifests if self._several else next(iter(self.manifests.values()))

    @cached_property
    def settings(self) -> pd.DataFrame:
        """The settings of each run as it was composed, a row each: `setting` (dotted), `value`."""
        import pandas as pd

        rows = [
            (run, setting, value)
            for run, manifest in self.manifests.items()
            for setting, value in sorted(flat(manifest.get("config") or {}).items())
            if setting
        ]
        frame = pd.DataFrame(rows, columns=["run", "setting", "value"])
        return frame if self._several else frame.drop(columns="run")

    @cached_property
    def records(self) -> pd.DataFrame:
        """A row per item, presentation, condition and readout; columns of records.parquet."""
        return to_frame(self._records)

    @cached_property
    def labels(self) -> pd.DataFrame:
        """A row per record and slot: `frames.long.LABEL_COLUMNS`."""
        return to_frame(labels_long(self._records))

    @cached_property
    def layers(self) -> pd.DataFrame:
        """A row per record, layer and slot: `frames.long.LAYER_COLUMNS`."""
        return to_frame(layers_long(self._records))

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row per data set and item: texts, options, right answer, further fields as a dict in `meta`."""
        return to_frame(self._table("items"))

    @cached_property
    def replies(self) -> pd.DataFrame:
        """A row per generated reply: text, how it ended, how it was read."""
        return to_frame(self._table("replies"))

    @cached_property
    def likelihoods(self) -> pd.DataFrame:
        """A row per item, presentation and condition: scores of every option string."""
        return to_frame(self._table("likelihoods"))

    @cached_property
    def responses(self) -> pd.DataFrame:
        """A row per response of a no-thinking run; columns of responses.parquet."""
        return to_frame(self._table("responses"))

    @cached_property
    def relevance(self) -> pd.DataFrame:
        """A row per response and encoder."""
        return to_frame(self._table("relevance"))

    @cached_property
    def judgements(self) -> pd.DataFrame:
        """A row per response and judge."""
        return to_frame(self._table("judgements"))

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row per probe, condition that is read, and test row."""
        return to_frame(self._table("predictions"))

    @property
    def _paths(self) -> list[Path]:
        return list(self.folders.values())

    @cached_property
    def _records(self) -> pa.Table:
        return self._table("records")

    def _table(self, name: str) -> pa.Table:
        part = PARTS[name]
        tables: list[Any] = []
        for run, folder in self.folders.items():
            path = folder / part.file
            table = read_part(path, part) if path.exists() else encoded(part.schema.empty_table(), part.schema)
            tables.append(with_run(table, run) if self._several else table)
        return pa.concat_tables(tables)
