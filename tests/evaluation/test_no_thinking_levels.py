"""Levels 2 and 3 as a run measures them: on its own responses, on those of earlier runs, and from the stores again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.no_thinking_runs import cell
from tests.test_config import composed
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.run_sheets import nothinking_sheets, nothinking_text
from thinkgap.readouts.sheet import Sheet
from thinkgap.schema import EvaluateConfig

ROWS = [
    {"id": "a", "question": "How many legs do three spiders have?", "gold": "24", "space": "open", "mode": "strict",
     "response": r"A spider has 8 legs, so 3 * 8 = 24. \boxed{24}", "model": "m"},
    {"id": "b", "question": "How many legs do two cats have?", "gold": "8", "space": "open", "mode": "strict",
     "response": r"\boxed{8}", "model": "m"},
    {"id": "a", "question": "How many legs do three spiders have?", "gold": "24", "space": "open", "mode": "cot",
     "response": r"A spider has 8 legs, so 3 * 8 = 24. \boxed{24}", "model": "m"},
]  # fmt: skip


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def settings(given: Path | str, *more: str) -> EvaluateConfig:
    return composed("evaluation=no_thinking", f"responses='{given}'", "logger=none", *more)


def sheets(cfg: EvaluateConfig, folder: Path) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in run_no_thinking(cfg, folder)}


def test_a_run_measures_all_three_levels(
    responses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], own_cells: None
) -> None:
    found = sheets(settings(responses), tmp_path / "run")
    levels = found["nothinking_levels"]
    strict = {"mode": "strict", "average": "pooled"}
    assert cell(levels, "etr_strict", **strict).value == 0.5
    related = cell(levels, "nonempty_qrel_minilm", **strict).value
    assert 0.3 < related < 1
    assert cell(levels, "qrel_minilm", **strict).value == pytest.approx(related / 2), "the empty trace counts as 0"
    assert cell(levels, "explicit_rules", **strict).value == 0.5
    printed = capsys.readouterr().out
    assert "### ETR, QRel and judged inference" in printed
    assert "rules judge (rules) %" in printed
    assert nothinking_text(tmp_path / "run", nothinking_sheets(tmp_path / "run")) in printed
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["levels"]["pairs"] == 1, "equal texts under two modes are read once"
    assert manifest["levels"]["encoders"]["minilm"]["pooling"] == "mean"
    assert list(manifest["levels"]["judges"]) == ["rules"]


def test_earlier_runs_are_measured_again_without_new_work(
    responses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cells: None
) -> None:
    first = sheets(settings(responses, "judge=none"), tmp_path / "first")
    embedded: list[int] = []

    def refuse(_model: Any, windows: Any, *_more: Any) -> Any:
        embedded.append(len(windows))
        raise AssertionError("a text was encoded twice")

    monkeypatch.setattr("thinkgap.encoders.encoder.embed", refuse)
    again = sheets(settings(tmp_path / "first"), tmp_path / "second")
    assert not embedded
    assert (tmp_path / "first" / "responses.parquet").read_bytes() == (
        tmp_path / "second" / "responses.parquet"
    ).read_bytes()
    assert again["nothinking"] == first["nothinking"]
    assert again["nothinking_relevance"] == first["nothinking_relevance"]
    assert "nothinking_judged_rules" in again
    assert "nothinking_judged_rules" not in first
    with pytest.raises(StoreError, match="other settings"):
        run_no_thinking(settings(tmp_path / "first", "encoder=none"), tmp_path / "second")


def test_none_measures_nothing(responses: Path, tmp_path: Path) -> None:
    found = sheets(settings(responses, "judge=none", "encoder=none"), tmp_path / "run")
    assert not [name for name in found if "levels" in name or "judge" in name]
    assert not (tmp_path / "run" / "relevance.parquet").exists()
    assert not (tmp_path / "run" / "judgements.parquet").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["judge.batch_size=0"], "judge.batch_size=0"),
        (["evaluation.estimate=true"], "counts the calls of a served judge"),
        (["encoder.max_length=0"], "encoder.max_length"),
    ],
)
def test_settings_are_refused_before_anything_is_read(
    responses: Path, tmp_path: Path, given: list[str], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        run_no_thinking(settings(responses, *given), tmp_path / "run")
    assert message in str(refused.value)
