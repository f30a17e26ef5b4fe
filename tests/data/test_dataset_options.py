"""Every option of `conf/dataset` is a complete and valid `DatasetConfig`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from thinkgap.data import ADAPTERS
from thinkgap.data.mmmu import MMMU_10
from thinkgap.schema import DatasetConfig, GenerationConfig, ImageFilter

FOLDER = Path(__file__).parents[2] / "conf" / "dataset"
OPTIONS = sorted(file.stem for file in FOLDER.glob("*.yaml"))


def _option(name: str) -> DatasetConfig:
    merged = OmegaConf.merge(OmegaConf.structured(DatasetConfig), OmegaConf.load(FOLDER / f"{name}.yaml"))
    if OmegaConf.is_missing(merged, "path"):
        merged = OmegaConf.merge(merged, {"path": "mine.jsonl"})
    config = OmegaConf.to_object(merged)
    assert isinstance(config, DatasetConfig)
    return config


def test_there_is_an_option_per_adapter() -> None:
    assert {_option(name).name for name in OPTIONS} == set(ADAPTERS)


@pytest.mark.parametrize("name", OPTIONS)
def test_keys_are_those_of_the_schema(name: str) -> None:
    raw = OmegaConf.load(FOLDER / f"{name}.yaml")
    assert isinstance(raw, DictConfig)
    config = _option(name)
    # Settings of generation stand only where the adapter follows them, and there all of them.
    generation = ADAPTERS[config.name].generation
    names = [field.name for field in fields(DatasetConfig) if field.name != "generation" or generation]
    assert list(raw) == names
    assert set(raw.get("generation", {})) == set(generation)
    assert config.generation == GenerationConfig()
    assert config.name in ADAPTERS
    # The default run is one of a minute.
    assert (config.limit, config.seed, config.max_bad) == (400 if name == "digit_scenes" else None, 0, 0.01)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("scienceqa", ("derek-thomas/ScienceQA", None, "test")),
        ("ai2d", ("lmms-lab/ai2d", None, "test")),
        ("mmmu10", ("MMMU/MMMU", None, "validation")),
        ("mmbench", ("lmms-lab/MMBench", "en", "dev")),
        ("boolq", ("google/boolq", None, "validation")),
        ("strategyqa", ("ChilleD/StrategyQA", None, "test")),
        ("mmlu", ("cais/mmlu", "all", "test")),
        ("mmlu_pro", ("TIGER-Lab/MMLU-Pro", None, "test")),
        ("gsm8k", ("openai/gsm8k", "main", "test")),
        ("math", ("DigitalLearningGmbH/MATH-lighteval", "default", "test")),
    ],
)
def test_sources_are_the_studies(name: str, source: tuple[str, str | None, str]) -> None:
    config = _option(name)
    assert (config.path, config.config, config.split) == source
    assert config.split in ADAPTERS[config.name].published


def test_options_that_select_items() -> None:
    assert _option("scienceqa_image").images is ImageFilter.only
    assert tuple(_option("mmmu10").subjects or ()) == MMMU_10
