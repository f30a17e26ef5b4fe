"""Both worlds go through a whole evaluation on tiny models of the true classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_config import composed
from thinkgap.errors import ConfigError
from thinkgap.evaluation.native import run_native
from thinkgap.store.records import read_records


def test_pictures_and_words_through_an_image_text_model(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    overrides = ["dataset=digit_scenes", "dataset.limit=12", "dataset.generation.size=60", "trigger=let_me_think"]
    model = ["model=local", f"model.path={tiny_model('qwen25vl')}", "logger=none"]
    finished = run_native(composed(*model, *overrides), tmp_path / "run")
    records = read_records(finished.folder)
    assert {record.condition for record in records} == {"direct", "let_me_think"}
    assert len(records) == 24
    assert set(finished.manifest["dataset"]["source"]["generation"]) == {"size", "image_free", "splits"}
    # A picture of 56 x 56 is one image token for each of its four quadrants.
    assert {record.n_image_tokens for record in records} == {0, 4}
    assert {record.k for record in records} == {2, 3, 4, 5}
    assert [row.condition for row in finished.table.rows] == ["direct", "let_me_think"]


def test_words_through_a_text_model(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    model = ["model=local", f"model.path={tiny_model('llama')}", "logger=none", "trigger=direct"]
    facts = ["dataset=number_facts", "dataset.generation.size=10"]
    finished = run_native(composed(*model, *facts, "dataset.generation.forms=[bool,mcq]"), tmp_path / "run")
    assert finished.manifest["n_items"] == 20
    with pytest.raises(ConfigError, match="10 open questions"):
        run_native(composed(*model, *facts), tmp_path / "open")
