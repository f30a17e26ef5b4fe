"""Runs that `responses` names: a folder, a file, a pattern."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.nothinking.examples import answered
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.stored import stored_runs
from thinkgap.nothinking.analyse import Analysed, analyse
from thinkgap.nothinking.store import RESPONSES_FILE, write_responses


def run(folder: Path, model: str, *modes: str) -> list[Analysed]:
    folder.mkdir()
    rows = [analyse(answered(r"So \boxed{B}", mode=mode), model=model) for mode in modes]
    write_responses(folder / RESPONSES_FILE, rows)
    (folder / "manifest.json").write_text(json.dumps({"modes": modes}), encoding="utf-8")
    return rows


def test_a_folder_or_its_file_keeps_readings_names_and_the_order_of_modes(tmp_path: Path) -> None:
    rows = run(tmp_path / "one[1]", "m", "strict", "cot")
    for given in (tmp_path / "one[1]", tmp_path / "one[1]" / RESPONSES_FILE):
        found = stored_runs(str(given))
        assert found is not None
        assert sorted(found.rows, key=lambda row: row.key) == sorted(rows, key=lambda row: row.key)
        assert found.modes == ("strict", "cot")
    (tmp_path / "one[1]" / "manifest.json").unlink()
    found = stored_runs(str(tmp_path / "one[1]"))
    assert found is not None
    assert found.modes == ("cot", "strict"), "without a manifest, as they come"


def test_a_pattern_pools_runs_and_leaves_other_folders_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = run(tmp_path / "a", "m", "cot"), run(tmp_path / "b", "other", "strict")
    (tmp_path / "c").mkdir()
    monkeypatch.chdir(tmp_path)
    for pattern in (f"{tmp_path}/*", "*"):
        found = stored_runs(pattern)
        assert found is not None
        assert list(found.rows) == [*first, *second]
        assert found.modes == ("cot", "strict")


def test_files_of_other_formats_are_the_importers_business(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}", encoding="utf-8")
    assert stored_runs(str(tmp_path / "mine.jsonl")) is None
    assert stored_runs(str(tmp_path / "nowhere.jsonl")) is None


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the folder has no responses.parquet"):
        stored_runs(str(tmp_path))
    with pytest.raises(ConfigError, match="no folder of this pattern"):
        stored_runs(f"{tmp_path}/x*")
    run(tmp_path / "a", "m", "cot")
    run(tmp_path / "b", "m", "cot")
    with pytest.raises(StoreError, match="two responses have the key"):
        stored_runs(f"{tmp_path}/*")
