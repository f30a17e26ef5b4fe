"""The native readout by fields of the items: figures by hand, and rows that do not count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

from analysis.table import main
from tests.items import mcq
from tests.store.examples import record
from thinkgap.errors import StoreError
from thinkgap.metrics import Estimate
from thinkgap.readouts.by_fields import by_fields_sheet
from thinkgap.readouts.sheet import Missing, Sheet
from thinkgap.store import RunFolder
from thinkgap.store.items import read_items, write_items
from thinkgap.store.records import RecordFacts, to_table
from thinkgap.types import Record

LEVELS = ("Level 10", "Level 10", "Level 10", "Level 2", "")
ITEMS = [mcq(f"q{n}", meta={"level": level} if level else {}) for n, level in enumerate(LEVELS)]


def records() -> list[Record]:
    """Gold in slot 1. Direct is right on all but q2; under the trigger slot 0 is read, but for q0 and q3."""
    direct = [record(f"q{n}", pred_slot=2 if n == 2 else 1) for n in range(5)]
    think = [record(f"q{n}", "think", pred_slot=1 if n in (0, 3) else 0, label_mass=0.25) for n in range(5)]
    proposed = [record(f"q{n}", presentation="verification_positive", pred_slot=0, k=2) for n in range(5)]
    numerals = [record(f"q{n}", presentation="letters_numeric", pred_slot=0) for n in range(5)]
    return [*direct, *think, *proposed, *numerals]


def sheet_of(folder: Path, by: Sequence[str], rows: Sequence[Record]) -> Sheet:
    write_items(folder, {"d": ITEMS})
    items = read_items(folder)
    assert items is not None
    return by_fields_sheet(to_table(rows), items, by, ["direct", "think"])


def rows_of(sheet: Sheet) -> list[dict[str, Any]]:
    return [dict(zip([column.name for column in sheet.columns], row, strict=True)) for row in sheet.rows]


def test_figures_by_hand(tmp_path: Path) -> None:
    sheet = sheet_of(tmp_path, ["level", "k"], records())
    rows = rows_of(sheet)
    assert sheet.name == "by_level_k"
    k = str(len(ITEMS[0].choices))
    assert [(row["level"], row["k"], row["condition"], row["n"]) for row in rows] == [
        ("Level 2", k, "direct", 1),
        ("Level 2", k, "think", 1),
        ("Level 10", k, "direct", 3),
        ("Level 10", k, "think", 3),
        ("(none)", k, "direct", 1),
        ("(none)", k, "think", 1),
    ]
    direct, think = rows[2:4]
    assert (direct["accuracy"].value, think["accuracy"].value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (think["accuracy"].low, think["accuracy"].high) == pytest.approx(proportion_confint(1, 3, method="wilson"))
    assert isinstance(direct["difference"], Missing)
    # q0 right under both, q1 lost, q2 wrong under both: -1/3, s = 1/sqrt(3), t(2) = 4.302653.
    assert isinstance(think["difference"], Estimate)
    assert think["difference"].value == pytest.approx(-1 / 3)
    assert think["difference"].high == pytest.approx(-1 / 3 + 4.302653 / 3, rel=1e-6)
    assert (think["first_slot"].value, think["gold_first"].value) == (pytest.approx(2 / 3), 0)
    assert (think["mean_reciprocal_k"], think["label_mass"].value) == (0.25, 0.25)


def test_an_item_that_the_run_did_not_keep_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="lacks item q9"):
        sheet_of(tmp_path, ["level"], [*records(), record("q9")])


def test_the_command_groups_a_run_afterwards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(tmp_path)
    folder.open({})
    folder.write_shard(records())
    folder.merge(("direct", "think"), RecordFacts(title="run"))
    assert main([str(tmp_path), "--by", "level"]) == 1
    assert "has no items.parquet" in capsys.readouterr().err
    write_items(tmp_path, {"d": ITEMS})
    assert main([str(tmp_path), "--by", "level", "--sheet", "by_level"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 6
    assert main([str(tmp_path), "--by", "level, k"]) == 0
    assert "### By level, k" in capsys.readouterr().out
    assert main([str(tmp_path), "--by", "levels"]) == 1
    assert "no item has a field 'levels'; did you mean 'level'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--by", "level", "--csv"])
    assert "--sheet by_FIELD" in capsys.readouterr().err


def test_nothing_but_records_of_whole_items_counts(tmp_path: Path) -> None:
    plain = [one for one in records() if one.presentation == "identity"]
    assert repr(sheet_of(tmp_path, ["k"], records())) == repr(sheet_of(tmp_path, ["k"], plain))
    assert isinstance(to_table(plain), pa.Table)
