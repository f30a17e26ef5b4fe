"""Runs of `evaluation=no_thinking` on three made-up items, one of each answer space."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.test_config import composed
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.store import read_responses
from thinkgap.readouts.sheet import Sheet
from thinkgap.schema import EvaluateConfig

ITEMS: tuple[dict[str, Any], ...] = (
    {"id": "m", "question": "Which is the largest?", "choices": ["twelve", "seventeen", "three"], "answer": "B",
     "subject": "numbers", "meta": {"area": "sums"}},
    {"id": "b", "question": "Does ice float?", "context": "Ice is lighter than water.", "answer": True},
    {"id": "o", "question": "What is 3 + 4?", "answer": "7"},
)  # fmt: skip
MODES = ("think_on", "think_off", "cot", "soft", "strict", "prefix")


def items_file(path: Path, items: Sequence[Mapping[str, Any]] = ITEMS) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def settings(*overrides: str, items: Path, mode: str = "mode=paper") -> EvaluateConfig:
    given = ["evaluation=no_thinking", *filter(None, [mode]), "dataset=jsonl", f"dataset.path={items}", "logger=none"]
    levels = ["encoder=none", "judge=none"]  # tests of levels 2 and 3 say otherwise
    return composed(*given, *levels, "evaluation.generation.max_new_tokens=5", *overrides)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return read_responses(folder / "responses.parquet").to_pylist()


def started(cfg: EvaluateConfig, folder: Path) -> tuple[dict[str, Sheet], list[dict[str, Any]], dict[str, Any]]:
    """Tables, rows and manifest of a run."""
    sheets = {sheet.name: sheet for sheet in run_no_thinking(cfg, folder)}
    return sheets, rows_of(folder), json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def cell(sheet: Sheet, column: str, **key: str) -> Any:
    """The figure of `column` in the only row with `key`."""
    names = [one.name for one in sheet.columns]
    (row,) = [row for row in sheet.rows if all(row[names.index(name)] == value for name, value in key.items())]
    return row[names.index(column)]
