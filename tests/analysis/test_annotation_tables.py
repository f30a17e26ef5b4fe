"""People, judges and encoders joined by the key, and what the command prints and leaves."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

from analysis.annotate import main
from analysis.annotation.read import read_files
from analysis.annotation.sample import read_key
from analysis.annotation.tables import Joined, agreement_sheets, coverage_sheet, join
from tests.analysis.annotation_runs import ordinary_run, response, write_run
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.levels import judgements_table, pairs_of, relevance_table, write_levels
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses, to_analysed, write_responses
from thinkgap.readouts.sheet import Missing
from thinkgap.types import Judgement, Relevance


def with_levels(run: Path) -> Path:
    """Judgements by one judge that failed at q0, and relevance by one encoder."""
    rows = to_analysed(read_responses(run / RESPONSES_FILE))
    pairs = pairs_of(rows)
    failed = next(row.reading.trace for row in rows if row.answered.question.item_id == "q0")
    judged = {
        pair: Judgement(None, "judge_error", reason="x") if pair.trace == failed else Judgement("unclear")
        for pair in pairs
    }
    near = {pair: Relevance(0.5, 9, 9, False, 0.5, 0.5) for pair in pairs}
    write_levels(run, relevance_table(rows, {"enc": near}), judgements_table(rows, {"jud": judged}, {"jud": "rules"}))
    return run


def filled(out: Path, name: str, skip: int = 0) -> Path:
    """The sheet of a sample as one annotator filled it in, but for the last `skip` texts that are not empty."""
    text = (out / "sample.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    written = [row for row in rows if row["label"] != "empty"]
    for place, row in enumerate(written[: len(written) - skip]):
        row |= {"annotator": name, "label": "unclear", "relevance": str(1 + place % 5), "seconds": str(place)}
    path = out / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def sample(tmp_path: Path) -> tuple[Path, Path]:
    """A run with judgements and relevance, and a sample of all its 15 responses."""
    run, out = with_levels(ordinary_run(tmp_path / "run")), tmp_path / "out"
    assert main(["make", str(run), "--out", str(out)]) == 0
    return run, out


def joined(out: Path, *runs: Path) -> Joined:
    key = read_key(out)
    return join(read_files([filled(out, "Ann")], key).rows, key, runs)


def test_everything_meets_by_the_opaque_id(sample: tuple[Path, Path]) -> None:
    run, out = sample
    found, rows = joined(out, run), read_key(out).rows
    item = dict(zip(rows["id"], rows["item_id"], strict=True))
    frame = found.judged.astype({"label": object}).fillna({"label": "none"})
    judged = {item[one]: (label, status) for one, label, status in frame[["item", "label", "status"]].to_numpy()}
    assert judged == {
        "q0": ("none", "judge_error"),
        **{f"q{place}": ("unclear", "ok") for place in range(1, 12)},
        **{f"e{place}": ("empty", "ok") for place in range(3)},
    }
    near = {
        item[one]: (cosine, empty) for one, cosine, empty in found.relevance[["item", "cosine", "empty"]].to_numpy()
    }
    assert near == {
        **{f"q{place}": (0.5, False) for place in range(12)},
        **{f"e{place}": (0.0, True) for place in range(3)},
    }
    assert set(found.judged["judge"]) == {"jud"}
    assert set(found.judged["kind"]) == {"rules"}
    assert set(found.relevance["encoder"]) == {"enc"}
    assert [len(frame) for frame in (found.annotations, found.judged, found.relevance)] == [15] * 3
    cells = found.annotations[["dataset", "model", "mode", "space"]].drop_duplicates()
    assert cells.to_numpy().tolist() == [["secret_set", "secret-model", "think_off", "mcq"]]
    assert set(found.judged["dataset"]) == {"secret_set"}
    groups = {item[one]: group for one, group in found.judged[["item", "group_id"]].to_numpy()}
    assert groups == {one: one for one in groups}
    assert found.notes == ()


def test_responses_that_nobody_labelled_count_for_a_judge_only(sample: tuple[Path, Path], tmp_path: Path) -> None:
    run, out = sample[0], tmp_path / "few"
    assert main(["make", str(run), "--out", str(out), "--n", "5"]) == 0
    found = joined(out, run)
    assert len(found.judged) == 15
    assert sorted(found.judged["item"].dropna()) == sorted(found.relevance["item"]) == [f"t00{n}" for n in range(1, 6)]
    assert found.notes == ()


def test_a_sample_without_empty_traces_is_compared_with_none(sample: tuple[Path, Path], tmp_path: Path) -> None:
    run, out = sample[0], tmp_path / "written"
    assert main(["make", str(run), "--out", str(out), "--exclude-empty"]) == 0
    found = joined(out, run)
    assert len(found.judged) == 12
    # The response that the judge failed at stays.
    assert sorted(found.judged["status"])[:2] == ["judge_error", "ok"]


def test_without_runs_there_are_people_only(sample: tuple[Path, Path]) -> None:
    found = joined(sample[1])
    assert len(found.annotations) == 15
    assert found.judged.empty
    assert found.relevance.empty
    names = [sheet.name for sheet in agreement_sheets(found, read_key(sample[1]))]
    assert names == ["annotators", "people_reliability", "people_rates"]


def test_a_trace_that_has_changed_is_not_compared(sample: tuple[Path, Path]) -> None:
    run, out = sample
    rows: list[Analysed] = to_analysed(read_responses(run / RESPONSES_FILE))
    changed = [response("q3", "another text") if row.answered.question.item_id == "q3" else row for row in rows]
    write_responses(run / RESPONSES_FILE, changed)
    found = joined(out, run)
    assert found.notes[0] == (
        f"1 responses of {run} have another trace than the one that was labelled: they are not compared"
    )
    assert len(found.judged) == 15
    assert len(found.judged.dropna(subset=["item"])) == len(found.relevance) == 14
    assert "the judge jud has 14 of the 15 texts" in found.notes


def test_runs_that_overlap_or_have_nothing(sample: tuple[Path, Path], tmp_path: Path) -> None:
    run, out = sample
    other = with_levels(write_run(tmp_path / "other", [response("q0", "text", dataset="another")]))
    found = joined(out, run, run, other)
    assert len(found.judged) == len(found.relevance) == 15
    assert found.notes == (
        f"{other} holds no response of the sample, and is left out",
        "15 rows by judge are in two runs: those of the run named first count",
        "15 rows by encoder are in two runs: those of the run named first count",
    )


def test_how_much_each_annotator_did(sample: tuple[Path, Path]) -> None:
    out = sample[1]
    key = read_key(out)
    files = [filled(out, "Ann"), filled(out, "Bob", skip=9)]
    sheet = coverage_sheet(read_files(files, key).rows, key)
    # Ann: seconds 0 to 11, the median of which is 5.5; Bob: 0, 1, 2.
    assert sheet.rows == (("Ann", 12, 12, 12, 5.5), ("Bob", 3, 3, 12, 1.0))
    assert sheet.notes[1].startswith("Not all annotators did all texts")
    assert len(coverage_sheet(read_files(files[:1], key).rows, key).notes) == 1
    untimed = read_files(files[:1], key).rows.assign(seconds=None)
    assert coverage_sheet(untimed, key).rows[0][-1] == Missing("the file has no times")


def test_the_command(sample: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    run, out = sample
    capsys.readouterr()
    files = [str(filled(out, name)) for name in ("Ann", "Bob")]
    assert main(["read", str(out), *files, "--runs", str(run)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    tables = out / "agreement"
    assert (tables / "agreement.md").read_text(encoding="utf-8") == shown.out
    assert (tables / "problems.csv").read_text(encoding="utf-8") == "file,line,problem\n"
    assert len(pd.read_csv(tables / "annotations.csv")) == 30
    pairs = pd.read_csv(tables / "people_pairs.csv")
    assert list(pairs["relevance_spearman"]) == pytest.approx([1.0, 1.0])
    judges = pd.read_csv(tables / "people_judges.csv").query("annotator == 'Bob'")
    # All 12 written traces are called unclear by everybody; the judge has no label for one of them.
    assert list(judges["n"]) == [14, 11]
    assert set(judges["five_way"]) == {1.0}
    corrected = pd.read_csv(tables / "people_corrected.csv")
    assert list(corrected["rate"]) == [0.0, 0.0]
    assert {file.name for file in tables.iterdir()} == {
        "agreement.md",
        "annotations.csv",
        "problems.csv",
        "annotators.csv",
        *(f"people_{name}.csv" for name in ("reliability", "pairs", "judges", "corrected", "relevance", "rates")),
    }


def test_the_command_with_files_that_are_not_right(
    sample: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = sample[1]
    bad = out / "bad.csv"
    bad.write_text("id\nt001\n", encoding="utf-8")
    assert main(["read", str(out), str(bad), str(filled(out, "Ann"))]) == 1
    shown = capsys.readouterr()
    assert f"problem: {bad}: has no column label, relevance, sample" in shown.err
    assert "### What was labelled" in shown.out
    assert main(["read", str(out), str(bad)]) == 1
    assert "error: no file holds a label of this sample" in capsys.readouterr().err
    assert main(["read", str(out / "nowhere"), str(bad)]) == 1
    assert "key.parquet does not exist" in capsys.readouterr().err
    assert not (out / "nowhere").exists()


def test_many_problems_are_kept_in_a_file(sample: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    out = sample[1]
    path = filled(out, "Ann")
    digest = read_key(out).digest
    path.write_text(
        path.read_text(encoding="utf-8") + "".join(f"z{n}\x1b,Ann,unclear,1,,,{digest}\n" for n in range(25)),
        encoding="utf-8",
    )
    assert main(["read", str(out), str(path)]) == 0
    err = capsys.readouterr().err
    assert err.count("the sample has no text") == 20
    assert f"problem: 5 more, all in {out / 'agreement' / 'problems.csv'}" in err
    assert "\x1b" not in err
    assert len((out / "agreement" / "problems.csv").read_text(encoding="utf-8").splitlines()) == 26
