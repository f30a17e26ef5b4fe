"""Sheets of encoders and of repeats, and the balanced sample, by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from thinkgap.errors import ConfigError, DataError
from thinkgap.metrics import Estimate
from thinkgap.nothinking.encoder_tables import balanced_sample, balanced_sensitivity_sheets, encoder_sensitivity_sheets
from thinkgap.nothinking.repeats import repeat_sheet
from thinkgap.readouts.sheet import Missing, Sheet, sheet_markdown


def output(item: str, cosines: tuple[float, float] | None, **fields: str) -> list[dict[str, Any]]:
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
    first, second = cosines or (0.0, 0.0)
    return [
        {**key, "encoder": encoder, "cosine": cosine, "empty": cosines is None}
        for encoder, cosine in (("e5", first), ("minilm", second))
    ]


def frame(outputs: list[list[dict[str, Any]]]) -> pd.DataFrame:
    return pd.DataFrame([row for rows in outputs for row in rows])


OUTPUTS = [
    output("a", (0.9, 0.2)),
    output("b", (0.8, 0.6)),
    output("c", None),
    output("d", None),
    output("a", (0.7, -0.1), model="n"),
    output("e", None, space="bool", dataset="b"),
]


def sheets(outputs: list[list[dict[str, Any]]], **settings: Any) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in encoder_sensitivity_sheets(frame(outputs), draws=200, **settings)}


def cells(sheet: Sheet, *key: str) -> dict[str, Any]:
    (row,) = [row for row in sheet.rows if row[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, row, strict=True)}


def value(cell: Any) -> tuple[Any, int]:
    assert isinstance(cell, Estimate), cell
    return (pytest.approx(cell.value), cell.n)


def test_means_over_all_and_over_non_empty() -> None:
    sheet = sheets(OUTPUTS)["encoder_sensitivity"]
    # Model m: (0.9 + 0.8) / 4 or / 2; model n: 0.7.
    assert value(cells(sheet, "strict", "all", "pooled", "e5")["mcq"]) == (2.4 / 5, 5)
    assert value(cells(sheet, "strict", "all", "cells equally", "e5")["mcq"]) == ((1.7 / 4 + 0.7) / 2, 5)
    assert value(cells(sheet, "strict", "non-empty", "pooled", "e5")["mcq"]) == (2.4 / 3, 3)
    assert value(cells(sheet, "strict", "non-empty", "cells equally", "minilm")["mcq"]) == ((0.8 / 2 - 0.1) / 2, 3)
    assert value(cells(sheet, "strict", "all", "pooled", "minilm")["bool"]) == (0, 1)
    assert cells(sheet, "strict", "non-empty", "pooled", "minilm")["bool"].n == 0
    assert "no rows" in sheet_markdown(sheet)


def test_means_by_model() -> None:
    sheet = sheets(OUTPUTS)["encoder_models"]
    found = cells(sheet, "m", "strict", "mcq", "minilm")
    assert (found["n"], found["non_empty"]) == (4, 2)
    assert value(found["cosine"]) == (0.8 / 4, 4)
    assert value(found["cosine_non_empty"]) == (0.8 / 2, 2)
    assert cells(sheet, "m", "strict", "bool", "e5")["cosine_non_empty"] == Missing("no response has a trace")


def test_rank_correlation_of_encoders_by_hand() -> None:
    sheet = sheets(OUTPUTS)["encoder_correlation"]
    # Non-empty: ranks 3, 2, 1 and 2, 3, 1: 1 - 6 * (1 + 1 + 0) / (3 * 8) = 1/2.
    assert value(cells(sheet, "e5", "minilm", "overall", "all", "non-empty")["spearman"]) == (1 / 2, 3)
    # With three at 0: ranks 6, 5, 4, 2, 2, 2 and 5, 6, 1, 3, 3, 3 as -0.1 is below an empty trace's 0. Deviations 2.5,
    # 1.5, 0.5, -1.5 (thrice) and 1.5, 2.5, -2.5, -0.5 (thrice): 8.5 / sqrt(15.5 * 15.5).
    assert value(cells(sheet, "e5", "minilm", "overall", "all", "all")["spearman"]) == (8.5 / 15.5, 6)
    assert cells(sheet, "e5", "minilm", "answer space", "bool", "non-empty")["spearman"] == Missing(
        "no response has a trace"
    )
    assert isinstance(cells(sheet, "e5", "minilm", "answer space", "bool", "all")["spearman"], Missing)
    assert [row[3] for row in sheet.rows if row[2] == "answer space"] == ["bool", "bool", "mcq", "mcq"]


def test_one_encoder_has_no_correlation() -> None:
    alone = [[row for row in rows if row["encoder"] == "e5"] for rows in OUTPUTS]
    assert list(sheets(alone)) == ["encoder_sensitivity", "encoder_models"]
    assert encoder_sensitivity_sheets(frame(OUTPUTS).iloc[:0]) == []


def test_frames_that_contradict_themselves_are_refused() -> None:
    relevance = frame(OUTPUTS)
    with pytest.raises(DataError, match="the encoder minilm has 5 of 6 outputs"):
        encoder_sensitivity_sheets(relevance.drop(index=1))
    with pytest.raises(DataError, match="lack the columns empty"):
        encoder_sensitivity_sheets(relevance.drop(columns="empty"))
    for name, cosine in (("e5", 0.1), ("minilm", 0.1)):
        wrong = relevance.copy()
        wrong.loc[(wrong["item_id"] == "c") & (wrong["encoder"] == name), "cosine"] = cosine
        with pytest.raises(DataError, match="an empty trace has a cosine"):
            encoder_sensitivity_sheets(wrong)
    relevance.loc[(relevance["item_id"] == "d") & (relevance["encoder"] == "minilm"), "empty"] = False
    with pytest.raises(DataError, match="not empty to all"):
        encoder_sensitivity_sheets(relevance)


def many() -> pd.DataFrame:
    return frame(
        [
            output(f"i{item}", (0.1, 0.2), model=model, mode=mode)
            for model, mode, size in (("m", "soft", 7), ("m", "strict", 30), ("n", "soft", 12))
            for item in range(size)
        ]
    )


def test_a_balanced_sample_takes_whole_outputs_equally() -> None:
    sample = balanced_sample(many(), ("model", "mode"), 5, seed=1)
    assert len(sample) == 3 * 5 * 2
    assert sample.groupby(["model", "mode", "encoder"]).size().tolist() == [5] * 6
    assert sample.groupby(["model", "mode", "item_id"]).size().tolist() == [2] * 15
    assert balanced_sample(many(), ("model",), 5, seed=1).groupby("model").size().tolist() == [10, 10]


def test_a_balanced_sample_depends_on_keys_and_seed_only() -> None:
    def chosen(rows: pd.DataFrame, n: int = 5, seed: int = 1) -> set[tuple[str, ...]]:
        sample = balanced_sample(rows, ("model", "mode"), n, seed)
        return set(sample[["model", "mode", "item_id"]].itertuples(index=False, name=None))

    found = chosen(many())
    assert chosen(many().sample(frac=1, random_state=3)) == found
    assert chosen(many(), seed=2) != found
    assert chosen(many(), n=3) < found
    assert chosen(many().query("model == 'm'")) == {key for key in found if key[0] == "m"}


def test_balanced_sheets_are_those_of_the_smallest_cells_size() -> None:
    least = 7  # model m under soft
    sample = balanced_sample(many(), ("model", "mode"), least, 0)
    found = {one.name: one for one in balanced_sensitivity_sheets(many())}
    plain = {one.name: one for one in encoder_sensitivity_sheets(sample)}
    assert list(found) == [f"{name}_balanced" for name in plain]
    for name, sheet in plain.items():
        assert found[f"{name}_balanced"].rows == sheet.rows
        assert f"{least} outputs of each model and mode" in found[f"{name}_balanced"].notes[-1]


def test_a_cell_that_is_too_small_is_named() -> None:
    with pytest.raises(ConfigError, match="the cell m, soft has 7 outputs, not 8"):
        balanced_sample(many(), ("model", "mode"), 8, seed=1)


def repeats(labels: dict[str, list[str | None]], **fields: str) -> pd.DataFrame:
    key = {"dataset": "d", "presentation": "identity", "mode": "strict", "model": "m", "space": "mcq", **fields}
    rows = [
        {**key, "item_id": item, "group_id": item, "repeat": number, "label": label}
        for item, own in labels.items()
        for number, label in enumerate(own)
    ]
    return pd.DataFrame(rows)


def test_flips_by_hand() -> None:
    explicit, generic, unclear = "explicit_reasoning", "generic_or_off_topic", "unclear"
    labels: dict[str, list[str | None]] = {
        "a": [explicit] * 3,
        "b": [explicit, explicit, generic],  # 2 of 3 pairs
        "c": [generic, unclear, "empty"],  # 3 of 3 pairs, never explicit
        "d": ["empty"] * 3,
        "e": [explicit, None, explicit],  # the judge failed once
    }
    found = cells(repeat_sheet(repeats(labels), draws=300), "m", "d", "mcq", "strict")
    assert (found["repeats"], found["n"], found["excluded"]) == (3, 4, 1)
    assert value(found["flips"]) == ((0 + 2 / 3 + 1 + 0) / 4, 4)
    assert value(found["changed"]) == (2 / 4, 4)
    assert value(found["flips_explicit"]) == ((2 / 3) / 4, 4)
    assert 0 <= found["flips"].low < found["flips"].value < found["flips"].high <= 1


def test_a_repeat_that_was_not_made_leaves_its_output_out() -> None:
    rows = repeats({"a": ["empty", "empty"], "b": ["empty", "unclear"]})
    found = cells(repeat_sheet(rows.drop(index=3), draws=50), "m")
    assert (found["n"], found["excluded"]) == (1, 1)
    assert value(found["flips"]) == (0, 1)


def test_no_flips_without_repeats() -> None:
    once = cells(repeat_sheet(repeats({"a": ["empty"]})), "m")
    assert (once["repeats"], once["flips"]) == (1, Missing("there is one repeat only"))
    failed = cells(repeat_sheet(repeats({"a": ["empty", None]})), "m")
    assert (failed["n"], failed["changed"]) == (0, Missing("no output has a label in every repeat"))
    with pytest.raises(DataError, match="two rows of"):
        repeat_sheet(pd.concat([repeats({"a": ["empty"]})] * 2))


def test_repeats_are_cells_of_their_own() -> None:
    rows = pd.concat(
        [repeats({"a": ["empty", "empty"]}, mode="strict"), repeats({"a": ["empty", "unclear"]}, mode="soft")]
    )
    sheet = repeat_sheet(rows, modes=("strict", "soft"), draws=50)
    assert [(row[3], row[4]) for row in sheet.rows] == [("strict", 2), ("soft", 2)]
    assert value(cells(sheet, "m", "d", "mcq", "soft")["changed"]) == (1, 1)
