"""Items of the demo's world, its lessons, and tiny demo models; the Hugging Face cache is a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from world_reader import Items

from thinkgap.backends.load import load_backend
from thinkgap.data import load_dataset_items
from thinkgap.demo.batches import School, Writer, open_school
from thinkgap.demo.lessons import LESSONS, wordings
from thinkgap.demo.model.folder import build_model, build_processor, save_folder
from thinkgap.demo.model.vocabulary import learn_tokenizer
from thinkgap.schema import (
    DatasetConfig,
    DemoConfig,
    DemoPhase,
    DemoSizes,
    GenerationConfig,
    ModelConfig,
)
from thinkgap.types import Item

TINY = {"hidden": 32, "layers": 2, "heads": 2, "inner": 64, "vision_hidden": 32}


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


@pytest.fixture(scope="session")
def school() -> School:
    """300 training facts."""
    return open_school("train", 0, 300)


@pytest.fixture(scope="session")
def processor(school: School) -> Any:
    """Of all demo models in these tests."""
    return build_processor(learn_tokenizer(*wordings(school.facts)))


@pytest.fixture(scope="session")
def pupil(processor: Any) -> Callable[..., Writer]:
    """`pupil(seed=0, lively=True, **sizes)`: a writer with a new tiny model.

    A lively one has weights so large that positions, pictures and each earlier token show in its logits.
    """

    def make(seed: int = 0, lively: bool = True, **sizes: int) -> Writer:
        torch.manual_seed(seed)
        model = build_model(processor.tokenizer, DemoSizes(**(TINY | sizes)))
        with torch.no_grad():
            for parameter in model.parameters() if lively else ():
                parameter.add_(0.2 * torch.randn_like(parameter))
            if lively:  # some of its replies end
                model.lm_head.weight[processor.tokenizer.eos_token_id] *= 2
        return Writer(processor, model.eval())

    return make


@pytest.fixture(scope="session")
def model_folder(pupil: Callable[..., Writer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved lively model, in float32."""
    writer, folder = pupil(), tmp_path_factory.mktemp("demo") / "model"
    save_folder(folder, writer.model, writer.processor)
    return folder


@pytest.fixture(scope="session")
def backend(model_folder: Path) -> Any:
    """That model, as evaluations load it."""
    return load_backend(ModelConfig(name="demo", path=str(model_folder)), on_accelerator=False)


@pytest.fixture(scope="session")
def settings() -> Callable[..., DemoConfig]:
    """`settings(lessons={...}, **changes)`: a training of few examples on a tiny model."""

    def make(lessons: dict[str, int] | None = None, **changes: Any) -> DemoConfig:
        every = lessons or dict.fromkeys(LESSONS, 2)
        phases = [DemoPhase(0.0, every)]
        small = {"steps": 12, "facts": 300, "validation_facts": 12, "warmup": 2, "sizes": DemoSizes(**TINY)}
        return DemoConfig(**({"name": "tiny", "phases": phases} | small | changes))

    return make
