"""Sheets of annotators: reliability, pairs, judges, corrected rates, common errors and relevance, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from thinkgap import metrics
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.metrics.prevalence import rogan_gladen
from thinkgap.nothinking.people import people_sheets
from thinkgap.readouts.sheet import Missing, Sheet, sheet_markdown

E, P, R, G, EMPTY = (
    "explicit_reasoning",
    "paraphrase_only",
    "relevant_non_inferential",
    "generic_or_off_topic",
    "empty",
)
# Per item: label and relevance by three annotators; None where somebody left it out.
SAID: dict[str, list[tuple[str | None, int | None] | None]] = {
    "i1": [(E, 5), (E, 5), (E, 4)],
    "i2": [(E, 4), (E, 5), (P, 3)],
    "i3": [(G, 2), (R, 3), (G, 2)],
    "i4": [(R, 3), (R, 3), None],
    "i5": [(P, 3), (E, 4), (None, 3)],  # a tie
    "i6": [(EMPTY, 1), (EMPTY, 1), (EMPTY, 1)],
    "i7": [(EMPTY, 1), (EMPTY, 1), (EMPTY, 1)],
}
JUDGED = {
    "one": {"i1": E, "i2": E, "i3": E, "i4": R, "i5": P, "i6": EMPTY, "i7": EMPTY},
    "two": {"i1": E, "i2": P, "i3": E, "i4": None, "i5": P, "i6": EMPTY, "i7": EMPTY},
}
COSINES = {"i1": 0.9, "i2": 0.7, "i3": 0.8, "i4": 0.5, "i5": 0.6, "i6": 0.0, "i7": 0.0}


def said_by_people(said: dict[str, list[tuple[str | None, int | None] | None]] = SAID) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"item": item, "annotator": f"A{number}", "label": one[0], "relevance": one[1]}
            for item, own in said.items()
            for number, one in enumerate(own, 1)
            if one is not None
        ]
    )


def judgements(judged: dict[str, dict[str, str | None]] = JUDGED) -> pd.DataFrame:  # type: ignore[assignment]
    return pd.DataFrame(
        [
            {"item": item, "judge": judge, "label": label, "status": "refused" if label is None else "ok"}
            for judge, own in judged.items()
            for item, label in own.items()
        ]
    )


def relevances(cosines: dict[str, float] = COSINES) -> pd.DataFrame:
    return pd.DataFrame([{"item": item, "encoder": "minilm", "cosine": cosine} for item, cosine in cosines.items()])


def sheets(*frames: pd.DataFrame | None) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in people_sheets(*frames, draws=100)}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> dict[str, Sheet]:
    return sheets(said_by_people(), judgements(), relevances())


def cells(sheet: Sheet, *key: str) -> dict[str, Any]:
    (row,) = [row for row in sheet.rows if row[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, row, strict=True)}


def value(cell: Any) -> tuple[Any, int]:
    assert isinstance(cell, Estimate), cell
    return (pytest.approx(cell.value), cell.n)


def test_alpha_by_hand(found: dict[str, Sheet]) -> None:
    sheet = found["people_reliability"]
    # Explicit or not, non-empty. Coincidences of i1 (1, 1, 1), i2 (1, 1, 0), i3 (0, 0, 0), i4 (0, 0), i5 (0, 1):
    # 11: 3 + 1, 00: 3 + 2, 10 and 01: 1 + 1 each; totals 6 and 7 of 13. Unequal 4 of 2 * 6 * 7 / 12 = 7.
    binary = cells(sheet, "explicit reasoning or not", "nominal", "non-empty")
    assert value(binary["alpha"]) == (1 - 4 / 7, 5)
    assert (binary["annotators"], binary["n"]) == (3, 5)
    # With two empty ones: 00 is 5 + 6, totals 6 and 13 of 19. 4 of 2 * 6 * 13 / 18 = 26/3.
    assert value(cells(sheet, "explicit reasoning or not", "nominal", "all")["alpha"]) == (1 - 12 / 26, 7)
    # Five-way, non-empty: totals E 6, P 2, R 3, G 2. Unequal: i2 2, i3 2, i5 2; by chance
    # (13^2 - 36 - 4 - 9 - 4) / 12 = 116/12. One label is missing: i5 has two.
    assert value(cells(sheet, "five-way label", "nominal", "non-empty")["alpha"]) == (1 - 6 * 12 / 116, 5)
    assert cells(sheet, "relevance, 1 to 5", "ordinal", "all")["n"] == 7


def test_pairs_by_hand(found: dict[str, Sheet]) -> None:
    pair = cells(found["people_pairs"], "A1", "A2", "non-empty")
    assert value(pair["five_way"]) == (3 / 5, 5)  # not i3 and i5
    # Shares of A1: E 2, G 1, R 1, P 1; of A2: E 3, R 2. By chance (6 + 2) / 25; (15 - 8) / (25 - 8).
    assert value(pair["five_way_kappa"]) == (7 / 17, 5)
    assert value(pair["binary"]) == (4 / 5, 5)
    assert value(pair["relevance"]) == (2 / 5, 5)  # i1 and i4
    # A1: 5, 4, 2, 3, 3 and A2: 5, 5, 3, 3, 4. Ranks 5, 4, 1, 2.5, 2.5 and 4.5, 4.5, 1.5, 1.5, 3; deviations
    # 2, 1, -2, -0.5, -0.5 and 1.5, 1.5, -1.5, -1.5, 0: 8.25 / sqrt(9.5 * 9).
    assert value(pair["relevance_spearman"]) == (8.25 / math.sqrt(85.5), 5)
    assert cells(found["people_pairs"], "A1", "A3", "all")["n"] == 5  # i4 and the label of i5 are missing


def test_judges_against_each_annotator(found: dict[str, Sheet]) -> None:
    sheet = found["people_judges"]
    # One says E to i1, i2, i3; A1 to i1, i2.
    first = cells(sheet, "one", "non-empty", "A1")
    assert value(first["five_way"]) == (4 / 5, 5)
    assert value(first["binary"]) == (4 / 5, 5)
    assert value(first["recall"]) == (2 / 2, 2)
    assert value(first["precision"]) == (2 / 3, 3)
    third = cells(sheet, "one", "non-empty", "A3")
    assert (third["n"], value(third["five_way"])) == (3, (1 / 3, 3))
    assert value(cells(sheet, "one", "all", "A3")["five_way"]) == (3 / 5, 5)
    second = cells(sheet, "one", "non-empty", "A2")
    assert value(second["five_way"]) == (3 / 5, 5)
    mean = cells(sheet, "one", "non-empty", "mean of annotators")
    assert mean["five_way"] == pytest.approx((4 / 5 + 3 / 5 + 1 / 3) / 3)
    assert mean["n"] == pytest.approx(13 / 3)
    # Majority: E, E, G, R and a tie; the tie is a tie of explicit or not too.
    assert value(cells(sheet, "one", "non-empty", "majority")["five_way"]) == (3 / 4, 4)
    assert value(cells(sheet, "one", "all", "majority")["binary"]) == (5 / 6, 6)


def test_a_figure_that_no_annotator_determines_is_missing() -> None:
    said: dict[str, list[tuple[str | None, int | None] | None]] = {"i1": [(G, 2), (E, 3)], "i2": [(P, 2), (P, 2)]}
    sheet = sheets(said_by_people(said), judgements({"one": {"i1": G, "i2": P}}))["people_judges"]
    found = cells(sheet, "one", "all", "A1")
    assert found["recall"] == Missing("people call no output explicit reasoning")
    assert found["precision"] == Missing("the judge calls no output explicit reasoning")
    mean = cells(sheet, "one", "all", "mean of annotators")
    assert mean["recall"] == Missing("some annotator has no figure")
    assert mean["binary"] == pytest.approx(3 / 4)


def test_the_corrected_rate_by_hand(found: dict[str, Sheet]) -> None:
    one = cells(found["people_corrected"], "one", "non-empty")
    assert value(one["rate"]) == (3 / 5, 5)
    # Against E, E, G, R: both explicit ones found, one of the two others spared.
    assert value(one["sensitivity"]) == (1, 2)
    assert value(one["specificity"]) == (1 / 2, 2)
    # (3/5 + 1/2 - 1) / (1 + 1/2 - 1) = 1/5.
    assert value(one["corrected"]) == (1 / 5, 5)
    everything = cells(found["people_corrected"], "one", "all")
    # (3/7 + 3/4 - 1) / (3/4): empty traces are negatives that nobody gets wrong.
    assert value(everything["corrected"]) == ((3 / 7 + 3 / 4 - 1) / (3 / 4), 7)
    # Two: 1 of 2 found, 0 of 1 spared.
    assert "sum to 100 % or less" in cells(found["people_corrected"], "two", "non-empty")["corrected"].reason


def test_outputs_that_nobody_annotated_count_for_the_rate_only() -> None:
    further = pd.DataFrame(
        [
            {"item": None, "judge": "one", "label": label, "status": "ok" if label else "judge_error"}
            for label in [E] * 3 + [G] * 10 + [EMPTY] * 5 + [None]
        ]
    )
    judged = pd.concat([judgements(), further], ignore_index=True)
    sheet = sheets(said_by_people(), judged)["people_corrected"]
    one = cells(sheet, "one", "non-empty")
    assert value(one["rate"]) == (6 / 18, 18)
    assert value(one["sensitivity"]) == (1, 2)
    # (1/3 + 1/2 - 1) / (1/2) is below 0.
    assert (one["corrected"].value, one["corrected"].n) == (0, 18)
    assert "the end that it passed" in " ".join(sheet.notes)
    assert value(cells(sheet, "one", "all")["rate"]) == (6 / 25, 25)
    # Rows of one group are worth less.
    grouped = judged.assign(dataset="d", group_id=[str(number // 4) for number in range(len(judged))])
    wide, narrow = (
        cells(sheets(said_by_people(), grouped)["people_corrected"], "one", "all"),
        cells(sheet, "one", "all"),
    )
    assert wide["rate"].high - wide["rate"].low > narrow["rate"].high - narrow["rate"].low
    own = grouped[(grouped["judge"] == "one") & grouped["label"].notna()]
    size = metrics.effective_n(own["label"] == E, own["group_id"])
    assert size < len(own)
    errors = wide["sensitivity"], wide["specificity"]
    assert wide["corrected"] == rogan_gladen(wide["rate"], *errors, 100, effective=size).rate
    assert wide["corrected"] != narrow["corrected"]


def test_the_corrected_interval_is_that_of_the_metric(found: dict[str, Sheet]) -> None:
    one = cells(found["people_corrected"], "one", "all")
    assert one["corrected"] == rogan_gladen(one["rate"], one["sensitivity"], one["specificity"], 100).rate


def test_a_label_beside_another_status_is_none() -> None:
    judged = judgements()
    judged.loc[(judged["judge"] == "one") & (judged["item"] == "i1"), "status"] = "refused"
    found = sheets(said_by_people(), judged)
    assert value(cells(found["people_judges"], "one", "non-empty", "A1")["five_way"]) == (3 / 4, 4)
    assert value(cells(found["people_corrected"], "one", "non-empty")["rate"]) == (2 / 4, 4)


def test_common_errors_by_hand(found: dict[str, Sheet]) -> None:
    # Of i1, i2, i3 (i4 has no label by two, i5 a tie): one errs on i3, two on i2 and i3.
    both = cells(found["people_errors"], "one", "two", "explicit or not", "non-empty")
    assert value(both["first_errs"]) == (1 / 3, 3)
    assert value(both["second_errs"]) == (2 / 3, 3)
    assert value(both["both_err"]) == (1 / 3, 3)
    assert both["expected"] == pytest.approx(2 / 9)
    # (1/3 - 2/9) / sqrt(2/9 * 2/9).
    assert value(both["phi"]) == (1 / 2, 3)
    assert value(cells(found["people_errors"], "one", "two", "explicit or not", "all")["both_err"]) == (1 / 5, 5)


def test_relevance_by_hand(found: dict[str, Sheet]) -> None:
    sheet = found["people_relevance"]
    # A1: 5, 4, 2, 3, 3 and cosines of rank 5, 3, 4, 1, 2: deviations 2, 1, -2, -0.5, -0.5 and 2, 0, 1, -2, -1.
    first = 3.5 / math.sqrt(9.5 * 10)
    assert value(cells(sheet, "minilm", "non-empty", "A1")["spearman"]) == (first, 5)
    # A2: 5, 5, 3, 3, 4: deviations 1.5, 1.5, -1.5, -1.5, 0: (3 + 0 - 1.5 + 3) / sqrt(9 * 10).
    second = 4.5 / math.sqrt(90)
    assert value(cells(sheet, "minilm", "non-empty", "A2")["spearman"]) == (second, 5)
    # A3 left i4 out: 4, 3, 2, 3 against ranks 4, 2, 3, 1: deviations 1.5, 0, -1.5, 0 and 1.5, -0.5, 0.5, -1.5.
    third = (2.25 - 0.75) / math.sqrt(4.5 * 5)
    assert value(cells(sheet, "minilm", "non-empty", "A3")["spearman"]) == (third, 4)
    mean = cells(sheet, "minilm", "non-empty", "mean of the correlations")
    assert mean["spearman"] == pytest.approx((first + second + third) / 3)
    # Means 14/3, 4, 7/3, 3, 10/3 rank 5, 4, 1, 2, 3; deviations 2, 1, -2, -1, 0: (4 + 0 - 2 + 2 + 0) / 10.
    assert value(cells(sheet, "minilm", "non-empty", "mean rating")["spearman"]) == (4 / 10, 5)
    # Medians 5, 4, 2, 3, 3: as A1.
    assert value(cells(sheet, "minilm", "non-empty", "median rating")["spearman"]) == (first, 5)
    assert cells(sheet, "minilm", "all", "A1")["spearman"].value > first  # empty ones are tied at the bottom


def test_an_encoder_that_sees_one_relevance_only() -> None:
    said: dict[str, list[tuple[str | None, int | None] | None]] = {"i1": [(G, 2)], "i2": [(P, 2)], "i3": [(E, None)]}
    sheet = sheets(said_by_people(said), None, relevances())["people_relevance"]
    assert cells(sheet, "minilm", "all", "A1")["spearman"] == Missing("all values of one side are equal")
    assert isinstance(cells(sheet, "minilm", "all", "mean of the correlations")["spearman"], Missing)
    other = sheets(said_by_people(said), None, relevances({"i9": 0.1}))["people_relevance"]
    assert cells(other, "minilm", "all", "A1")["spearman"] == Missing("no output has both a cosine and a relevance")


def test_rates_by_mode_and_space() -> None:
    frame = said_by_people()
    frame["mode"] = np.where(frame["item"].isin(["i1", "i2", "i3"]), "soft", "strict")
    frame["space"] = np.where(frame["item"].isin(["i1", "i6"]), "open", "mcq")
    sheet = sheets(frame, judgements())["people_rates"]
    assert [column.name for column in sheet.columns[2:]] == ["mcq", "open"]
    assert value(cells(sheet, "soft", "A2")["mcq"]) == (1 / 2, 2)
    assert value(cells(sheet, "soft", "A3")["mcq"]) == (0, 2)
    assert cells(sheet, "soft", "mean of annotators")["mcq"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert value(cells(sheet, "strict", "A3")["mcq"]) == (0, 1)  # i7; i4 and i5 have no label
    assert value(cells(sheet, "strict", "two")["mcq"]) == (0, 2)


def test_only_what_can_be_compared() -> None:
    assert people_sheets(said_by_people().iloc[:0]) == []
    alone = sheets(said_by_people({"i1": [(E, 5)], "i2": [(G, 1)]}))
    assert list(alone) == ["people_reliability"]
    assert cells(alone["people_reliability"], "five-way label", "nominal", "all")["alpha"] == Missing(
        "no output was rated by two annotators"
    )
    alike = sheets(said_by_people({"i1": [(E, 5), (E, 5)], "i2": [(E, 5), (E, 5)]}))
    assert isinstance(cells(alike["people_reliability"], "five-way label", "nominal", "all")["alpha"], Missing)
    assert "nothing to agree on beyond chance" in sheet_markdown(alike["people_reliability"])
    empty_judged = judgements().iloc[:0].astype(object)
    assert list(sheets(said_by_people(), empty_judged, relevances().iloc[:0])) == ["people_reliability", "people_pairs"]
    assert list(sheets(said_by_people(), judgements({"one": {"i1": E}}))) == [
        "people_reliability",
        "people_pairs",
        "people_judges",
        "people_corrected",
    ]


def test_frames_that_contradict_themselves_are_refused() -> None:
    frame = said_by_people()
    with pytest.raises(DataError, match="lack the columns relevance"):
        people_sheets(frame.drop(columns="relevance"))
    with pytest.raises(DataError, match="two rows of"):
        people_sheets(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(DataError, match="unknown labels reasoning"):
        people_sheets(frame.replace({"label": {P: "reasoning"}}))
    with pytest.raises(DataError, match="relevance 6 is none of 1 to 5"):
        people_sheets(frame.replace({"relevance": {5: 6}}))
    with pytest.raises(DataError, match="relevance 2.5 is none"):
        people_sheets(frame.replace({"relevance": {2: 2.5}}))
    with pytest.raises(DataError, match="the output i6 is empty to one rater"):
        people_sheets(frame, judgements({"one": {"i6": G}}))
    with pytest.raises(DataError, match="the output i6 is empty and has a cosine"):
        people_sheets(frame, None, relevances({"i6": 0.2}), draws=50)
    twice = judgements({"one": {"i1": E}})
    with pytest.raises(DataError, match="two rows of \\(item, judge\\)"):
        people_sheets(frame, pd.concat([twice, twice]))
