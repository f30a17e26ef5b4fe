"""Trainings on tiny models, shared by the tests of probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_config import composed_train
from thinkgap.cli import prepare_arguments
from thinkgap.schema import TrainConfig


@pytest.fixture(autouse=True)
def own_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test makes the captures that it looks at."""
    monkeypatch.setenv("THINKGAP_CAPTURES", str(tmp_path / "captures"))


@pytest.fixture(scope="session")
def captures_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of captures and their cells, one for all tests that share them."""
    return tmp_path_factory.mktemp("captured")


@pytest.fixture
def shared_captures(own_cells: None, own_captures: None, captures_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test has captured the next one finds: for tests of what is made of states, not of how they are read."""
    monkeypatch.setenv("THINKGAP_CELLS", str(captures_root / "cells"))
    monkeypatch.setenv("THINKGAP_CAPTURES", str(captures_root / "captures"))


@pytest.fixture
def config(tiny_model: Callable[[str], Path]) -> Callable[..., TrainConfig]:
    """`config(*overrides, family=)`: a training of a tiny model on 16 generated items, reported on 12."""

    def made(*overrides: str, family: str = "llama") -> TrainConfig:
        defaults = ["model=local", f"model.path={tiny_model(family)}", "dataset=toy_facts", "dataset.limit=12"]
        defaults += ["trigger=let_me_think", "logger=none", "probe=lm_head_lora", "probe.examples=16", "probe.epochs=2"]
        return composed_train(*defaults, *overrides)

    return made


@pytest.fixture
def linear(tiny_model: Callable[[str], Path]) -> Callable[..., TrainConfig]:
    """`linear(*overrides, family=)`, as on the command line: probes of a tiny model on 12 items for each role."""

    def made(*overrides: str, family: str = "llama") -> TrainConfig:
        defaults = ["model=local", f"model.path={tiny_model(family)}", "dataset=toy_facts", "dataset.limit=12"]
        defaults += ["trigger=let_me_think", "logger=none", "probe=linear"]
        defaults += ["probe.examples=12", "probe.select_examples=12"]
        return composed_train(*prepare_arguments([*defaults, *overrides], TrainConfig))

    return made
