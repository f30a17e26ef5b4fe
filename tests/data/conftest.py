"""Keeps the Hugging Face cache of these tests in a temporary folder, and finds the shared real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    import datasets.config

    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("hf_datasets")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real benchmark rows, which are not part of the repository."""
    beside = Path(__file__).parents[2].parent / "shared"
    folder = Path(os.environ.get("THINKGAP_SHARED", beside)) / "data"
    if not folder.is_dir():
        pytest.skip(f"real benchmark data is not here: {folder} (set THINKGAP_SHARED to the folder that holds data/)")
    return folder
