"""Cells that an earlier run finished are taken from the store; what this run computes is put there.

Stands before the engine: same prompts in, same results out. Knows no record.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkgap.errors import StoreError
from thinkgap.evaluation.describe import code_digest, state_dtype
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.engine import Scored
from thinkgap.scoring.scorer import Model, Scorer
from thinkgap.store.cell_rows import cell_key
from thinkgap.store.cells import CellContents, CellStore
from thinkgap.store.manifest import versions_of

log = logging.getLogger(__name__)

# What of a model's description a cell depends on; how it renders and cuts prompts is in the prompt's own digest.
_MODEL = (
    "revision",
    "class",
    "dtype",
    "attn_implementation",
    "compiled",
    "quantization",
    "vocab_size",
    "image_processor",
    "vllm",
    "arguments",
    "served",
)
_LIBRARIES = ("torch", "torchvision", "transformers", "pillow")
_MOST_BYTES = 256 << 20


class Reuse:
    """An engine that computes only what the store does not hold."""

    def __init__(self, engine: Scorer, store: CellStore | None) -> None:
        self.engine, self.store = engine, store
        self.n_reused = 0
        self._fresh: dict[str, Scored] = {}
        self._bytes = 0

    def score(self, groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        """As `Engine.score`; what is computed waits for `flush`."""
        if self.store is None:
            return self.engine.score(groups)
        keys = [[cell_key(prepared.prompt) for prepared in group] for group in groups]
        cells: dict[str, Scored] = {}
        for group, own in zip(groups, keys, strict=True):
            prompts = [prepared.prompt for prepared in group]
            for key, prompt, stored in zip(own, prompts, self.store.get(prompts), strict=True):
                cell = stored or self._fresh.get(key)
                if cell is not None and (cell.lens or not self.engine.needs_lens(prompt)):
                    cells[key] = cell
                    self.n_reused += cell is stored
        # What several groups ask for is computed once, so that a run reads what a run that resumes it will find.
        asked = set(cells)
        missing: list[list[PreparedPrompt]] = []
        for group, own in zip(groups, keys, strict=True):
            missing.append([])
            for prepared, key in zip(group, own, strict=True):
                if key not in asked:
                    asked.add(key)
                    missing[-1].append(prepared)
        computed = {cell_key(one.prompt): one for group in self.engine.score(missing) for one in group}
        self._fresh |= computed
        self._bytes += sum(one.states.nbytes for one in computed.values() if one.states is not None)
        cells |= computed
        return [
            [replace(cells[key], prompt=prepared.prompt) for prepared, key in zip(group, own, strict=True)]
            for group, own in zip(groups, keys, strict=True)
        ]

    @property
    def is_full(self) -> bool:
        """Whether so much waits that it should be written now."""
        return self._bytes > _MOST_BYTES

    def flush(self) -> None:
        """Write what waits; readings alone are no reason to end a run when they cannot be kept.

        Raises:
            StoreError: states that cannot be kept: the disk is full, or their type cannot hold one.
        """
        if self.store is not None and self._fresh:
            try:
                self.store.write(list(self._fresh.values()))
            except StoreError as error:
                if self.store.wanted.names:
                    # The states are what the run is for. They keep waiting, so that no later call takes them as written
                    # and writes records without them.
                    raise
                log.warning("cells are not kept from here on, the run goes on: %s", error)
                self.store = None
        self._fresh, self._bytes = {}, 0

    def describe(self) -> dict[str, Any]:
        """For the manifest: where the cells are, and which states they hold."""
        if self.store is None:
            return {"cells": None, "states": [], "state_dtype": None}
        wanted = self.store.wanted
        return {
            "cells": str(self.store.folder.resolve()),
            "states": list(wanted.names),
            "state_dtype": wanted.dtype if wanted.names else None,
        }


def open_cells(cfg: EvaluateConfig, engine: Scorer) -> CellStore | None:
    """The store of this model's cells; None if nothing is to be reused.

    Raises:
        StoreError: the folder cannot be written, or was made for another model.
    """
    if not cfg.evaluation.reuse:
        return None
    context = cell_context(engine)
    digest = hashlib.sha256(json.dumps(context, sort_keys=True).encode()).hexdigest()[:16]
    contents = CellContents(tuple(engine.state_names), state_dtype(cfg, engine), engine.lens, engine.options.top_k)
    folder = Path(cfg.paths.cells_dir).expanduser() / f"{cfg.model.name}-{digest}"
    store = CellStore.open(folder, context, contents)
    if len(store):
        log.info("%d finished cells of this model are in %s", len(store), folder)
    return store


def cell_context(engine: Scorer) -> dict[str, Any]:
    """All that a cell depends on beside its prompt, as JSON data."""
    reasoning = engine.options.reasoning
    return model_context(engine.backend) | {
        "scoring": engine.choice.method.name,
        # Half-precision logits depend on what shares a pass.
        "pass": None if in_float32(engine.backend) else engine.pass_size,
        "reasoning_tokens": None if reasoning is None else [list(reasoning.all), list(reasoning.strict)],
    }


def model_context(backend: Model) -> dict[str, Any]:
    """All that logits depend on beside the prompt and what shares its pass, as JSON data."""
    described = backend.describe()
    return {
        # Only what it has: a model in this process knows nothing of a program beside it.
        "model": {name: described[name] for name in _MODEL if name in described},
        "device": backend.device.type,
        "libraries": versions_of(*_LIBRARIES),
        "code": code_digest("backends", "scoring"),
    }


def in_float32(backend: Model) -> bool:
    """Whether logits are the same, but for the last digits, whatever shares a pass."""
    return backend.describe()["dtype"] == "float32"
