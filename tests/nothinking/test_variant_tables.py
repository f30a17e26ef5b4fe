"""Tables of rewrites and perturbations: every figure known, from models that follow a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.nothinking.scripted_models import Says, first_slot, frames, knows, numbers
from thinkgap.metrics import Estimate
from thinkgap.nothinking.open_table import open_sheets
from thinkgap.nothinking.staircase import staircase_sheet
from thinkgap.nothinking.surface_table import surface_sheet
from thinkgap.nothinking.variants import Variants
from thinkgap.nothinking.verification_table import verification_sheet
from thinkgap.presentation_names import NEGATIVE, POSITIVE, SHUFFLE
from thinkgap.readouts.sheet import Missing, Sheet
from thinkgap.schema import Negative, VariantsConfig
from thinkgap.types import Presentation

ALL = VariantsConfig(
    rewrites=["verification", "open_numeric"], surface=["shuffle", "numeric", "bullets"], negative=Negative.first
)


def variants(says: Says, asked: VariantsConfig = ALL, n: int = 8, explicit: str = "") -> Variants:
    return Variants.of(*frames(numbers(n), says, asked, explicit=explicit))


def row(sheet: Sheet | None, *key: str) -> dict[str, Any]:
    assert sheet is not None
    names = [column.name for column in sheet.columns]
    (found,) = [dict(zip(names, one, strict=True)) for one in sheet.rows if set(key) <= set(map(str, one[:4]))]
    return {name: cell.value if isinstance(cell, Estimate) else cell for name, cell in found.items()}


def test_a_model_that_knows_is_right_and_consistent_everywhere() -> None:
    known = variants(knows)
    for name in (SHUFFLE, "letters_numeric", "surface_bullets"):
        found = row(surface_sheet(known), name)
        assert (found["n"], found["accuracy"], found["etr_prefix"], found["consistency"]) == (8, 1, 1, 1)
        assert (found["accuracy_difference"], found["consistency_parsed"], found["parsed_pairs"]) == (0, 1, 8)
    found = row(verification_sheet(known), "strict")
    assert (found["accuracy_positive"], found["accuracy_negative"], found["balanced_accuracy"]) == (1, 1, 1)
    assert (found["yes_rate"], found["yes_bias"], found["accuracy_difference"]) == (0.5, 0, 0)
    found = row(open_sheets(known)[0], "strict")
    assert (found["mcq_accuracy"], found["bool_accuracy"], found["open_accuracy"]) == (1, 1, 1)
    assert (found["parse"], found["exact"], found["accuracy_difference"]) == (1, 1, 0)


def test_a_model_of_the_first_slot_says_yes_and_is_consistent_where_the_order_stays() -> None:
    asked = variants(first_slot, n=8)
    frame = asked.rows.frame
    shuffled = frame[frame["presentation"] == SHUFFLE]
    base = row(surface_sheet(asked), "base")
    assert (base["accuracy"], base["n"]) == (0.25, 8)  # the right option goes round four slots
    assert isinstance(base["consistency"], Missing)
    assert isinstance(base["accuracy_difference"], Missing)
    assert row(surface_sheet(asked), "letters_numeric")["consistency"] == 1
    stayed = np.mean([contents[0] == 0 for contents in shuffled["contents"]])
    assert 0 < stayed < 1
    assert row(surface_sheet(asked), SHUFFLE)["consistency"] == pytest.approx(stayed)
    found = row(verification_sheet(asked), "strict")
    assert (found["accuracy_positive"], found["accuracy_negative"], found["balanced_accuracy"]) == (1, 0, 0.5)
    assert (found["yes_rate"], found["yes_bias"]) == (1, 0.5)
    assert (found["mcq_accuracy"], found["bool_accuracy"], found["accuracy_difference"]) == (0.25, 0.5, 0.25)
    found = row(open_sheets(asked)[0], "strict")
    assert (found["open_accuracy"], found["parse"], found["exact"]) == (0, 1, 0)
    assert found["accuracy_difference"] == -0.25


def test_a_model_that_copies_the_proposal_answers_nothing() -> None:
    def copies(shown: Presentation) -> str:
        if shown.item.answer_space == "bool":
            return rf"\boxed{{{shown.item.question.splitlines()[-2].removeprefix('Proposed answer: ')}}}"
        return knows(shown)

    found = row(verification_sheet(variants(copies)), "strict")
    assert (found["unparsed"], found["accuracy_positive"], found["accuracy_negative"]) == (1, 0, 0)
    assert isinstance(found["yes_rate"], Missing)
    assert found["yes_bias"] == 0
    assert found["accuracy_difference"] == -1


def test_what_cannot_be_read_is_no_agreement_but_leaves_the_pairs_that_parse() -> None:
    def stops(shown: Presentation) -> str:
        return "I do not know." if shown.name == SHUFFLE and shown.item.id in ("q0", "q1") else knows(shown)

    found = row(surface_sheet(variants(stops)), SHUFFLE)
    assert (found["consistency"], found["parsed_pairs"], found["consistency_parsed"]) == (0.75, 6, 1)
    assert (found["accuracy"], found["accuracy_difference"]) == (0.75, -0.25)


def test_pairs_are_the_items_that_have_both() -> None:
    responses, relevance, judgements = frames(numbers(4), knows, ALL)

    def without(frame: pd.DataFrame) -> pd.DataFrame:
        gone = (frame["presentation"] == SHUFFLE) & (frame["item_id"] == "q3")
        gone |= (frame["presentation"] == NEGATIVE) & (frame["item_id"] == "q2")
        return frame.loc[~gone]

    some = Variants.of(without(responses), without(relevance), without(judgements))
    assert row(surface_sheet(some), SHUFFLE)["n"] == 3
    sheet = surface_sheet(some)
    assert sheet is not None
    # A base for the variants of all four items and one for the shuffle, so that rows can be subtracted.
    assert [one[3:5] for one in sheet.rows] == [
        ("base", 4), ("letters_numeric", 4), ("surface_bullets", 4),
        ("base of surface_shuffle", 3), ("surface_shuffle", 3)
    ]  # fmt: skip
    assert row(verification_sheet(some), "strict")["n"] == 3
    assert row(open_sheets(some)[0], "strict")["n"] == 3


def test_forms_of_open_answers() -> None:
    def says(shown: Presentation) -> str:
        if shown.item.answer_space != "open":
            return knows(shown)
        return {"q0": r"\boxed{10.0}", "q1": r"\boxed{eleven}", "q2": r"\boxed{12}", "q3": "no idea"}[shown.item.id]

    found = row(open_sheets(variants(says, n=4))[0], "strict")
    # 10.0 is right and not written so; eleven is no number here; 12 is right and written so; nothing is nothing.
    assert (found["open_accuracy"], found["parse"], found["exact"]) == (0.5, 0.5, 0.25)


def test_open_forms_without_proposals_say_so() -> None:
    found = row(open_sheets(variants(knows, VariantsConfig(rewrites=["open_numeric"])))[0], "strict")
    assert isinstance(found["bool_accuracy"], Missing)
    assert found["open_accuracy"] == 1


def test_nothing_asked_is_no_table() -> None:
    plain = variants(knows, VariantsConfig())
    assert surface_sheet(plain) is None
    assert verification_sheet(plain) is None
    assert open_sheets(plain) == []
    assert staircase_sheet(plain, 100) is None


def _thinks(shown: Presentation) -> str:
    """Reasons over every open question, over half of the choices and over no proposal."""
    space = shown.item.answer_space
    reasons = space == "open" or (space == "mcq" and shown.item.id in ("q0", "q1", "q2", "q3"))
    return f"Because it adds up, {knows(shown)}" if reasons else knows(shown)


def test_a_staircase_over_the_same_items() -> None:
    asked = VariantsConfig(rewrites=["verification", "open_numeric"])
    sheet = staircase_sheet(variants(_thinks, asked, explicit="Because"), 500)
    found = row(sheet, "d, same items", "EIR j")
    assert (found["bool"], found["mcq"], found["open"], found["n"]) == (0, 0.5, 1, 8)
    assert (found["first_step"], found["second_step"], found["smallest_step"]) == (0.5, 0.5, 0.5)
    # One step is as long as the other is short of 1, so the smallest is 0 only if all or none of the draws reason.
    assert found["above_zero"] == pytest.approx(1 - 2 / 2**8, abs=0.01)
    etr = row(sheet, "d, same items", "ETR prefix")
    assert (etr["bool"], etr["mcq"], etr["open"]) == (1, 0.5, 0)
    assert (etr["first_step"], etr["second_step"]) == (0.5, 0.5)
    qrel = row(sheet, "d, same items", "QRel e")
    assert (qrel["bool"], qrel["mcq"], qrel["open"]) == (0, 0.25, 0.5)


def test_no_stairs_are_no_stairs() -> None:
    asked = VariantsConfig(rewrites=["verification", "open_numeric"])
    found = row(staircase_sheet(variants(knows, asked), 100), "d, same items", "EIR j")
    assert (found["smallest_step"], found["above_zero"]) == (0, 0)


def test_a_staircase_over_benchmarks_counts_them_equally_and_pooled() -> None:
    """Choices of two benchmarks, one of 8 items that never reason and one of 2 that always do."""
    parts = [
        frames(numbers(8), knows, VariantsConfig(), "large"),
        frames(numbers(2), lambda one: f"Because, {knows(one)}", VariantsConfig(), "small", "Because"),
    ]
    everything = ALL.__class__(rewrites=["verification", "open_numeric"], negative=Negative.first)
    responses, relevance, judgements = frames(numbers(4), _thinks, everything, "forms", "Because")
    # The proposals and the open forms stand for benchmarks of their own.
    for frame in (responses, relevance, judgements):
        proposed = frame["presentation"].isin([POSITIVE])
        frame.loc[proposed, "dataset"] = "yes_no"
        frame.loc[frame["presentation"] == "open_numeric", "dataset"] = "open"
    kept = [
        frame[frame["dataset"].isin(["yes_no", "open"])].assign(presentation="identity")
        for frame in (responses, relevance, judgements)
    ]
    joined = [pd.concat([*(part[place] for part in parts), kept[place]], ignore_index=True) for place in range(3)]
    sheet = staircase_sheet(Variants.of(joined[0], joined[1], joined[2]), 200)
    equally = row(sheet, "benchmarks, data sets equally", "EIR j")
    pooled = row(sheet, "benchmarks, pooled", "EIR j")
    assert (equally["bool"], equally["mcq"], equally["open"]) == (0, 0.5, 1)
    assert (pooled["bool"], pooled["mcq"], pooled["open"]) == (0, 0.2, 1)
    assert (pooled["first_step"], pooled["second_step"], pooled["smallest_step"]) == (0.2, 0.8, 0.2)


def test_paired_differences_are_those_of_scipy() -> None:
    from scipy import stats

    def some(shown: Presentation) -> str:
        wrong = (len(shown.item.id) + int(shown.item.id[1:]) * (3 if shown.name == SHUFFLE else 1)) % 3 == 0
        return first_slot(shown) if wrong else knows(shown)

    asked = variants(some, VariantsConfig(surface=["shuffle"]), n=30)
    sheet = surface_sheet(asked)
    assert sheet is not None
    names = [column.name for column in sheet.columns]
    cell = sheet.rows[1][names.index("accuracy_difference")]
    assert isinstance(cell, Estimate)
    frame = asked.rows.frame.sort_values("item_id")
    first = frame.loc[frame["presentation"] == "identity", "correct"].to_numpy(dtype=float)
    second = frame.loc[frame["presentation"] == SHUFFLE, "correct"].to_numpy(dtype=float)
    expected = stats.ttest_rel(second, first).confidence_interval(0.95)
    assert cell.value == pytest.approx((second - first).mean())
    assert (cell.low, cell.high) == pytest.approx((expected.low, expected.high))


def test_open_forms_of_several_data_sets_are_pooled_too() -> None:
    """Ids are the same in both sets: 4 items that are known, and 2 that are not."""
    asked = VariantsConfig(rewrites=["open_numeric"])
    parts = [frames(numbers(4), knows, asked, "one"), frames(numbers(2), first_slot, asked, "other")]
    joined = [pd.concat([part[place] for part in parts], ignore_index=True) for place in range(3)]
    sheet = open_sheets(Variants.of(joined[0], joined[1], joined[2]))[0]
    assert [row[1] for row in sheet.rows] == ["one", "other", "pooled"]
    found = row(sheet, "pooled")
    assert found["n"] == 6
    assert found["open_accuracy"] == pytest.approx(4 / 6)
    # Of the two unknown choices the first is right: the right option of the first item stands in the first slot.
    assert found["mcq_accuracy"] == pytest.approx(5 / 6)
    assert found["accuracy_difference"] == pytest.approx(-1 / 6)
