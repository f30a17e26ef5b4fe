"""Trainings on tiny models, shared by the tests of probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_config import composed_train
from thinkgap.schema import TrainConfig


@pytest.fixture
def config(tiny_model: Callable[[str], Path]) -> Callable[..., TrainConfig]:
    """`config(*overrides, family=)`: a training of a tiny model on 16 generated items, reported on 12."""

    def made(*overrides: str, family: str = "llama") -> TrainConfig:
        defaults = ["model=local", f"model.path={tiny_model(family)}", "dataset=toy_facts", "dataset.limit=12"]
        defaults += ["trigger=let_me_think", "logger=none", "probe=lm_head_lora", "probe.examples=16", "probe.epochs=2"]
        return composed_train(*defaults, *overrides)

    return made
