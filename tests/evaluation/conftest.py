"""Runs of tiny models, shared by the tests of evaluation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_config import composed
from thinkgap.evaluation.native import Finished, run_native


@pytest.fixture
def run(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., Finished]:
    """`run(*overrides, family=, model=, folder=)`: a finished run of a tiny model on 12 generated items."""

    def started(*overrides: str, family: str = "llama", model: Path | None = None, folder: str = "run") -> Finished:
        defaults = ["model=local", f"model.path={model or tiny_model(family)}", "dataset=toy_facts"]
        defaults += ["dataset.limit=12", "trigger=let_me_think", "logger=none"]
        return run_native(composed(*defaults, *overrides), tmp_path / folder)

    return started
