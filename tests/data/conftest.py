"""Keeps the Hugging Face cache of these tests in a temporary folder."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    import datasets.config

    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("hf_datasets")
