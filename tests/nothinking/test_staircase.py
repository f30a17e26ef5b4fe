"""The staircase at its edges: rounding, single groups, missing families and labels, draws of each benchmark."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tests.nothinking.scripted_models import frames, knows, numbers
from tests.nothinking.test_variant_edges import Frames, cell, each
from tests.nothinking.test_variant_tables import ALL
from thinkgap.nothinking.staircase import staircase_sheet
from thinkgap.nothinking.variants import Variants
from thinkgap.presentation_names import POSITIVE
from thinkgap.readouts.sheet import Missing
from thinkgap.schema import VariantsConfig


def benchmarks(sizes: dict[str, int]) -> Frames:
    """Items of three benchmarks as their sources give them: proposals, choices and open forms of `numbers`."""
    asked = VariantsConfig(rewrites=["verification", "open_numeric"], negative=ALL.negative)
    given = frames(numbers(max(sizes.values())), knows, asked)
    space = {POSITIVE: "bool", "identity": "mcq", "open_numeric": "open"}

    def one_each(frame: pd.DataFrame) -> pd.DataFrame:
        own = frame.assign(dataset=frame["presentation"].map(space.get)).dropna(subset=["dataset"])
        kept = own["item_id"].str[1:].astype(int) < own["dataset"].map(sizes.get)
        return own.loc[kept].assign(presentation="identity").reset_index(drop=True)

    return each(given, one_each)


def test_equal_benchmarks_are_no_stairs_whatever_sums_round_to() -> None:
    responses, relevance, judgements = benchmarks({"bool": 7, "mcq": 5, "open": 3})
    relevance["cosine"] = 0.1
    sheet = staircase_sheet(Variants.of(responses, relevance, judgements), 400)
    for over in ("benchmarks, data sets equally", "benchmarks, pooled"):
        assert cell(sheet, "smallest_step", over, "QRel e").value == pytest.approx(0)
        assert cell(sheet, "above_zero", over, "QRel e") == 0
        assert cell(sheet, "n", over, "QRel e") == 3


def test_a_benchmark_of_one_group_leaves_no_share_of_draws() -> None:
    responses, relevance, judgements = benchmarks({"bool": 6, "mcq": 6, "open": 6})
    responses.loc[responses["dataset"] == "bool", "group_id"] = "one passage"
    sheet = staircase_sheet(Variants.of(responses, relevance, judgements), 50)
    assert isinstance(cell(sheet, "above_zero", "benchmarks, pooled", "EIR j"), Missing)
    assert math.isnan(cell(sheet, "bool", "benchmarks, pooled", "EIR j").low)


def test_benchmarks_are_drawn_apart() -> None:
    """Equal values in equally many items: draws in step would give differences without any spread."""
    responses, relevance, judgements = benchmarks({"bool": 6, "mcq": 6, "open": 6})
    relevance["cosine"] = relevance["item_id"].str[1:].astype(float)
    sheet = staircase_sheet(Variants.of(responses, relevance, judgements), 200)
    step = cell(sheet, "first_step", "benchmarks, pooled", "QRel e")
    assert step.value == 0
    assert step.low < 0 < step.high


def test_a_family_with_an_unlabelled_benchmark_has_no_stairs_of_that_judge() -> None:
    given = benchmarks({"bool": 4, "mcq": 4, "open": 4})

    def further(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([frame, frame[frame["dataset"] == "mcq"].assign(dataset="other")], ignore_index=True)

    responses, relevance, judgements = each(given, further)
    judgements.loc[judgements["dataset"] == "other", "label"] = None
    sheet = staircase_sheet(Variants.of(responses, relevance, judgements), 50)
    assert sheet is not None
    assert {one[3] for one in sheet.rows} == {"ETR prefix", "QRel e"}


def test_a_missing_family_has_no_stairs() -> None:
    given = each(benchmarks({"bool": 4, "mcq": 4, "open": 4}), lambda frame: frame.loc[frame["dataset"] != "bool"])
    assert staircase_sheet(Variants.of(*given), 50) is None


def test_a_judge_without_labels_has_no_stairs_and_the_others_keep_theirs() -> None:
    responses, relevance, judgements = benchmarks({"bool": 4, "mcq": 4, "open": 4})
    judgements["label"] = None
    sheet = staircase_sheet(Variants.of(responses, relevance, judgements), 50)
    assert sheet is not None
    assert {one[3] for one in sheet.rows} == {"ETR prefix", "QRel e"}


def test_resampled_steps_are_those_of_scipy() -> None:
    from scipy import stats

    responses, relevance, judgements = frames(numbers(9), knows, ALL)
    rng = np.random.default_rng(3)
    relevance["cosine"] = rng.random(len(relevance))
    asked = Variants.of(responses, relevance, judgements)
    found = cell(staircase_sheet(asked, 8000), "second_step", "d, same items", "QRel e")
    wide = relevance.pivot_table(index="item_id", columns="presentation", values="cosine")
    steps = (wide["open_numeric"] - wide["identity"]).to_numpy()
    expected = stats.bootstrap(
        (steps,), np.mean, n_resamples=8000, method="percentile", rng=np.random.default_rng(4)
    ).confidence_interval
    assert found.value == pytest.approx(steps.mean())
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)
