"""Sheets of judges: agreement, labels, replication and confusion, by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from thinkgap import metrics
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.nothinking.agreement_tables import judge_agreement_sheets
from thinkgap.nothinking.rated import mean_of_cells
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown

E, P, R, G, EMPTY = (
    "explicit_reasoning",
    "paraphrase_only",
    "relevant_non_inferential",
    "generic_or_off_topic",
    "empty",
)


def output(item: str, labels: dict[str, str | None], **fields: str) -> list[dict[str, str | None]]:
    key = {
        "dataset": "d",
        "item_id": item,
        "presentation": "identity",
        "mode": "strict",
        "model": "m",
        "space": "mcq",
        "group_id": item,
        **fields,
    }
    return [
        {**key, "judge": judge, "label": label, "status": "judge_error" if label is None else "ok"}
        for judge, label in labels.items()
    ]


def frame(outputs: list[list[dict[str, Any]]]) -> pd.DataFrame:
    return pd.DataFrame([row for rows in outputs for row in rows])


def both(first: str | None, second: str | None) -> dict[str, str | None]:
    return {"one": first, "two": second}


# Model m: 4 non-empty with both labels, 1 with an error, 2 empty. Model n: 1 non-empty.
OUTPUTS = [
    output("a", both(E, E)),
    output("b", both(E, P)),
    output("c", both(R, G)),
    output("d", both(P, P)),
    output("e", both(E, None)),
    output("f", both(EMPTY, EMPTY)),
    output("g", both(EMPTY, EMPTY), space="bool"),
    output("h", both(E, E), model="n", mode="soft"),
]


def sheets(outputs: list[list[dict[str, Any]]], **settings: Any) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in judge_agreement_sheets(frame(outputs), draws=200, **settings)}


def cells(sheet: Sheet, *key: str) -> dict[str, Any]:
    (row,) = [row for row in sheet.rows if row[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, row, strict=True)}


def value(cell: Any) -> tuple[Any, int]:
    assert isinstance(cell, Estimate), cell
    return (pytest.approx(cell.value), cell.n)


def test_agreement_overall_by_hand() -> None:
    sheet = sheets(OUTPUTS)["judge_agreement"]
    found = cells(sheet, "one", "two", "overall", "all", "all")
    # a, d, f, g, h of a to d and f to h.
    assert value(found["five_way"]) == (5 / 7, 7)
    assert (found["n"], found["excluded"]) == (7, 1)
    # Shares of one: E 3/7, P 1/7, R 1/7, empty 2/7; of two: E 2/7, P 2/7, G 1/7, empty 2/7. By chance
    # (3*2 + 1*2 + 2*2) / 49 = 12/49; (35/49 - 12/49) / (37/49) = 23/37.
    assert value(found["five_way_kappa"]) == (23 / 37, 7)
    # Explicit or not: only b differs. 3/7 and 2/7: by chance (3*2 + 4*5) / 49 = 26/49; (42 - 26) / (49 - 26) = 16/23.
    assert value(found["binary"]) == (6 / 7, 7)
    assert value(found["binary_kappa"]) == (16 / 23, 7)
    assert found["binary"] == metrics.rate([1, 0, 1, 1, 1, 1, 1], list("abcdfgh"))


def test_empty_traces_inflate_agreement_and_are_left_out_apart() -> None:
    found = cells(sheets(OUTPUTS)["judge_agreement"], "one", "two", "overall", "all", "non-empty")
    assert value(found["five_way"]) == (3 / 5, 5)
    # Shares of one: E 3/5, P 1/5, R 1/5; of two: E 2/5, P 2/5, G 1/5. (15/25 - 8/25) / (17/25).
    assert value(found["five_way_kappa"]) == (7 / 17, 5)
    assert (found["n"], found["excluded"]) == (5, 1)


def test_agreement_by_model_mode_and_space() -> None:
    sheet = sheets(OUTPUTS, modes=("strict", "soft"))["judge_agreement"]
    assert value(cells(sheet, "one", "two", "model", "m", "non-empty")["five_way"]) == (2 / 4, 4)
    one = cells(sheet, "one", "two", "model", "n", "all")
    assert value(one["five_way"]) == (1.0, 1)
    assert isinstance(one["five_way_kappa"], Missing)  # one label only
    assert value(cells(sheet, "one", "two", "mode", "strict", "all")["five_way"]) == (4 / 6, 6)
    assert value(cells(sheet, "one", "two", "answer space", "mcq", "all")["five_way"]) == (4 / 6, 6)
    silent = cells(sheet, "one", "two", "answer space", "bool", "non-empty")
    assert (silent["n"], silent["excluded"]) == (0, 0)
    assert [row[3] for row in sheet.rows if row[2] == "mode"] == ["strict", "strict", "soft", "soft"]
    assert [row[3] for row in sheet.rows if row[2] == "answer space"] == ["bool", "bool", "mcq", "mcq"]
    text = sheet_markdown(sheet)
    assert "only one label occurs" in text
    assert "no rows" in text
    assert sheet_dicts(sheet)[0]["five_way"] == pytest.approx(5 / 7)


def test_a_judge_that_labels_everything_alike() -> None:
    alike = [output(item, {"one": label, "two": G}) for item, label in zip("abc", (E, P, G), strict=True)]
    found = cells(sheets(alike)["judge_agreement"], "one", "two", "overall", "all", "all")
    assert value(found["five_way"]) == (1 / 3, 3)
    assert value(found["five_way_kappa"]) == (0, 3)


def test_labels_by_judge() -> None:
    sheet = sheets(OUTPUTS)["judge_labels"]
    two = cells(sheet, "two", "all", "all")
    assert (two["n"], two["unlabelled"]) == (8, 1)
    shares = {EMPTY: 2, E: 2, P: 2, R: 0, G: 1, "unclear": 0}
    assert {name: value(two[name]) for name in shares} == {name: (count / 7, 7) for name, count in shares.items()}
    assert value(cells(sheet, "one", "strict", "mcq")[E]) == (3 / 6, 6)
    assert value(cells(sheet, "one", "strict", "bool")[EMPTY]) == (1.0, 1)


def test_one_judge_has_labels_and_no_agreement() -> None:
    alone = [[row for row in rows if row["judge"] == "one"] for rows in OUTPUTS]
    assert list(sheets(alone)) == ["judge_labels"]
    assert judge_agreement_sheets(frame(OUTPUTS).iloc[:0]) == []


def test_replication_counts_models_and_data_sets_equally() -> None:
    rows = [
        *(output(item, both(E, E)) for item in "abc"),
        output("d", both(E, G)),
        output("a", both(EMPTY, EMPTY), model="n"),
        output("b", both(E, None), model="n"),  # not labelled by both
        output("e", both(E, E), space="open", dataset="o"),
    ]
    sheet = sheets(rows)["judge_replication"]
    # Model m: 4/4 by one and 3/4 by two; model n: 0/1.
    assert value(cells(sheet, "strict", "cells equally", "one")["mcq"]) == ((1 + 0) / 2, 5)
    assert value(cells(sheet, "strict", "cells equally", "two")["mcq"]) == ((3 / 4 + 0) / 2, 5)
    assert value(cells(sheet, "strict", "pooled", "two")["mcq"]) == (3 / 5, 5)
    assert value(cells(sheet, "strict", "pooled", "one")["open"]) == (1.0, 1)
    assert [column.name for column in sheet.columns[3:]] == ["mcq", "open"]
    assert "6 of 7" in sheet.notes[0]


def test_confusion_by_cell() -> None:
    sheet = sheets(OUTPUTS)["judge_confusion"]
    explicit = cells(sheet, "one", "two", "all", "all", "all", "explicit reasoning")
    assert {name: explicit[name] for name in (E, P, R, G, "unclear", EMPTY, "unlabelled")} == {
        **dict.fromkeys((R, G, "unclear", EMPTY), 0),
        **{E: 2, P: 1, "unlabelled": 1},
    }
    assert cells(sheet, "one", "two", "m", "strict", "mcq", "relevant non inferential")[G] == 1
    assert cells(sheet, "one", "two", "m", "strict", "bool", "empty")[EMPTY] == 1
    n = [column.name for column in sheet.columns].index(EMPTY)
    assert sum(sum(map(int, row[n:])) for row in sheet.rows if row[2] == "all") == len(OUTPUTS)  # type: ignore[arg-type]
    assert not [row for row in sheet.rows if not any(row[n:])]


def test_three_judges_of_which_one_was_given_less() -> None:
    rows = [*OUTPUTS, output("i", {"one": E, "two": E, "three": R}), output("j", {"one": E, "two": E, "three": E})]
    sheet = sheets(rows)["judge_agreement"]
    found = cells(sheet, "one", "three", "overall", "all", "all")
    assert (found["n"], found["excluded"]) == (2, 0)
    assert value(found["five_way"]) == (1 / 2, 2)
    # Eight outputs for each of the two pairs with the third judge.
    assert "16 outputs that only one judge" in sheet.notes[1]


def test_a_judge_of_rules_is_named_as_one() -> None:
    judged = frame(OUTPUTS).assign(kind=lambda rows: rows["judge"].map({"one": "rules", "two": "served"}))
    sheet = judge_agreement_sheets(judged, draws=50)[0]
    assert {row[0] for row in sheet.rows} == {"one (rules)", "two"}


def test_frames_that_contradict_themselves_are_refused() -> None:
    judged = frame(OUTPUTS)
    with pytest.raises(DataError, match="lack the columns status"):
        judge_agreement_sheets(judged.drop(columns="status"))
    with pytest.raises(DataError, match="two rows of"):
        judge_agreement_sheets(pd.concat([judged, judged.iloc[:1]]))
    with pytest.raises(DataError, match="unknown labels reasoning"):
        judge_agreement_sheets(judged.replace({"label": {G: "reasoning"}}))
    with pytest.raises(DataError, match="'f', 'identity', 'strict', 'm'\\) is empty to one judge"):
        judge_agreement_sheets(frame([*OUTPUTS[:5], output("f", both(EMPTY, G))]))
    # A label beside another status is none.
    judged.loc[judged["item_id"] == "a", "status"] = "refused"
    found = {sheet.name: sheet for sheet in judge_agreement_sheets(judged, draws=50)}["judge_agreement"]
    assert cells(found, "one", "two", "overall", "all", "all")["n"] == 6


def test_mean_of_cells_by_hand() -> None:
    # Cells of 2 and 4 rows with means 1/2 and 1/4; each row weighs 6/(2*2) = 3/2 or 6/(2*4) = 3/4.
    found = mean_of_cells([1, 0, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1], range(6), is_rate=True)
    assert found.value == pytest.approx(3 / 8)
    # Weighted squares: 2 * (3/4)^2 + (9/16)^2 + 3 * (3/16)^2 = 1.125 + 0.31640625 + 0.10546875; over 6 * 5.
    error = math.sqrt((1.125 + 0.31640625 + 0.10546875) / 30)
    assert found.high == pytest.approx(min(1, 3 / 8 + 2.570582 * error), abs=1e-6)  # t with 5 degrees of freedom
    assert found.low == 0
    # Two models on the same items are no twice as many items.
    values, cells_, items = [1, 0, 1, 1, 0, 1] * 2, [0] * 6 + [1] * 6, list(range(6)) * 2
    shared = mean_of_cells(values, cells_, items, is_rate=False)
    once = mean_of_cells(values[:6], cells_[:6], items[:6], is_rate=False)
    assert (shared.value, shared.low) == pytest.approx((once.value, once.low))
    assert math.isnan(mean_of_cells([1, 1], [0, 1], [0, 1], is_rate=True).low)
    assert mean_of_cells([], [], [], is_rate=True).n == 0
