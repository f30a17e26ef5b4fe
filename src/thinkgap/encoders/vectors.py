"""The store of vectors: what an encoder made of a text, found again by the content of the text.

A folder belongs to one context (weights, precision, pooling, length, library versions: the caller's choice); within
it, a text is addressed by its key. Vectors lie in memory-mapped files, only the index is held in memory. Several
processes may write into one folder; none waits for another. Knows no encoder, prompt or text.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import torch

from thinkgap.errors import StoreError
from thinkgap.store.atomic import disk_errors
from thinkgap.store.fingerprint import FINGERPRINT_FILE, JSON, check_fingerprint
from thinkgap.store.shards import (
    CellContents,
    Shard,
    context_digest,
    open_folder,
    read_shard,
    remove_shard,
    tell_foreign,
    write_shard,
)

log = logging.getLogger(__name__)

# A row for each vector; the rows of one text follow each other.
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary(32), nullable=False),
        pa.field("n_tokens", pa.int32(), nullable=False),
        pa.field("weight", pa.int32(), nullable=False),
    ]
)
_STATE = "vector"
_CONTENTS = CellContents((_STATE,), "float32")
_WAY_OUT = "give this run another folder for its vectors (paths.cells_dir=...), or delete this one"


@dataclass(frozen=True)
class TextVectors:
    """What an encoder made of one text."""

    n_tokens: int
    """Of the text before anything was cut; prompt and special tokens included."""
    weights: tuple[int, ...]
    """Tokens of the text itself in each of its W windows."""
    vectors: np.ndarray
    """`[W, d]`, float32, of length 1; the first is of the text's beginning."""


@dataclass(frozen=True)
class _Rows:
    """A shard, and the columns of its rows that are held in memory."""

    shard: Shard
    n_tokens: np.ndarray
    weights: np.ndarray


class VectorStore:
    """A folder of vectors, opened for one run. Open it with `VectorStore.open`."""

    def __init__(self, folder: Path, context: Mapping[str, JSON]) -> None:
        self.folder = folder
        self._given, self._context = context, context_digest(context, SCHEMA)
        self._shards: list[_Rows] = []
        self._index: dict[bytes, tuple[int, int, int]] = {}
        """Key -> number of the shard, first row, number of rows."""

    @classmethod
    def open(cls, folder: Path | str, context: Mapping[str, JSON]) -> Self:
        """Open `folder`, or begin it, and index its vectors.

        Shards that are damaged are removed with a warning, and so are what killed writers left an hour ago or earlier.
        Files are read whole, to compare their digests.

        Args:
            folder: The folder.
            context: All that a vector depends on beside what the key is made of.

        Raises:
            StoreError: The folder belongs to another context (the message names each differing field), or it cannot
                be written.
        """
        path = Path(folder)
        shards = open_folder(path, context, "vectors", _WAY_OUT)
        store = cls(path, context)
        tell_foreign(path, sum(not store._add(shard) for shard in shards))
        return store

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._index)

    def __contains__(self, key: bytes) -> bool:
        return key in self._index

    def place(self, key: bytes) -> tuple[int, int]:
        """Where a text lies, as something to sort by: those that sort together are read together.

        Raises:
            KeyError: it is not there.
        """
        number, row, _ = self._index[key]
        return number, row

    def get(self, keys: Sequence[bytes]) -> list[TextVectors | None]:
        """The vectors of some texts, in their order; None where there are none, or no longer."""
        found: list[TextVectors | None] = [None] * len(keys)
        places: dict[int, list[int]] = {}
        for position, key in enumerate(keys):
            if (place := self._index.get(key)) is not None:
                places.setdefault(place[0], []).append(position)
        for number, positions in places.items():
            held = self._shards[number]
            spans = [self._index[keys[position]][1:] for position in positions]
            rows = [row for first, n in spans for row in range(first, first + n)]
            try:
                vectors = held.shard.gather(rows, (_STATE,))[:, 0].numpy()
            except StoreError as error:
                self._drop(held.shard.path, error)
                continue
            start = 0
            for position, (first, n) in zip(positions, spans, strict=True):
                weights = tuple(held.weights[first : first + n].tolist())
                found[position] = TextVectors(int(held.n_tokens[first]), weights, vectors[start : start + n])
                start += n
        return found

    def write(self, texts: Mapping[bytes, TextVectors]) -> Path | None:
        """Write those of `texts` that are not there yet as one shard, which is there whole or not at all.

        Args:
            texts: 32 bytes of key -> vectors, all of one width.

        Returns:
            The shard's Parquet file; None if all were there.

        Raises:
            StoreError: The disk is full (earlier shards are intact), or the folder cannot be written.
        """
        new = {key: text for key, text in texts.items() if key not in self._index}
        if not new:
            return None
        table = _to_table(new)
        vectors = torch.from_numpy(
            np.concatenate([text.vectors for text in new.values()]).astype(np.float32, copy=False)
        )
        if not (self.folder / FINGERPRINT_FILE).exists():
            # The folder was deleted while this run was at work.
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            check_fingerprint(self.folder, self._given, False, "vectors", _WAY_OUT)
        shard = write_shard(self.folder, table, vectors[:, None], _CONTENTS, self._context)
        self._enter(shard, table)
        return shard.path

    def _add(self, path: Path) -> bool:
        """Index a shard; False if it is of another context."""
        try:
            found = read_shard(path, self._context, SCHEMA.names)
            if found is None:
                return False
            found[0].check_states()
        except StoreError as error:
            self._drop(path, error)
            return True
        self._enter(*found)
        return True

    def _enter(self, shard: Shard, table: pa.Table) -> None:
        number = len(self._shards)
        n_tokens, weights = (table.column(name).to_numpy() for name in ("n_tokens", "weight"))
        self._shards.append(_Rows(shard, n_tokens, weights))
        first, keys = 0, table.column("key").to_pylist()
        for row, key in enumerate(keys):
            if row + 1 == len(keys) or keys[row + 1] != key:
                # Another process may have written the same text; the first one that was found stays.
                self._index.setdefault(key, (number, first, row + 1 - first))
                first = row + 1

    def _drop(self, path: Path, error: StoreError) -> None:
        log.warning("%s: shard removed, its vectors are computed again", error)
        with disk_errors(self.folder):
            remove_shard(path)
        gone = {number for number, held in enumerate(self._shards) if held.shard.path == path}
        self._index = {key: place for key, place in self._index.items() if place[0] not in gone}


def _to_table(texts: Mapping[bytes, TextVectors]) -> pa.Table:
    """A row for each vector, with `SCHEMA`."""
    rows = [(key, text.n_tokens, weight) for key, text in texts.items() for weight in text.weights]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
