"""The store of finished cells: what a forward pass said of a prompt, found again by the content of the prompt.

A *cell* is one prompt's reading, and its states and lens readings if they were asked for. A folder belongs to one
context (model, precision, library versions: the caller's choice); within it, a cell is addressed by `cell_key`, never
by its place in a run. Several processes may write into one folder; none waits for another. Knows no model, data set or
record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from thinkgap.errors import StoreError
from thinkgap.scoring.engine import Scored
from thinkgap.store.atomic import disk_errors
from thinkgap.store.cell_rows import READING, cell_key, to_lenses, to_readings, to_table, where
from thinkgap.store.fingerprint import FINGERPRINT_FILE, JSON, check_fingerprint
from thinkgap.store.shards import (
    CellContents,
    context_digest,
    open_folder,
    read_shard,
    remove_shard,
    tell_foreign,
    write_shard,
)
from thinkgap.store.states import DTYPES, lost_states
from thinkgap.types import Prompt, Reading

log = logging.getLogger(__name__)

_WAY_OUT = "give this run another folder for its cells (paths.cells_dir=...), or delete this one"


class CellStore:
    """A folder of cells, opened for one run; only the index is held in memory.

    Open it with `CellStore.open`.
    """

    def __init__(self, folder: Path, context: Mapping[str, JSON], wanted: CellContents) -> None:
        self.folder, self.wanted = folder, wanted
        self._given, self._context = context, context_digest(context)
        self._index: dict[str, tuple[Path, int]] = {}

    @classmethod
    def open(cls, folder: Path | str, context: Mapping[str, JSON], wanted: CellContents | None = None) -> CellStore:
        """Open `folder`, or begin it, and index the cells that hold what is wanted.

        Shards that are damaged are removed with a warning, and so are what killed writers left an hour ago or earlier.
        State files are read whole, to compare their digests, if states are wanted.

        Args:
            folder: The cell folder.
            context: All that a cell depends on beside its prompt.
            wanted: What cells must hold; None asks for readings only.

        Raises:
            StoreError: The folder belongs to another context (the message names each differing field), or it cannot
                be written.
        """
        path = Path(folder)
        shards = open_folder(path, context, "cells", _WAY_OUT)
        store = cls(path, context, wanted or CellContents())
        tell_foreign(path, sum(not store._add(shard) for shard in shards))
        return store

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, prompt: Prompt) -> bool:
        return cell_key(prompt) in self._index

    def get(self, prompts: Sequence[Prompt]) -> list[Scored | None]:
        """The cells of `prompts`, in their order; None where there is none yet.

        Each holds what was asked for at `open` and no more: `states` `[S, d]` in the stored number type with S as in
        `wanted.names`, and at most `wanted.top_k` top tokens.
        """
        found: list[Scored | None] = [None] * len(prompts)
        places: dict[Path, list[tuple[int, int]]] = {}
        for position, prompt in enumerate(prompts):
            if (place := self._index.get(cell_key(prompt))) is not None:
                places.setdefault(place[0], []).append((place[1], position))
        for path, pairs in places.items():
            try:
                cells = self._read(path, [(row, prompts[position]) for row, position in pairs])
            except StoreError as error:
                self._drop(path, error)
                continue
            for (_, position), cell in zip(pairs, cells, strict=True):
                found[position] = cell
        return found

    def write(self, scored: Sequence[Scored]) -> Path | None:
        """Write those of `scored` that are not there yet as one shard, which is there whole or not at all.

        Returns:
            The shard's Parquet file; None if all were there.

        Raises:
            StoreError: The disk is full (earlier shards are intact), a value that cannot be stored, or a state that
                the number type cannot hold.
            ValueError: A cell that does not hold what the store was opened for.
        """
        new: dict[str, Scored] = {}
        for cell in scored:
            self._check(cell)
            if (key := cell_key(cell.prompt)) not in self._index:
                new.setdefault(key, cell)
        if not new:
            return None
        cells = list(new.values())
        prompts, readings, lenses = zip(*((cell.prompt, cell.reading, cell.lens) for cell in cells), strict=True)
        table = to_table(list(new), prompts, readings, lenses)
        if not (self.folder / FINGERPRINT_FILE).exists():
            # The folder was deleted while this run was at work.
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            check_fingerprint(self.folder, self._given, False, "cells", _WAY_OUT)
        path = write_shard(self.folder, table, self._states(cells), self.wanted, self._context).path
        self._index.update((key, (path, row)) for row, key in enumerate(new))
        return path

    def _add(self, path: Path) -> bool:
        """Index a shard's cells if they hold what is wanted; False if they are of another context."""
        try:
            found = read_shard(path, self._context, ["key"])
            if found is None:
                return False
            shard, table = found
            if not shard.contents.covers(self.wanted):
                return True
            if self.wanted.names:
                shard.check_states()
        except StoreError as error:
            self._drop(path, error)
            return True
        for row, key in enumerate(table.column("key").to_pylist()):
            self._index.setdefault(key, (path, row))
        return True

    def _drop(self, path: Path, error: StoreError) -> None:
        log.warning("%s: shard removed, its cells are computed again", error)
        with disk_errors(self.folder):
            remove_shard(path)
        self._index = {key: place for key, place in self._index.items() if place[0] != path}

    def _read(self, path: Path, asked: Sequence[tuple[int, Prompt]]) -> list[Scored]:
        rows = [row for row, _ in asked]
        found = read_shard(path, self._context, [*READING, *(["lens"] if self.wanted.lens else [])])
        assert found is not None, "a shard of this context became one of another under a name that tells its content"
        shard, table = found
        table = table.take(rows)
        lenses = to_lenses(table) if self.wanted.lens else [()] * len(rows)
        states = list(shard.gather(rows, self.wanted.names)) if self.wanted.names else [None] * len(rows)
        cells = zip((prompt for _, prompt in asked), to_readings(table), states, lenses, strict=True)
        return [
            Scored(prompt, self._cut(reading), state, tuple(map(self._cut, lens)))
            for prompt, reading, state, lens in cells
        ]

    def _cut(self, reading: Reading) -> Reading:
        # A run reads the same whether its cells were computed for it or for a run that asked for more.
        return replace(reading, top_tokens=reading.top_tokens[: self.wanted.top_k])

    def _check(self, cell: Scored) -> None:
        wanted, cell_name = self.wanted, where(cell.prompt)
        n_states = 0 if cell.states is None else len(cell.states)
        if n_states != len(wanted.names):
            raise ValueError(f"{cell_name}: {n_states} states, but the store was opened for {len(wanted.names)}")
        if cell.lens and not wanted.lens:
            raise ValueError(f"{cell_name}: {len(cell.lens)} lens readings, but the store was opened {wanted.lens=}")
        if any(len(reading.top_tokens) > wanted.top_k for reading in (cell.reading, *cell.lens)):
            raise ValueError(f"{cell_name}: more top tokens than the store was opened for ({wanted.top_k})")

    def _states(self, cells: Sequence[Scored]) -> Tensor | None:
        """States `[n, S, d]` in the wanted number type; None if none are wanted."""
        if not self.wanted.names:
            return None
        states = torch.stack([cell.states for cell in cells if cell.states is not None])
        kept = states.to(DTYPES[self.wanted.dtype].torch)
        if (lost := lost_states(states, kept)) is not None:
            wider = "bfloat16 or float32" if self.wanted.dtype == "float16" else "float32"
            raise StoreError(
                f"{where(cells[lost[0]].prompt)}: the state {self.wanted.names[lost[1]]} is beyond the range of "
                f"{self.wanted.dtype}; set evaluation.capture.dtype={wider}"
            )
        return kept
