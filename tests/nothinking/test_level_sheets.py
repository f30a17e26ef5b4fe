"""Levels 2 and 3: their files there and back, and their sheets with figures computed by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from tests.nothinking.examples import answered
from tests.nothinking.test_tables import cells, value
from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed, analyse
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.level_tables import level_sheets
from thinkgap.nothinking.levels import (
    JUDGEMENTS_FILE,
    JUDGEMENTS_SCHEMA,
    RELEVANCE_FILE,
    RELEVANCE_SCHEMA,
    judgements_table,
    pairs_of,
    read_judgements,
    read_relevance,
    relevance_table,
    write_levels,
)
from thinkgap.nothinking.store import to_table
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.types import Judgement, Pair, Relevance, TraceLabel

ROWS = [
    analyse(one)
    for one in (
        answered(r"\boxed{B}", item="a", model="m"),  # no trace
        answered(r"Ice floats, so \boxed{B}", item="b", model="m"),
        answered(r"Ice floats, so \boxed{B}", item="c", model="m"),  # the same texts, another item
        answered(r"Sure! \boxed{A}", item="d", model="m"),
        answered(r"Hm. \boxed{72}", "open", item="e", model="m", dataset="other"),
    )
]
FLOATS, SURE, HM = (Pair("Which one?", trace) for trace in ("Ice floats, so", "Sure!", "Hm."))
CLOSE = {
    FLOATS: Relevance(0.8, 3, 4, False, 0.8, 0.8),
    SURE: Relevance(-0.2, 3, 300, True, 0.1, 0.3),
    HM: Relevance(0.3, 3, 2, False, 0.3, 0.3),
}


def said(label: TraceLabel, **more: Any) -> Judgement:
    return Judgement(label, **more)


RULED = {
    FLOATS: said("explicit_reasoning", evidence="so", asked=0),
    SURE: said("generic_or_off_topic", evidence="Sure", asked=0),
    HM: said("unclear", asked=0),
}
SERVED = {
    FLOATS: said("explicit_reasoning", evidence="not there", verbatim=False, asked=2),
    SURE: Judgement(None, "judge_error", asked=4, reason="no JSON"),
    HM: said("explicit_reasoning", shortened=True),
}


def tables() -> tuple[pa.Table, pa.Table]:
    return (
        relevance_table(ROWS, {"mini": CLOSE}),
        judgements_table(ROWS, {"rules": RULED, "gpt": SERVED}, {"rules": "rules", "gpt": "served"}),
    )


def sheets(rows: list[Analysed] = ROWS) -> dict[str, Sheet]:
    relevance, judgements = (table.to_pandas() for table in tables())
    return {one.name: one for one in level_sheets(to_table(rows).to_pandas(), relevance, judgements)}


def test_each_distinct_pair_is_sent_once_and_an_empty_trace_never() -> None:
    assert pairs_of(ROWS) == [FLOATS, SURE, HM]


def test_files_there_and_back(tmp_path: Path) -> None:
    write_levels(tmp_path, *tables())
    relevance, judgements = read_relevance(tmp_path), read_judgements(tmp_path)
    assert (relevance, judgements) == tables()
    assert relevance.column("cosine").to_pylist() == [0.0, 0.8, 0.8, -0.2, 0.3], "raw and unclipped; empty is 0"
    assert relevance.column("empty").to_pylist() == [True, False, False, False, False]
    assert judgements.num_rows == 10
    assert judgements.slice(0, 2).column("label").to_pylist() == ["empty", "empty"]
    assert judgements.column("asked").to_pylist() == [0, 0, 2, 0, 2, 0, 4, 0, 1, 0]
    empty = relevance_table(ROWS, {}), judgements_table(ROWS, {}, {})
    write_levels(tmp_path, *empty)
    assert not list(tmp_path.iterdir()), "a run that measured nothing keeps no file of an earlier one"
    assert (read_relevance(tmp_path), read_judgements(tmp_path)) == empty


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda rows: [row | {"label": "explicit"} for row in rows], "'label' holds \\['explicit'\\]"),
        (lambda rows: [row | {"status": "refused"} for row in rows], "contradict"),
        (lambda rows: rows[::-1], "not sorted"),
        (lambda rows: [*rows, rows[-1]], "two responses have the key"),
    ],
)
def test_changed_files_are_refused(tmp_path: Path, changed: Any, message: str) -> None:
    write_levels(tmp_path, *tables())
    table = read_judgements(tmp_path)
    pq.write_table(pa.Table.from_pylist(changed(table.to_pylist()), schema=table.schema), tmp_path / JUDGEMENTS_FILE)
    with pytest.raises(StoreError, match=message):
        read_judgements(tmp_path)
    (tmp_path / RELEVANCE_FILE).write_bytes(b"PAR1")
    with pytest.raises(StoreError, match="damaged"):
        read_relevance(tmp_path)


def test_levels_side_by_side() -> None:
    found = cells(sheets()["nothinking_levels"], "m", "mcq", "think_off", "pooled")
    assert value(found["etr_strict"]) == (1 / 4, 4)
    assert value(found["qrel_mini"]) == (pytest.approx((0 + 0.8 + 0.8 - 0.2) / 4), 4)
    assert value(found["nonempty_qrel_mini"]) == (pytest.approx((0.8 + 0.8 - 0.2) / 3), 3)
    assert value(found["explicit_rules"]) == (2 / 4, 4)
    assert value(found["explicit_gpt"]) == (2 / 3, 3), "the response without a label is left out"
    assert (value(found["low_gpt"]), value(found["high_gpt"])) == ((2 / 4, 4), (3 / 4, 4)), "bounds stand beside it"
    assert "low_rules" not in found, "every response has a label of the rules"
    other = cells(sheets()["nothinking_levels_datasets"], "m", "other", "think_off")
    assert value(other["explicit_gpt"]) == (1.0, 1)
    assert value(other["explicit_rules"]) == (0.0, 1)


def test_rules_are_never_called_eir() -> None:
    for sheet in sheets().values():
        headings = [column.heading for column in sheet.columns if "rules" in column.name]
        assert all("rules judge" in heading and "EIR" not in heading for heading in headings)
    assert "rules judge (rules) %" in sheet_markdown(sheets()["nothinking_levels"])
    assert "EIR gpt %" in sheet_markdown(sheets()["nothinking_levels"])
    assert "rules judge" in sheets()["nothinking_judged_rules"].title


def test_labels_of_a_judge_with_bounds() -> None:
    found = cells(sheets()["nothinking_judged_gpt"], "m", "mcq", "think_off")
    # Four responses: empty, explicit twice, and one without a label.
    assert value(found["explicit"]) == (2 / 3, 3)
    assert (value(found["low"]), value(found["high"])) == ((2 / 4, 4), (3 / 4, 4))
    assert value(found["empty"]) == (1 / 3, 3)
    assert value(found["generic_or_off_topic"]) == (0.0, 3)
    assert value(found["unlabelled"]) == (1 / 4, 4)
    assert value(found["not_verbatim"]) == (1.0, 2)
    assert value(found["shortened"]) == (0.0, 2)
    whole = cells(sheets()["nothinking_judged_rules"], "m", "mcq", "think_off")
    labels = ("explicit", "empty", "paraphrase_only", "relevant_non_inferential", "generic_or_off_topic", "unclear")
    assert sum(whole[name].value for name in labels) == 1


def test_relevance_and_its_sensitivity() -> None:
    found = cells(sheets()["nothinking_relevance"], "m", "mcq", "think_off")
    assert value(found["chunk_mean_mini"]) == (pytest.approx((0 + 0.8 + 0.8 + 0.1) / 4), 4)
    assert value(found["chunk_max_mini"]) == (pytest.approx((0 + 0.8 + 0.8 + 0.3) / 4), 4)
    assert value(found["truncated_mini"]) == (1 / 3, 3)


def test_labels_by_length() -> None:
    sheet = sheets()["nothinking_judged_lengths_gpt"]
    # Four traces: 1 word (Sure, no label; Hm), 3 words twice. Ten groups of four traces are four groups of one.
    assert [row[1:5] for row in sheet.rows] == [("1", 1, 1, 1), ("2", 1, 1, 1), ("3", 3, 3, 1), ("4", 3, 3, 1)]
    assert sheet.rows[0][5] == Missing("no response has a label")
    assert [value(row[5]) for row in sheet.rows[1:]] == [(1.0, 1), (1.0, 1), (1.0, 1)]


def test_without_levels_there_are_no_sheets() -> None:
    frame = to_table(ROWS).to_pandas()
    none = relevance_table(ROWS, {}).to_pandas(), judgements_table(ROWS, {}, {}).to_pandas()
    assert level_sheets(frame, *none) == []
    only = level_sheets(frame, tables()[0].to_pandas(), none[1])
    assert [one.name for one in only] == ["nothinking_levels", "nothinking_levels_datasets", "nothinking_relevance"]
    for sheet in only:
        assert sheet_dicts(sheet)


def test_rows_that_were_not_measured_are_an_error_and_not_left_out() -> None:
    relevance, judgements = (table.to_pandas() for table in tables())
    with pytest.raises(StoreError, match="mini has read 4 of 5 responses"):
        level_sheets(to_table(ROWS).to_pandas(), relevance.iloc[1:], judgements)


def test_the_page_names_every_column() -> None:
    page = (ROOT / "docs" / "levels_tables.md").read_text(encoding="utf-8")
    tables = page.split("\n## ")[1:]
    for part, schema in zip(tables, (RELEVANCE_SCHEMA, JUDGEMENTS_SCHEMA), strict=True):
        rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", part, flags=re.MULTILINE))
        expected = {
            field.name: f"{field.type}{', may be missing' if field.nullable else ''}"
            for field in schema
            if field.name not in KEY
        }
        assert rows == expected
