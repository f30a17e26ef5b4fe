"""`python -m analysis.table` of a no-thinking run: the run's own text again, from the files in its folder."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.table import main
from tests.conftest import ROOT
from tests.nothinking.test_comprehension_table import exchange
from tests.test_config import composed
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.comprehension import write_exchanges
from thinkgap.nothinking.run_sheets import nothinking_sheets
from thinkgap.readouts.sheet import Sheet

SAID = {"strict": "\\boxed{7}", "cot": "3 and 4 make \\boxed{7}", "soft": "The answer is 8."}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, list[Sheet], str]:
    """Folder, tables and printed text of a run over a file, whose modes are in an order that is not the alphabet's."""
    rows = [
        {"id": str(number), "question": "3 + 4?", "gold": "7", "space": "open", "mode": mode, "response": said,
         "model": "m", "dataset": dataset, "subject": "sums", "area": "STEM"}
        for mode, said in SAID.items()
        for dataset in ("one", "two")
        for number in range(3)
    ]  # fmt: skip
    rows.append(rows[0] | {"id": "bad", "space": "opne"})
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    folder = tmp_path / "run"
    sheets = run_no_thinking(composed("evaluation=no_thinking", f"responses={file}", "logger=none"), folder)
    return folder, sheets, capsys.readouterr().out


def test_prints_what_the_run_printed(run: tuple[Path, list[Sheet], str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, sheets, printed = run
    assert main([str(folder)]) == 0
    text = capsys.readouterr().out
    # The run adds an empty line and where its files are.
    assert printed == f"{text}\nall {len(sheets)} tables: {folder}/no_thinking.md; responses and manifest: {folder}\n"
    assert "- 1 rows of mine.jsonl could not be used; the manifest lists them.\n" in text
    assert [line.split(" | ")[2].strip() for line in text.splitlines() if line.startswith("| m ")][:3] == list(SAID)


def test_every_table_of_the_run_is_one_of_its_folder(
    run: tuple[Path, list[Sheet], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, sheets, _ = run
    assert nothinking_sheets(folder) == sheets
    for sheet in sheets:
        assert main([str(folder), "--sheet", sheet.name]) == 0
        found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        stored = list(csv.DictReader(io.StringIO((folder / f"{sheet.name}.csv").read_text(encoding="utf-8"))))
        assert found == [{"run": str(folder), **row} for row in stored]
    assert main([str(folder), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("run,model,dataset,mode,n,accuracy,accuracy_low,")
    assert main([str(folder), "--sheet", "nope"]) == 1
    assert "it has nothinking, nothinking_outcomes, " in capsys.readouterr().err


def test_a_comprehension_check_in_the_folder_is_a_table_and_a_folder_without_manifest_is_none(
    run: tuple[Path, list[Sheet], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, sheets, _ = run
    write_exchanges(folder / "comprehension.parquet", [exchange("no", space="open")])
    assert [sheet.name for sheet in nothinking_sheets(folder)][len(sheets) :] == ["nothinking_comprehension"]
    assert main([str(folder)]) == 0
    assert "### What the model says" in capsys.readouterr().out
    (folder / "manifest.json").unlink()
    assert main([str(folder)]) == 1
    assert "manifest.json does not exist" in capsys.readouterr().err


def test_it_loads_no_model_library(run: tuple[Path, list[Sheet], str]) -> None:
    code = (
        "import sys; from analysis.table import main; status = main(sys.argv[1:]); "
        "heavy = {'torch', 'transformers', 'wandb', 'hydra'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(run[0])], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
