"""Items of the demo's world for these tests, each set made once; the Hugging Face cache is a temporary folder."""

from __future__ import annotations

from typing import Any

import pytest
from world_reader import Items

from thinkgap.data import load_dataset_items
from thinkgap.schema import DatasetConfig, GenerationConfig
from thinkgap.types import Item


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    import datasets.config

    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("hf_datasets")


@pytest.fixture(scope="session")
def made() -> Items:
    """`made(name, split=, seed=, limit=, size=, ...)`: generated items."""
    kept: dict[Any, tuple[Item, ...]] = {}

    def items(
        name: str, split: str = "test", seed: int = 0, limit: int | None = None, **generation: Any
    ) -> tuple[Item, ...]:
        key = (name, split, seed, limit, repr(generation))
        if key not in kept:
            cfg = DatasetConfig(
                name=name,
                path="generated",
                split=split,
                seed=seed,
                limit=limit,
                generation=GenerationConfig(**generation),
            )
            loaded = load_dataset_items(cfg)
            assert not loaded.bad
            assert not loaded.notes
            kept[key] = loaded.items
        return kept[key]

    return items
