"""Tables of `analysis.paper` that take two judges, several encoders, adapters, probes of layers, or people's labels."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from analysis.annotate import main as annotate
from analysis.paper.__main__ import main
from analysis.paper.from_sheets import of_sheets
from analysis.paper.ours import Run, read_runs
from analysis.paper.people import read_annotation
from analysis.paper.plots import FIGURES, write_figures
from analysis.paper.sources import LORA, PROBES
from analysis.paper.specs import NO_FIGURES, OF_PEOPLE, SPECS
from analysis.paper.tables import PaperTable, paper_table
from analysis.reference.catalogue import catalogue
from tests.analysis.paper_runs import no_thinking_run
from tests.nothinking.scripted_models import first_slot
from tests.store.examples import run_records
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import (
    JUDGEMENTS_FILE,
    JUDGEMENTS_SCHEMA,
    RELEVANCE_FILE,
    RELEVANCE_SCHEMA,
    read_judgements,
    read_relevance,
    write_levels,
)
from thinkgap.readouts.sheet import Column, Sheet
from thinkgap.schema import VariantsConfig
from thinkgap.types import Presentation

N = 8


def says(shown: Presentation) -> str:
    """A trace that the made-up judge calls explicit for every other item."""
    return f"Because so it is. {first_slot(shown)}" if int(shown.item.id[-1]) % 2 else first_slot(shown)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two judges, the second differing in one trace, and two encoders, the second at half the cosine."""
    folder = no_thinking_run(tmp_path_factory.mktemp("people") / "run", says, VariantsConfig(), n=N)
    judged, relevance = read_judgements(folder).to_pandas(), read_relevance(folder).to_pandas()
    written = judged.index[judged["label"] != "empty"]
    other = judged.assign(judge="gpt_5_5", kind="served")
    other.loc[written[0], "label"] = "paraphrase_only"
    halved = relevance.assign(encoder="bge_base", cosine=relevance["cosine"] / 2)
    write_levels(
        folder,
        pa.Table.from_pandas(joined(relevance, halved, "encoder"), RELEVANCE_SCHEMA, preserve_index=False),
        pa.Table.from_pandas(joined(judged, other, "judge"), JUDGEMENTS_SCHEMA, preserve_index=False),
    )
    assert (folder / JUDGEMENTS_FILE).exists()
    assert (folder / RELEVANCE_FILE).exists()
    return folder


def joined(one: pd.DataFrame, other: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows of both in the order of the files."""
    return pd.concat([one, other], ignore_index=True).sort_values([*KEY, name], ignore_index=True)


def value(table: PaperTable, row: tuple[str, ...], heading: str) -> float:
    (line,) = [one for one in table.lines if one.keys == row]
    cell = line.cells[[column.heading for column in table.spec.columns].index(heading)]
    assert cell.scaled is not None
    return cell.scaled[0]


def test_agreement_of_two_judges(run: Path) -> None:
    """Of eight outputs half are written, and the judges differ in one of those: 7 of 8, and 3 of 4, are alike."""
    runs = read_runs([run])
    written = sum(label != "empty" for label in read_judgements(run).to_pandas()["label"]) / 2
    table = paper_table("inertia", "D.5", runs)
    assert value(table, ("m", "all"), "five-way") == pytest.approx(100 * (N - 1) / N)
    assert value(table, ("m", "non-empty"), "five-way") == pytest.approx(100 * (written - 1) / written)
    assert value(table, ("", "all"), "binary") == pytest.approx(100 * (N - 1) / N)
    (line,) = [one for one in table.lines if one.keys == ("", "all")]
    assert line.cells[0].published is not None
    assert (line.cells[0].published.value, line.n) == (96.92, N)
    assert any("gpt_5_5 and rules" in note or "rules and gpt_5_5" in note for note in table.notes)


def test_sizes_and_decoding_are_the_runs_own(run: Path) -> None:
    runs = read_runs([run])
    items = [line for line in paper_table("inertia", "B.1", runs).lines if line.runs]
    assert [(line.keys[0], line.cells[0].ours and line.cells[0].ours.value) for line in items] == [("mmlu", N)]
    assert value(paper_table("inertia", "B.2", runs), ("m",), "max. new tokens") == 64


def test_encoders_on_a_balanced_sample(run: Path) -> None:
    table = paper_table("inertia", "D.2", read_runs([run]))
    own, halved = (value(table, ("m", name), "M5 mcq") for name in ("minilm", "bge_base"))
    assert own > 0
    assert halved == pytest.approx(own / 2)


@pytest.fixture(scope="module")
def labelled(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All outputs of the run, labelled by two people; the second calls one trace differently and rates it lower."""
    folder = tmp_path_factory.mktemp("sample")
    assert annotate(["make", str(run), "--out", str(folder), "--n", str(N)]) == 0
    with (folder / "sample.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    texts = [row for row in rows if row.get("trace", "").strip()]
    files = []
    for annotator in ("Ann", "Bob"):
        for place, row in enumerate(texts):
            differs = annotator == "Bob" and place == 0
            row["annotator"] = annotator
            row["label"] = "generic_or_off_topic" if differs else "explicit_reasoning"
            row["relevance"] = str(2 if differs else 3 + place % 3)
        files.append(folder / f"{annotator}.csv")
        with files[-1].open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(texts[0]))
            writer.writeheader()
            writer.writerows(texts)
    assert annotate(["read", str(folder), *map(str, files), "--runs", str(run)]) == 0
    return folder


def test_tables_of_people(run: Path, labelled: Path) -> None:
    runs = read_runs([run])
    people: Run = read_annotation(labelled, runs)
    tables = {name: paper_table("inertia", name, [*runs, people]) for name in OF_PEOPLE}
    assert all(table.measured for table in tables.values())
    assert value(tables["D.9"], ("Ann", "strict"), "mcq") == pytest.approx(50.0)
    assert value(tables["D.9"], ("Bob", "strict"), "mcq") == pytest.approx(100 * (N / 2 - 1) / N)
    mean = pytest.approx(100 * (N - 1) / (2 * N))
    assert value(tables["D.9"], ("mean", "strict"), "mcq") == mean
    assert value(tables["table5"], ("mean", "strict"), "mcq") == mean
    assert {line.keys[0] for line in tables["table5"].lines if line.runs} == {"mean", "rules (rules)", "gpt_5_5"}
    assert value(tables["D.7"], ("rules (rules)", "Ann"), "binary") == pytest.approx(100.0)
    assert value(tables["D.7"], ("rules (rules)", "mean"), "binary") == pytest.approx(100 * (1 + (N - 1) / N) / 2)
    assert {line.keys for line in tables["D.8"].lines if line.runs} >= {("explicit reasoning or not",)}
    assert any("a sample of 8 responses" in note for note in tables["D.9"].notes)
    # The published figures of the study's five annotators stay, beside no run.
    assert any(line.keys == ("A1", "strict") and not line.runs for line in tables["D.9"].lines)


def test_the_command_takes_an_annotation(
    run: Path, labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["inertia.D.7", f"runs={run}", f"annotation={labelled}", f"out={tmp_path / 'out'}"]
    assert main(asked) == 0
    assert "Ann" in capsys.readouterr().out
    assert main(["inertia.D.7", f"runs={run}", f"annotation={tmp_path}"]) == 1
    assert "give the folder in which the sample was made" in capsys.readouterr().err
    (labelled / "agreement" / "annotations.csv").rename(labelled / "agreement" / "moved.csv")
    try:
        with pytest.raises(StoreError, match="analysis.annotate read"):
            read_annotation(labelled, read_runs([run]))
    finally:
        (labelled / "agreement" / "moved.csv").rename(labelled / "agreement" / "annotations.csv")


def test_adapters_count_under_the_condition_that_they_were_trained_on() -> None:
    from probes.lm_head_sheet import lora_sheet

    records = [
        replace(one, readout=f"lm_head_lora:{trained}" if trained else one.readout)
        for one in run_records(12)
        for trained in ("", "direct", "think")
    ]
    sheet = lora_sheet(records, ("direct", "think"), ["direct", "think"], "")
    found = [one for one in of_sheets([sheet], LORA, "prefix", Path("run"), {}) if one.measure == "accuracy"]
    assert [one.keys["condition"] for one in found] == ["direct", "think"]
    assert {one.keys["readout"] for one in found} == {"lm_head_lora"}


def test_figure_2_has_probes_and_the_native_readout(tmp_path: Path) -> None:
    columns = (
        Column("state", "state", "text"),
        Column("condition", "condition", "text"),
        Column("n", "n", "count"),
        Column("test", "test", "percent"),
        Column("native", "native", "percent"),
    )
    rows = tuple(
        (state, "direct", 9, Estimate(0.1 * place, 0.0, 1.0, 9), Estimate(0.5, 0.4, 0.6, 9))
        for place, state in enumerate(("embeddings", "layer_0", "layer_1", "final_norm"))
    )
    fixed = {"model": "m", "dataset": "d"}
    found = tuple(of_sheets([Sheet("probe_layers", "", columns, rows)], PROBES, "prefix", Path("run"), fixed))
    assert {one.keys["layer"] for one in found} == {"embeddings", "0", "1", "final_norm"}
    (pdf, _) = write_figures([Run(Path("run"), {}, found)], tmp_path, {"prefix"})
    assert pdf.stat().st_size > 1000


def test_every_entry_has_a_layout_or_a_reason() -> None:
    """Would notice: a table of either study that nobody draws and nobody says why."""
    for study in ("prefix", "inertia"):
        drawn = {*SPECS[study], *(name for of, name in FIGURES if of == study)}
        reasons = set(NO_FIGURES) if study == "inertia" else {"figure1"}
        entries = {entry.id for entry in catalogue(study)}
        assert entries - drawn <= reasons, entries - drawn - reasons
        assert not drawn & reasons
