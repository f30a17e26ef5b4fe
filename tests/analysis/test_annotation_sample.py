"""Drawing what people label: exact shares, exact size, the seed, the key and what is blinded."""

from __future__ import annotations

import csv
import hashlib
import io
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from analysis.annotate import main
from analysis.annotation.page import page, sheet_csv
from analysis.annotation.sample import apportion, draw, read_key, read_pool
from tests.analysis.annotation_runs import ordinary_run, response, write_run
from thinkgap.errors import ConfigError, DataError, StoreError


def pool(**cells: tuple[int, int]) -> pd.DataFrame:
    """Cell (a model) -> how many written traces and how many empty ones."""
    rows = [
        {
            "dataset": "d",
            "item_id": f"{model}-{place}",
            "presentation": "identity",
            "mode": "m",
            "model": model,
            "space": "mcq",
        }
        | {"problem": "p", "trace": f"text {place}" if place < written else "", "empty": place >= written}
        for model, (written, empty) in cells.items()
        for place in range(written + empty)
    ]
    return pd.DataFrame(rows)


def counts(rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    return {
        model: (sum(not empty for empty in own), sum(own))
        for model in sorted(set(rows["model"]))
        if (own := list(rows.loc[rows["model"] == model, "empty"]))
    }


def test_largest_remainders() -> None:
    # 10 of 7 + 2 + 1... quotas 3.5, 2.25, 4.25: floors 3 + 2 + 4 = 9, the tenth goes to the remainder .5.
    assert apportion([Fraction(7, 2), Fraction(9, 4), Fraction(17, 4)], [0, 1, 2]) == [4, 2, 4]
    # Thirds: equal remainders are rounded up in the order given, not by place.
    assert apportion([Fraction(4, 3)] * 3, [2, 0, 1]) == [1, 1, 2]
    assert apportion([Fraction(2), Fraction(0)], [1, 0]) == [2, 0]
    # Shares of empty traces need not add up to a whole: 0.4 + 0.4 = 0.8 is rounded to 1, 0.2 + 0.2 = 0.4 to 0.
    assert apportion([Fraction(2, 5)] * 2, [1, 0]) == [0, 1]
    assert apportion([Fraction(1, 5)] * 2, [1, 0]) == [0, 0]


def test_each_cell_and_its_empty_traces_have_their_share() -> None:
    # 100 responses in cells of 60, 30 and 10, sample 20: 12 + 6 + 2. Empty: 12 * 15/60 + 6 * 30/30 + 2 * 0 = 3 + 6.
    found = draw(pool(a=(45, 15), b=(0, 30), c=(10, 0)), 20, 0)
    assert counts(found.rows) == {"a": (9, 3), "b": (0, 6), "c": (2, 0)}
    assert found.notes == ()
    assert list(found.rows["id"]) == [f"t{place:03d}" for place in range(1, 21)]
    assert not found.rows.duplicated(["item_id"]).any()
    assert not found.rows["model"].is_monotonic_increasing


def test_shares_that_are_no_whole_numbers() -> None:
    # 10 of 70: a 4.29, b 5.71; floors 4 + 5, the tenth to b: 4 + 6. Empty: 4 * 7/30 + 6 * 7/40 = 0.93 + 1.05 = 1.98,
    # so 2: floors 0 + 1, the second to a.
    found = draw(pool(a=(23, 7), b=(33, 7)), 10, 5)
    assert counts(found.rows) == {"a": (3, 1), "b": (5, 1)}


def test_cells_that_are_too_small_are_named() -> None:
    found = draw(pool(a=(97, 0), b=(3, 0)), 10, 0)
    assert counts(found.rows) == {"a": (10, 0)}
    assert found.notes == ("1 of 2 cells are too small for a place in the sample",)


def test_equal_cells_are_favoured_by_chance_alone() -> None:
    equal = pool(a=(9, 0), b=(9, 0), c=(9, 0))
    favoured = {max(counts(draw(equal, 10, seed).rows).items(), key=lambda one: one[1])[0] for seed in range(20)}
    assert favoured == {"a", "b", "c"}


def test_the_seed_decides_and_the_order_of_runs_does_not(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [response(f"q{place}", f"text {place}", model="a") for place in range(30)])
    two = write_run(tmp_path / "two", [response(f"q{place}", f"text {place}", model="b") for place in range(30)])
    first, again = draw(read_pool([one, two]), 20, 3), draw(read_pool([two, one]), 20, 3)
    pd.testing.assert_frame_equal(first.rows, again.rows)
    assert first.digest == again.digest
    assert page(first) == page(again)
    assert draw(read_pool([one, two]), 20, 4).digest != first.digest


def test_a_smaller_pool_is_taken_whole() -> None:
    found = draw(pool(a=(3, 1)), 600, 0)
    assert counts(found.rows) == {"a": (3, 1)}
    assert found.notes == ("the pool has 4 responses, fewer than the 600 asked for: all are in the sample",)


def test_without_empty_traces() -> None:
    assert counts(draw(pool(a=(4, 40), b=(4, 0)), 4, 0, include_empty=False).rows) == {"a": (2, 0), "b": (2, 0)}
    with pytest.raises(DataError, match="nothing to label"):
        draw(pool(a=(0, 3)), 2, 0)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="sample of 0"):
        draw(pool(a=(3, 0)), 0, 0)
    with pytest.raises(ConfigError, match="no cells by 'modes'; did you mean 'mode'"):
        draw(pool(a=(3, 0)), 2, 0, ["modes"])


def test_a_response_in_two_runs(tmp_path: Path) -> None:
    run = ordinary_run(tmp_path / "run")
    with pytest.raises(DataError, match="15 responses are in two of the runs"):
        read_pool([run, run])


def test_files_of_a_sample_and_what_annotators_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = ordinary_run(tmp_path / "run"), tmp_path / "out"
    assert main(["make", str(run), "--out", str(out), "--n", "15", "--seed", "2"]) == 0
    said = capsys.readouterr().out
    assert "15 responses, 3 of them with an empty trace" in said
    assert f"keep to yourself until all are done: {out / 'key.parquet'}" in said
    key = read_key(out)
    assert set(key.rows["item_id"]) == {*(f"q{place}" for place in range(12)), "e0", "e1", "e2"}
    assert set(key.rows["model"]) == {"secret-model"}
    empty = key.rows.loc[key.rows["empty"]]
    assert set(empty["trace_sha256"]) == {hashlib.sha256(b"").hexdigest()}
    for name in ("annotate.html", "sample.csv"):
        text = (out / name).read_text(encoding="utf-8")
        assert "Step 3 follows" in text
        for secret in ("secret-model", "secret_set", "think_off", "boxed", '"gold', 'q3"'):
            assert secret not in text, (name, secret)
    rows = list(csv.DictReader(io.StringIO((out / "sample.csv").read_text(encoding="utf-8-sig"))))
    assert [row["id"] for row in rows] == list(key.rows["id"])
    assert {row["sample"] for row in rows} == {key.digest}
    filled = {(row["label"], row["relevance"]) for row in rows if not row["trace"]}
    assert filled == {("empty", "1")}
    assert {(row["label"], row["relevance"]) for row in rows if row["trace"]} == {("", "")}
    # A spreadsheet would compute this one.
    assert [row["trace"][:12] for row in rows if "HYPERLINK" in row["trace"]] == ["'=HYPERLINK("]


def test_a_folder_holds_one_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = ordinary_run(tmp_path / "run"), tmp_path / "out"
    make = ["make", str(run), "--out", str(out), "--n", "10"]
    assert main(make) == 0
    files = {file.name: file.read_bytes() for file in out.iterdir()}
    assert main(make) == 0
    assert main([*make, "--seed", "1"]) == 1
    assert "holds another sample" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in out.iterdir()} == files


def test_a_key_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"key\.parquet does not exist"):
        read_key(tmp_path)
    (tmp_path / "key.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match="is damaged"):
        read_key(tmp_path)
    pool(a=(2, 0)).to_parquet(tmp_path / "key.parquet")
    with pytest.raises(StoreError, match="is no key of a sample"):
        read_key(tmp_path)


def test_the_sheet_is_for_spreadsheets() -> None:
    assert sheet_csv(draw(pool(a=(2, 0)), 2, 0)).startswith(
        b"\xef\xbb\xbfid,annotator,label,relevance,note,seconds,sample,"
    )
