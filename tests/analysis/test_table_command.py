"""`python -m analysis.table`: the run's own text again, from records alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.table import main
from tests.store.examples import run_records
from thinkgap.metrics import rate
from thinkgap.readouts.report import report_text
from thinkgap.readouts.table import tables_of_run
from thinkgap.readouts.table_text import to_markdown
from thinkgap.store import RunFolder
from thinkgap.store.records import RecordFacts

ROOT = Path(__file__).parents[2]


def finished_run(path: Path, n: int = 12) -> str:
    """A finished run in `path`; returns the text that the run printed."""
    folder = RunFolder(path)
    folder.open({})
    folder.write_shard(run_records(n))
    folder.merge(("direct", "think"), RecordFacts(title=path.name))
    return report_text(path)


def test_prints_what_the_run_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = finished_run(tmp_path / "one")
    assert main([str(tmp_path / "one")]) == 0
    assert capsys.readouterr().out == text


def test_the_text_is_the_table_then_the_verdict(tmp_path: Path) -> None:
    text = finished_run(tmp_path / "one")
    assert text.startswith(to_markdown(tables_of_run(tmp_path / "one")[0]))
    assert "- think: label requested, label read: mismatch; native " in text.splitlines()[-1]


def test_records_without_the_native_readout_have_their_own_tables(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard([replace(one, readout="other") for one in run_records(6)])
    folder.merge(("direct", "think"), RecordFacts(title="heads"))
    assert report_text(tmp_path).startswith("### heads (other readout)")


def test_several_folders_and_a_bad_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    texts = [finished_run(tmp_path / "one"), finished_run(tmp_path / "two", 20)]
    folders = [str(tmp_path / name) for name in ("one", "two")]
    assert main([*folders, str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == f"{folders[0]}\n\n{texts[0]}\n{folders[1]}\n\n{texts[1]}"
    assert "holds no records" in shown.err


def test_csv_of_several_folders_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("one", "two"):
        finished_run(tmp_path / name)
    assert main([str(tmp_path / "one"), str(tmp_path / "two"), "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run,readout,condition,k,n,")
    assert len(lines) == 1 + 2 * 8
    assert lines[1].split(",")[0] == str(tmp_path / "one")


def test_as_a_command_it_loads_no_model_library(tmp_path: Path):
    finished_run(tmp_path / "one")
    code = (
        "import sys; from analysis.table import main; status = main(sys.argv[1:]); "
        "heavy = {'torch', 'transformers', 'wandb', 'hydra'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "one")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    bad = subprocess.run(
        [sys.executable, "-m", "analysis.table", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert bad.returncode == 1
    assert bad.stderr.startswith("error: ")
    assert "Traceback" not in bad.stderr


def test_a_training_of_linear_probes_has_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from probes.controls.sheet import ConditionControls, off
    from probes.controls.stored import CONTROLS_FOLDER, write_controls
    from probes.fits_file import best_places, place_fits, write_fits
    from probes.predict import predict
    from probes.predictions import write_predictions
    from probes.tables import report_markdown, report_of_probes
    from tests.probes.parts import made_part
    from tests.probes.predicted import STATE, axis_probe, fitted_at, made_fits

    part = made_part("test", 12, seed=0)
    fitted = {one.place: one for one in (fitted_at(name, STATE, axis_probe(4, 8)) for name in part.conditions)}
    write_predictions(tmp_path, [predict(part, fitted, STATE, best_places(fitted, part.conditions))])
    fits = replace(made_fits(part.conditions, dict.fromkeys(fitted, 0.5)), places=place_fits(fitted))
    write_fits(tmp_path, fits)
    absent = [off(name) for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i")]
    (tmp_path / CONTROLS_FOLDER).mkdir()
    for name in part.conditions:
        write_controls(tmp_path / CONTROLS_FOLDER, ConditionControls(name, STATE, rate([1, 0]), *absent))
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == report_markdown(report_of_probes(tmp_path))
    assert main([str(tmp_path), "--sheet", "probe_transfer"]) == 0
    assert capsys.readouterr().out.startswith("run,trained_on,")
    assert main([str(tmp_path), "--sheet", "nope"]) == 1
    assert "it has linear_probes, " in capsys.readouterr().err
