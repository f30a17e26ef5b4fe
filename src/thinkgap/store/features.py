"""Hidden states of finished cells for probes: any prompts, in any order, any layers, without loading the rest.

Reads a cell folder and never changes it. States are found by the prompt's digest, never by position; knows no model and
no probe.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from thinkgap.errors import StoreError, nearest
from thinkgap.store.fingerprint import read_fingerprint
from thinkgap.store.manifest import read_manifest
from thinkgap.store.records import read_run
from thinkgap.store.shards import Shard, context_digest, read_shard, shard_paths
from thinkgap.store.states import DTYPES

log = logging.getLogger(__name__)

ROWS = ("item_id", "presentation", "condition", "group_id", "split", "gold_slot", "pred_slot", "k", "prompt_sha256")
"""Columns of `RunFeatures.rows`, as in records.parquet."""
_SHOWN = 6
_CAPTURE = "run the evaluation with evaluation.capture.enabled=true to keep states"


class Features:
    """The states in a cell folder; only the index is held in memory.

    Open it with `Features.open`.
    """

    def __init__(self, folder: Path, dtype: str, d: int) -> None:
        self.folder = folder
        self.dtype = dtype
        """float16, bfloat16 or float32."""
        self.d = d
        self.verify = True
        """Whether each state file is compared with its digest before it is first read from."""
        self._captured: dict[tuple[str, ...], dict[str, tuple[Shard, int]]] = {}
        self._verified: set[Path] = set()

    @classmethod
    def open(cls, folder: Path | str, dtype: str | None = None, *, verify: bool = True) -> Features:
        """Index the states in `folder`; a shard that is cut short is skipped with a warning.

        Args:
            folder: A cell folder.
            dtype: Which states to use if the folder holds several number types.
            verify: Whether each state file is compared with its digest before it is first read from, which reads it
                whole once.

        Raises:
            StoreError: No cell folder, no states in it, or several number types and none chosen.
        """
        path = Path(folder)
        context = context_digest(read_fingerprint(path, "give the folder of a run's cells"))
        found = [one for shard in shard_paths(path) if (one := _readable(shard, context)) is not None]
        dtypes = sorted({shard.contents.dtype for shard, _ in found})
        if not found or (dtype is not None and dtype not in dtypes):
            held = f"; it holds {' and '.join(dtypes)}" if dtypes else ""
            raise StoreError(f"{path} holds no {dtype + ' ' if dtype else ''}states{held}; {_CAPTURE}")
        if dtype is None and len(dtypes) > 1:
            raise StoreError(f"{path} holds states as {' and as '.join(dtypes)}; choose one with dtype=...")
        chosen = [(shard, digests) for shard, digests in found if shard.contents.dtype == (dtype or dtypes[0])]
        features = cls(path, dtype or dtypes[0], chosen[0][0].d)
        features.verify = verify
        for shard, digests in chosen:
            index = features._captured.setdefault(shard.contents.names, {})
            for row, digest in enumerate(digests):
                index.setdefault(digest, (shard, row))
        return features

    @property
    def names(self) -> tuple[str, ...]:
        """All state names in the folder, from the first layer to the last."""
        return tuple(sorted({name for names in self._captured for name in names}, key=_depth))

    def states(self, prompt_sha256s: Sequence[str], names: Sequence[str] | None = None) -> Tensor:
        """States of the given prompts, copied from the memory maps.

        Args:
            prompt_sha256s: `n` prompt digests, in any order, repeated or not.
            names: `S` state names, in any order; None is `names`.

        Returns:
            `[n, S, d]` in the stored number type, in the orders given.

        Raises:
            StoreError: An unknown name, prompts that are not there with these states (how many, and the first), or a
                state file that was damaged.
        """
        asked = self._asked(names)
        by_shard: dict[Path, tuple[Shard, list[tuple[int, int]]]] = {}
        for position, (shard, row) in enumerate(self._find(prompt_sha256s, asked)):
            by_shard.setdefault(shard.path, (shard, []))[1].append((row, position))
        states = torch.empty(len(prompt_sha256s), len(asked), self.d, dtype=DTYPES[self.dtype].torch)
        for shard, pairs in by_shard.values():
            self._check(shard)
            # In the order of the file, for disks that are read ahead.
            rows, positions = zip(*sorted(pairs), strict=True)
            states[list(positions)] = shard.gather(rows, asked)
        return states

    def require(self, prompt_sha256s: Sequence[str], names: Sequence[str] | None = None) -> None:
        """Require that the states of the given prompts are there and undamaged, without copying them; see `states`.

        Raises:
            StoreError: What `states` would raise.
        """
        for shard, _ in self._find(prompt_sha256s, self._asked(names)):
            self._check(shard)

    def _asked(self, names: Sequence[str] | None) -> tuple[str, ...]:
        held = self.names
        asked = held if names is None else tuple(names)
        for name in asked:
            if name not in held:
                raise StoreError(f"{self.folder} holds no state '{name}'{nearest(name, held)}")
        return asked

    def _check(self, shard: Shard) -> None:
        if self.verify and shard.path not in self._verified:
            shard.check_states()
            self._verified.add(shard.path)

    def _find(self, digests: Sequence[str], names: tuple[str, ...]) -> list[tuple[Shard, int]]:
        indexes = [index for captured, index in self._captured.items() if set(names) <= set(captured)]
        places, missing = [], []
        for digest in digests:
            place = next((index[digest] for index in indexes if digest in index), None)
            places.append(place) if place is not None else missing.append(digest)
        if missing:
            first = missing[0]
            others = [_shown(captured) for captured, index in self._captured.items() if first in index]
            held = f", of which it holds {' and '.join(others)}" if others else ""
            raise StoreError(
                f"{self.folder} lacks {_shown(names)} of {len(missing)} of {len(digests)} prompts; the first is "
                f"{first}{held}. Choose others with names=..., or {_CAPTURE}"
            )
        return places


@dataclass(frozen=True)
class RunFeatures:
    """The rows of a run and the state of each row's prompt."""

    rows: pa.Table
    """`n` rows with the columns `ROWS`, in the order of records.parquet."""
    names: tuple[str, ...]
    """What each of the `S` states is."""
    states: Tensor
    """`[n, S, d]`"""


def features_of_run(
    run_dir: Path | str,
    names: Sequence[str] | None = None,
    condition: str | None = None,
    *,
    readout: str = "native",
    dtype: str | None = None,
) -> RunFeatures:
    """Rows of a finished run with their states, joined by prompt digest.

    The manifest's `cells` is the run's cell folder, absolute or relative to the run's folder, `states` and
    `state_dtype` are what the run captured.

    Args:
        run_dir: The run's folder.
        names: State names; None is what the run captured.
        condition: Only rows of this condition; None is all.
        readout: Only rows of this readout, so that a prompt is not repeated for each.
        dtype: Number type of the states; None is the run's own.

    Raises:
        StoreError: An unfinished run, one without cells, no such rows, or what `Features` raises.
    """
    rows = read_run(run_dir)
    for column, value in (("readout", readout), ("condition", condition)):
        if value is not None:
            held = set(rows.column(column).to_pylist())
            if value not in held:
                raise StoreError(f"{run_dir} has no rows with {column} '{value}'{nearest(value, held)}")
            rows = rows.filter(pc.equal(rows.column(column), value))  # pyright: ignore[reportAttributeAccessIssue]
    manifest = read_manifest(Path(run_dir))
    cells = manifest.get("cells")
    if not cells:
        raise StoreError(f"{run_dir} kept no cells; {_CAPTURE}")
    captured = manifest.get("states")
    features = Features.open(Path(run_dir) / cells, dtype or (manifest.get("state_dtype") if captured else None))
    asked = tuple(names if names is not None else captured or features.names)
    states = features.states(rows.column("prompt_sha256").to_pylist(), asked)
    return RunFeatures(rows.select(ROWS).replace_schema_metadata(None), asked, states)


def _readable(path: Path, context: str) -> tuple[Shard, list[str]] | None:
    """A shard with states and the prompt digests of its rows; None without states, if damaged or foreign."""
    try:
        found = read_shard(path, context, ["prompt_sha256"])
        if found is None or not found[0].contents.names:
            return None
        found[0].states()
    except StoreError as error:
        log.warning("%s: shard skipped", error)
        return None
    return found[0], found[1].column("prompt_sha256").to_pylist()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _SHOWN else f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def _depth(name: str) -> tuple[int, int, str]:
    kind, _, number = name.partition("_")
    if kind == "layer" and number.isdigit():
        return 1, int(number), name
    return (0 if name == "embeddings" else 2), 0, name
