"""`python -m analysis.paper`: our figures under the right published ones, and what is not there."""

from __future__ import annotations

import csv
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from analysis.paper.__main__ import main
from analysis.paper.cases import cases
from analysis.paper.ours import Run, departures, read_runs
from analysis.paper.plots import FIGURES
from analysis.paper.render import to_csv, to_latex, to_markdown
from analysis.paper.specs import SPECS
from analysis.paper.tables import paper_table
from analysis.reference.catalogue import catalogue
from tests.analysis.paper_runs import native_run, no_thinking_run
from tests.nothinking.scripted_models import first_slot, knows
from thinkgap.errors import DataError, StoreError
from thinkgap.schema import VariantsConfig
from thinkgap.types import Presentation

ALL = VariantsConfig(rewrites=["verification", "open_numeric"], surface=["shuffle", "numeric"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("paper")

    def reasons(shown: Presentation) -> str:
        return f"Because it adds up, {knows(shown)}" if shown.item.answer_space == "open" else first_slot(shown)

    return {
        "native": native_run(root / "native"),
        "other": native_run(root / "other", model="my_model", dataset="my_set"),
        "inertia": no_thinking_run(root / "inertia", reasons, ALL),
    }


@cache
def runs_of(folder: Path) -> tuple[Run, ...]:
    return tuple(read_runs([folder]))


def cell(study: str, table: str, folder: Path, row: tuple[str, ...], heading: str):
    found = paper_table(study, table, runs_of(folder))
    (line,) = [line for line in found.lines if line.keys == row]
    return line.cells[[column.heading for column in found.spec.columns].index(heading)]


def test_ours_stands_beside_the_published_figure_in_its_unit(folders: dict[str, Path]) -> None:
    """Of twelve items three are wrong under Direct; the published accuracy is 80.76."""
    one = cell("prefix", "table2", folders["native"], ("qwen25vl7b", "scienceqa", "direct"), "Native Acc.")
    assert one.scaled is not None
    assert one.published is not None
    assert one.scaled[0] == pytest.approx(75.0)
    assert one.published.printed == "80.76"
    assert one.difference == pytest.approx(75.0 - 80.76)
    probe = cell("prefix", "table2", folders["native"], ("qwen25vl7b", "scienceqa", "direct"), "Probe Acc.")
    assert probe.ours is None
    assert probe.published is not None


def test_a_model_of_ones_own_has_rows_and_the_papers_are_not_run(folders: dict[str, Path]) -> None:
    found = paper_table("prefix", "table1", runs_of(folders["other"]))
    own = [line for line in found.lines if line.runs]
    assert [line.keys for line in own] == [("my_set", "my_model")]
    assert all(one.published is None for one in own[0].cells)
    text = to_markdown(found)
    assert "| qwen25vl7b |" in text
    assert "not run" in text
    assert "other: a sample of 12 items of my_set." in text


def test_levels_are_those_of_the_runs_tables(folders: dict[str, Path]) -> None:
    """First slot on choices (2 of 8 right), yes to proposals (half right), reasons and zero on open questions."""
    assert_value = {
        "MCQ Acc.": 25.0,
        "MCQ ETR": 100.0,
        "Bool Acc.": 50.0,
        "Open Acc.": 100.0,
        "Open ETR": 0.0,
        "Open QRel": 0.5,
        "Open EIR": 100.0,
        "Parse": 100.0,
        "Exact": 100.0,
        "Open - MCQ": 75.0,
    }
    for heading, value in assert_value.items():
        one = cell("inertia", "I.5", folders["inertia"], ("m", "mmlu", "strict"), heading)
        assert one.scaled is not None, heading
        assert one.scaled[0] == pytest.approx(value), heading
    pos, neg = (
        cell("inertia", "I.4", folders["inertia"], ("m", "mmlu", "strict"), heading).scaled
        for heading in ("Pos.", "Neg.")
    )
    assert pos is not None
    assert neg is not None
    assert (pos[0], neg[0]) == (100.0, 0.0)
    numeric = cell("inertia", "I.3", folders["inertia"], ("m", "mmlu", "strict", "numeric"), "Cons.").scaled
    assert numeric is not None
    assert numeric[0] == 100.0
    area = cell("inertia", "I.1", folders["inertia"], ("m", "STEM", "strict"), "Acc.")
    assert area.ours is not None
    assert area.ours.n == 4


def test_who_measured_is_said_where_it_was_not_the_studys_own(folders: dict[str, Path]) -> None:
    notes = paper_table("inertia", "I.3", runs_of(folders["inertia"])).notes
    assert any("minilm, rules (rules, no EIR)" in note for note in notes)
    assert any("64 new tokens, the study's of 8192" in note for note in notes)
    assert any("negative proposals: random" in note for note in notes)


def test_published_figures_over_all_models_stand_beside_each_of_ours(folders: dict[str, Path]) -> None:
    one = cell("inertia", "D.1", folders["inertia"], ("m", "minilm"), "M5 mcq")
    assert one.ours is not None
    assert one.published is not None
    assert one.published.printed == "0.041"


def test_files_of_a_table_agree(folders: dict[str, Path]) -> None:
    found = paper_table("prefix", "table2", runs_of(folders["native"]))
    rows = list(csv.DictReader(to_csv(found).splitlines()))
    row = next(one for one in rows if one["condition"] == "direct" and one["column"] == "Native Acc.")
    assert float(row["ours"]) == pytest.approx(75.0)
    assert (row["published"], row["n"], row["unit"]) == ("80.76", "12", "percent")
    assert float(row["low"]) < 75 < float(row["high"])
    latex = to_latex(found)
    assert r"qwen25vl7b & scienceqa & let\_me\_think" in latex
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1
    assert latex.count("{") == latex.count("}")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (texlive-latex-recommended)")
def test_latex_compiles(folders: dict[str, Path], tmp_path: Path) -> None:
    tables = [paper_table(study, name, runs_of(folders["native"])) for study in SPECS for name in SPECS[study]]
    body = "\n".join(map(to_latex, tables))
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"
    text = head + body + r"\end{document}"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_command_writes_tables_figures_and_cases(
    folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = f"{folders['native']},{folders['inertia']}"
    assert main(["all", f"runs={runs}", f"out={tmp_path}"]) == 0
    said = capsys.readouterr().out
    for study, tables in SPECS.items():
        for table in tables:
            for ending in ("md", "tex", "csv"):
                assert (tmp_path / f"{study}.{table}.{ending}").is_file()
    for name in ("figure1", "figure6", "figureG.2", "figureH.2"):
        assert (tmp_path / f"inertia.{name}.pdf").read_bytes().startswith(b"%PDF")
        assert "<svg" in (tmp_path / f"inertia.{name}.svg").read_text(encoding="utf-8")[:2000]
    assert "Candidate visibility" in (tmp_path / "inertia.cases.md").read_text(encoding="utf-8")
    assert "not run: prefix.table3" in said
    again = tmp_path / "again"
    assert main(["inertia.I.5", "inertia.figure6", f"runs={runs}", f"out={again}"]) == 0
    assert len(list(again.iterdir())) == 5
    for file in again.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prefix"], "no folder was given; give the folder of a run"),
        (["prefix", "runs=nowhere"], "nowhere does not exist"),
        (["prefix", "runs=nowhere*"], "no folder of a run matches"),
        (["prefix.table9", "runs={native}"], "has no 'table9'"),
        (["prefixes", "runs={native}"], "did you mean 'prefix'"),
        (["inertia.C.1", "runs={native}"], "no table of figures here: which result needs"),
        (["inertia.figure3", "runs={native}"], "nothing that runs can be drawn as"),
    ],
)
def test_what_is_refused(
    folders: dict[str, Path], arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [one.format(native=folders["native"]) for one in arguments]
    assert main([*asked, f"out={tmp_path}"]) == 1
    assert said in capsys.readouterr().err


def test_two_runs_of_one_figure_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    again = native_run(tmp_path / "again")
    with pytest.raises(StoreError, match="both have accuracy of .*condition direct"):
        read_runs([folders["native"], again])


def test_every_layout_and_figure_is_in_the_catalogue() -> None:
    for study, tables in SPECS.items():
        assert set(tables) <= {entry.id for entry in catalogue(study)}
    for study, name in FIGURES:
        assert name in {entry.id for entry in catalogue(study)}
    with pytest.raises(DataError, match="has no 'table7'"):
        paper_table("inertia", "table7", [])


def test_cases_follow_their_rules(folders: dict[str, Path]) -> None:
    found = {case.name: case for case in cases([folders["inertia"]])}
    only = found["Answer only"].responses[0]
    assert only["etr_strict"]
    assert only["correct"]
    # Nothing is right and long, and no item has think_off.
    assert found["Long and relevant"].responses == ()
    assert found["Re-elicitation"].responses == ()


def test_departures_name_what_differs() -> None:
    config = {
        "dataset": {"name": "scienceqa", "limit": None},
        "trigger": {"placement": "assistant"},
        "model": {"quantization": {"load_in_4bit": True}},
        "evaluation": {"kind": "native"},
    }
    assert departures({"config": config}) == ("trigger placed at assistant", "quantised weights")
    assert departures({}) == ()
