"""Tables of rewrites at their edges: few items, missing forms and labels, shared groups, rounding, resampling."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.nothinking.scripted_models import first_slot, frames, knows, numbers
from tests.nothinking.test_variant_tables import ALL, row, variants
from thinkgap.metrics import Estimate
from thinkgap.nothinking import run_sheets
from thinkgap.nothinking.open_table import open_sheets
from thinkgap.nothinking.staircase import staircase_sheet
from thinkgap.nothinking.surface_table import surface_sheet
from thinkgap.nothinking.variants import Variants
from thinkgap.nothinking.verification_table import verification_sheet
from thinkgap.presentation_names import NEGATIVE, SHUFFLE
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.schema import VariantsConfig
from thinkgap.types import Presentation

Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def cell(sheet: Sheet | None, name: str, *key: str) -> Any:
    assert sheet is not None
    at = [column.name for column in sheet.columns].index(name)
    (found,) = [one[at] for one in sheet.rows if set(key) <= set(map(str, one[:4]))]
    return found


def each(given: Frames, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Frames:
    first, second, third = given
    return change(first), change(second), change(third)


def own_answer(shown: Presentation) -> str:
    """The first option, and yes to a proposal only if it proposes that."""
    if shown.item.answer_space != "bool":
        return first_slot(shown)
    place = int(shown.item.id[1])
    first = place + 10 + (0 if place % 4 == 0 else 1)
    return rf"\boxed{{{'yes' if f'Proposed answer: {first}' in shown.item.question.splitlines() else 'no'}}}"


def test_a_model_that_accepts_its_own_answer_is_as_right_as_its_choices() -> None:
    """It is right of 2 items of 8 in all forms: elsewhere the first wrong option is its own, so both answers are."""
    found = row(verification_sheet(variants(own_answer)), "strict")
    assert (found["mcq_accuracy"], found["accuracy_positive"], found["accuracy_negative"]) == (0.25, 0.25, 0.25)
    assert (found["balanced_accuracy"], found["accuracy_difference"]) == (0.25, 0)
    # Yes to 2 right proposals and to 6 wrong ones, of 16.
    assert (found["yes_rate"], found["yes_rate_all"], found["yes_bias"]) == (0.5, 0.5, 0)


def test_yes_of_answers_yes_of_all_and_bias_differ_where_some_do_not_answer() -> None:
    def half(shown: Presentation) -> str:
        return "Hard to say." if shown.name == NEGATIVE else knows(shown)

    found = row(verification_sheet(variants(half)), "strict")
    assert (found["yes_rate"], found["yes_rate_all"], found["yes_bias"], found["unparsed"]) == (1, 0.5, 0.25, 0.5)
    assert (found["accuracy_positive"], found["accuracy_negative"], found["balanced_accuracy"]) == (1, 0, 0.5)


def test_the_interval_of_balanced_accuracy_keeps_to_rates() -> None:
    def one(shown: Presentation) -> str:
        return knows(shown) if shown.item.id.startswith("q0") else first_slot(shown)

    found = cell(verification_sheet(variants(one, n=3)), "balanced_accuracy", "strict")
    assert found.value == pytest.approx(2 / 3)
    assert 0 <= found.low < found.value < found.high <= 1


def test_one_item_has_figures_and_claims_no_certainty() -> None:
    single = variants(knows, n=1)
    assert cell(surface_sheet(single), "n", SHUFFLE) == 1
    difference = cell(surface_sheet(single), "accuracy_difference", SHUFFLE)
    assert difference.value == 0
    assert math.isnan(difference.low)
    pooled = cell(verification_sheet(single), "bool_accuracy", "strict")
    assert (pooled.value, pooled.low, pooled.high, pooled.n) == (1, 0, 1, 2)
    assert cell(open_sheets(single)[0], "parse", "strict").n == 1
    sheet = staircase_sheet(single, 50)
    assert isinstance(cell(sheet, "above_zero", "EIR j"), Missing)
    assert math.isnan(cell(sheet, "smallest_step", "EIR j").low)


def test_a_mode_without_a_variant_has_no_row_of_it_and_modes_keep_their_order() -> None:
    given = frames(numbers(4), knows, ALL)

    def both(frame: pd.DataFrame) -> pd.DataFrame:
        lacks = frame[~frame["presentation"].isin([SHUFFLE, NEGATIVE])].assign(mode="a_mode")
        return pd.concat([lacks, frame], ignore_index=True)

    asked = Variants.of(*each(given, both), modes=("strict", "a_mode"))
    sheet = surface_sheet(asked)
    assert sheet is not None
    # The order asked for, not that of the alphabet.
    assert list(dict.fromkeys(one[2] for one in sheet.rows)) == ["strict", "a_mode"]
    for mode, names in (
        ("strict", {"letters_numeric", "surface_bullets", SHUFFLE}),
        ("a_mode", {"letters_numeric", "surface_bullets"}),
    ):
        shown = [one[3] for one in sheet.rows if one[2] == mode]
        assert shown[0] == "base"
        assert sorted(map(str, shown[1:])) == sorted(names)
    proposals = verification_sheet(asked)
    assert proposals is not None
    assert [one[2] for one in proposals.rows] == ["strict"]
    stairs = staircase_sheet(asked, 50)
    assert stairs is not None
    assert {one[1] for one in stairs.rows} == {"strict"}


def test_a_base_prints_dashes_and_is_empty_in_files() -> None:
    sheet = surface_sheet(variants(knows, n=3))
    assert sheet is not None
    base = next(line for line in sheet_markdown(sheet).splitlines() if "| base" in line)
    assert base.count(" – ") == len(variants(knows, n=3).figures) + 3
    assert "n/a" not in base
    assert sheet_dicts(sheet)[0]["consistency"] is None


def test_etr_of_the_study_stands_before_the_strict_one() -> None:
    assert [one.column.name for one in variants(knows, n=2).figures][:3] == ["accuracy", "etr_prefix", "etr_strict"]


def test_paired_differences_of_groups_are_those_of_statsmodels() -> None:
    from scipy import stats
    from statsmodels.api import OLS

    items = [dataclasses.replace(item, group_id=f"g{place // 5}") for place, item in enumerate(numbers(20))]

    def some(shown: Presentation) -> str:
        known = shown.name == SHUFFLE and int(shown.item.id[1:]) // 5 in (0, 2)
        return knows(shown) if known else first_slot(shown) if shown.name == SHUFFLE else r"\boxed{A}"

    asked = Variants.of(*frames(items, some, VariantsConfig(surface=["shuffle"])))
    found = cell(surface_sheet(asked), "accuracy_difference", SHUFFLE)
    wide = asked.rows.frame.assign(correct=asked.rows.frame["correct"].astype(float)).pivot_table(
        index=["item_id", "group_id"], columns="presentation", values="correct"
    )
    steps = (wide[SHUFFLE] - wide["identity"]).to_numpy()
    groups = np.unique(wide.index.get_level_values("group_id"), return_inverse=True)[1]
    error = float(OLS(steps, np.ones(20)).fit(cov_type="cluster", cov_kwds={"groups": groups}).bse[0])
    half = float(stats.t.ppf(0.975, 3)) * error
    assert isinstance(found, Estimate)
    assert error > steps.std(ddof=1) / math.sqrt(20)  # or the groups would not matter here
    assert (found.value, found.low, found.high) == pytest.approx(
        (steps.mean(), steps.mean() - half, steps.mean() + half)
    )


def test_open_text_is_its_own_table_without_forms_of_numbers() -> None:
    asked = variants(knows, VariantsConfig(rewrites=["verification", "open_text"], negative=ALL.negative), n=4)
    (sheet,) = open_sheets(asked)
    assert sheet.name == "open_text"
    assert any("Beyond the study" in note for note in sheet.notes)
    assert not {"parse", "exact"} & {column.name for column in sheet.columns}
    assert row(sheet, "strict")["accuracy_difference"] == 0
    assert (row(sheet, "strict")["open_accuracy"], row(sheet, "strict")["bool_accuracy"]) == (1, 1)
    # The staircase over the same items is that of numbers, as in the study.
    assert staircase_sheet(asked, 50) is None


def test_a_run_draws_as_often_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    responses, relevance, judgements = frames(numbers(2), knows, ALL)
    asked: list[int] = []

    class Table:
        def __init__(self, frame: pd.DataFrame) -> None:
            self.to_pandas = lambda: frame

    monkeypatch.setattr(run_sheets, "read_relevance", lambda folder: Table(relevance))
    monkeypatch.setattr(run_sheets, "read_judgements", lambda folder: Table(judgements))
    monkeypatch.setattr(run_sheets, "staircase_sheet", lambda found, draws: asked.append(draws))
    for manifest in ({"config": {"evaluation": {"draws": 77}}}, {}):
        monkeypatch.setattr(run_sheets, "read_manifest", lambda folder, manifest=manifest: manifest)
        names = [sheet.name for sheet in run_sheets.variant_sheets(Path(), responses, ["strict"])]
        assert names == ["surface", "verification", "open_numeric"]
    assert asked == [77, 10_000]


def test_no_two_rows_of_a_table_have_the_same_name() -> None:
    """Whoever looks a row up by its keys, as the tables beside the published ones do, finds one."""

    def fewer(frame: pd.DataFrame) -> pd.DataFrame:
        gone = (frame["presentation"] == SHUFFLE) & (frame["item_id"] == "q3")
        gone |= (frame["presentation"] == "letters_numeric") & frame["item_id"].isin(["q0", "q1"])
        return frame.loc[~gone]

    asked = Variants.of(*each(frames(numbers(4), knows, ALL), fewer))
    sheet = surface_sheet(asked)
    assert sheet is not None
    assert [one[3:5] for one in sheet.rows if str(one[3]).startswith("base")] == [
        ("base", 4), ("base of surface_shuffle", 3), ("base of letters_numeric", 2)
    ]  # fmt: skip
    for table in (sheet, verification_sheet(asked), *open_sheets(asked), staircase_sheet(asked, 20)):
        assert table is not None
        keys = [tuple(map(str, one[: 4 if table.name in ("surface", "staircase") else 3])) for one in table.rows]
        assert len(set(keys)) == len(keys)
