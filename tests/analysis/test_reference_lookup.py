"""Lookups of published figures, their rounding, and the checks of the files that hold them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from analysis.reference import KEYS, Published, catalogue, figure, figures, find, published
from analysis.reference.blocks import FOLDER, read_figures
from analysis.reference.load import COLUMNS
from thinkgap.errors import DataError


def test_a_frame_has_what_is_asked_for() -> None:
    frame = published("inertia", "I.4", model="qwen3_4b", mode="think_off", measure="accuracy")
    assert list(frame.columns) == list(COLUMNS)
    assert frame["printed"].tolist() == ["75.0", "73.5", "65.5", "81.6"]
    assert frame["value"].tolist() == [75.0, 73.5, 65.5, 81.6]
    assert frame["decimals"].tolist() == [1] * 4
    assert set(frame["source"]) == {"arXiv 2610.11765, table I.4"}
    assert published("inertia", "I.1", area="STEM")["n"].unique().tolist() == [3153]
    assert published("prefix", "text", condition="let_me_think", measure="first_slot_seeds")["n"].tolist() == [pd.NA]
    assert len(published("prefix")) == len(figures("prefix"))
    assert published("inertia", "I.4", model="mine").empty
    assert list(published("inertia", "I.4", model="mine").columns) == list(COLUMNS)


def test_decimals_and_rounding_follow_the_print() -> None:
    mass = figure("prefix", "table3", "label_mass", condition="direct")
    assert (mass.value, mass.decimals) == (2.15e-8, 10)
    assert mass.rounded(2.1473e-8) == pytest.approx(2.15e-8)
    rank = figure("prefix", "table3", "gold_rank_change")
    assert (rank.value, rank.decimals, rank.rounded(21310.5)) == (21311.0, 0, 21311.0)
    rate = figure("prefix", "table2", "difference", condition="direct")
    assert (rate.printed, rate.value, rate.decimals) == ("+0.00", 0.0, 2)
    assert (rate.rounded(-0.125), rate.rounded(1.005)) == (-0.13, 1.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: published("prefx"), "no study 'prefx'; did you mean 'prefix'"),
        (lambda: catalogue("inertial"), "no study 'inertial'"),
        (lambda: published("inertia", "I.6"), "has no 'I.6'; did you mean"),
        (lambda: published("inertia", "I.4", modell="x"), "no key 'modell'; did you mean 'model'"),
        (lambda: published("inertia", "I.4", measure="acuracy"), "no measure 'acuracy'; did you mean 'accuracy'"),
        (lambda: published("inertia", "I.4", mode="think"), "no mode 'think'"),
        (lambda: published("inertia", "I.4", study_mode="M7"), "no study_mode 'M7'"),
        (lambda: find("prefix", "table2", "accuracy", condition="direct"), "2 published figures; say which .readout: "),
        (lambda: figure("inertia", "table4", "eir", mode="think_off"), "no such figure is published.*table4: none"),
        (lambda: figure("inertia", "H.1", "etr", mode="strict"), "H.1: part; only the first five rows"),
    ],
)
def test_lookups_that_cannot_be_answered_say_why(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_find_has_none_where_nothing_is_published() -> None:
    assert find("inertia", "H.1", "etr", mode="strict") is None
    assert find("inertia", "table4", "eir") is None


GOOD = {
    "table": "I.4",
    "source": "table I.4",
    "keys": {"dataset": "mmlu"},
    "etr": "content",
    "columns": "model | study_mode | n | accuracy/etr variant=identity | qrel",
    "rows": "a | M1 | 1,000 | 77.6 / 0.1 | –\nb | – | 10 | 1.5% / 2 | -0.5\n",
}


def stored(folder: Path, *blocks: dict[str, object]) -> list[Published]:
    path = folder / "figures.yaml"
    path.write_text(yaml.safe_dump(list(blocks), allow_unicode=True), encoding="utf-8")
    return read_figures(path, "inertia", frozenset({"I.4"}))


def test_a_block_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = stored(tmp_path, GOOD)
    assert [(one.keys["model"], one.measure, one.printed) for one in found] == [
        ("a", "accuracy", "77.6"),
        ("a", "etr", "0.1"),
        ("b", "accuracy", "1.5"),
        ("b", "etr", "2"),
        ("b", "qrel", "-0.5"),
    ]
    assert [(one.n, one.channels, one.keys["variant"], one.keys["mode"]) for one in found[1:4:2]] == [
        (1000, "content", "identity", "think_on"),
        (10, "content", "identity", ""),
    ]
    assert set(found[0].keys) == set(KEYS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "I.9"}, "has no 'I.9'"),
        ({"tabel": "x"}, "no field 'tabel'; did you mean 'table'"),
        ({"source": None}, "source is missing"),
        ({"etr": ""}, "etr says which ETR"),
        ({"etr": "both"}, "etr says which ETR"),
        ({"keys": {"data": "mmlu"}}, "no key 'data'"),
        ({"keys": {"k": 2}}, "k is 2; write a text in quotes"),
        ({"keys": {"space": "bools"}}, "no space 'bools'"),
        ({"columns": "model | study_mode | n | accuracy/ert | qrel"}, "no key or measure 'ert'"),
        ({"columns": "model | study_mode | n | accuracy/etr variant | qrel"}, "should be KEY=VALUE"),
        ({"rows": "a | M1 | 1,000 | 77.6 / 0.1"}, "4 cells for 5 columns"),
        ({"rows": "a | M1 | 1,000 | 77.6 | 0.1"}, "should hold accuracy/etr"),
        ({"rows": "a | M7 | 1,000 | 77.6 / 0.1 | –"}, "no study_mode 'M7'"),
        ({"rows": "a | M1 | many | 77.6 / 0.1 | –"}, "n is 'many'"),
        ({"rows": "a | M1 | 1 | 77.6 / 0.1 | 5%"}, "'5%' is no number in cosine"),
        ({"rows": "a | M1 | 1 | 77,6 / 0.1 | –"}, "'77,6' is no number"),
        ({"rows": "a | M1 | 1 | −7 / 0.1 | –"}, "is no number"),
        ({"rows": "a | M1 | 1 | nan / 0.1 | –"}, "'nan' is no number"),
        ({"rows": "a | M1 | 1 | 7 / 1 | –\na | M1 | 1 | 7 / 1 | –"}, "I.4, accuracy, a, .* is there twice: 7 and 7"),
    ],
)
def test_damaged_blocks_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        stored(tmp_path, GOOD | change)


def test_files_that_are_no_blocks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "figures.yaml"
    for text in ("a: 1", "[1]", "- ["):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"figures\.yaml"):
            read_figures(path, "inertia", frozenset())
    with pytest.raises(DataError, match="cannot be read"):
        read_figures(FOLDER / "none.yaml", "inertia", frozenset())
