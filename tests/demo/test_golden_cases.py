"""The golden cases of demo models, and the file that the command writes beside a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from thinkgap.backends.golden_file import GOLDEN_FILE, read_golden
from thinkgap.backends.load import load_backend
from thinkgap.demo.golden_cases import golden_cases, main
from thinkgap.errors import ModelError
from thinkgap.schema import ModelConfig


def test_cases_cover_pictures_words_cues_and_replies() -> None:
    cases = {case.name: case for case in golden_cases()}
    assert len(cases) == 6
    shown, after, opened = (cases[f"shown, {name}"] for name in ("direct", "after a cue", "reply opened by a cue"))
    assert len(shown.images) == 1
    assert shown.images == after.images == opened.images != cases["another, direct"].images
    assert after.user == shown.user + "\nLet me think step by step."
    assert (opened.user, opened.prefill) == (shown.user, "Let me think step by step.")
    assert not cases["told, direct"].images
    assert cases["told, direct"].user.startswith("There is ")
    assert cases["told, after a cue"].user.endswith("\nReasoning:")
    for case in cases.values():
        printed = [line[0] for line in case.user.splitlines() if line[1:3] == ". "]
        assert list(case.labels) == printed


def test_the_file_is_checked_whenever_the_folder_is_loaded(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    assert main([str(folder)]) == 0
    assert len(read_golden(folder / GOLDEN_FILE).cases) == 6
    load_backend(ModelConfig(name="demo", path=str(folder)), on_accelerator=False)
    config = json.loads((folder / "processor_config.json").read_text())
    config["image_processor"]["image_mean"] = [0.2, 0.2, 0.2]
    (folder / "processor_config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="processor"):
        load_backend(ModelConfig(name="demo", path=str(folder)), on_accelerator=False)
    assert main([]) == 2
    assert main([str(tmp_path / "none")]) == 1
    assert "no such folder" in capsys.readouterr().err
