"""`verification` and `surface` of native runs: figures by hand, from records of scripted readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from tests.items import mcq
from tests.readouts.letter_records import Model, answered, items
from tests.store.examples import record
from thinkgap.data.present import identity
from thinkgap.data.variants import variants_of
from thinkgap.metrics import Estimate
from thinkgap.presentation_names import NEGATIVE, POSITIVE, is_order
from thinkgap.readouts.letters import letter_sheets
from thinkgap.readouts.permutation import permutation_sheets
from thinkgap.readouts.proposals import proposal_sheets
from thinkgap.readouts.sheet import Missing, Sheet
from thinkgap.readouts.shift import shift_sheets
from thinkgap.readouts.surface import surface_sheets
from thinkgap.readouts.table import make_table
from thinkgap.readouts.verdict import Thresholds, verdicts
from thinkgap.readouts.vocabulary import vocabulary_sheets
from thinkgap.schema import VariantsConfig
from thinkgap.store.records import to_table
from thinkgap.types import Item, Presentation, Record

Reader = Callable[[Presentation], int]
"""The slot that is predicted."""


def knows(shown: Presentation) -> int:
    return shown.gold_slot


def first(shown: Presentation) -> int:
    return 0


def reads_a(shown: Presentation) -> int:
    """The letter A where there is one; else the right answer."""
    return shown.labels.index("A") if "A" in shown.labels else shown.gold_slot


def read(
    readers: dict[str, Reader],
    asked: Sequence[Item],
    surface: Sequence[str] = (),
    rewrites: Sequence[str] = ("verification",),
) -> list[Record]:
    """Every item in its forms, labels with a mass of 0.5."""
    settings = VariantsConfig(rewrites=list(rewrites), surface=list(surface))
    shown = [one for item in asked for one in (identity(item), *variants_of(item, settings, 0).shown)]
    return [answered(one, name, _sure_of(reader(one))) for name, reader in readers.items() for one in shown]


def _sure_of(best: int) -> Model:
    return lambda _item, slot, _label, _content: 9.0 * (slot == best)


def frame_of(records: Sequence[Record]) -> pd.DataFrame:
    return to_table(records).to_pandas()


def row(sheet: Sheet, *key: str) -> dict[str, Any]:
    names = [column.name for column in sheet.columns]
    (found,) = [one for one in sheet.rows if one[: len(key)] == key]
    return {name: cell.value if isinstance(cell, Estimate) else cell for name, cell in zip(names, found, strict=True)}


def proposals(records: Sequence[Record], reference: str = "direct") -> Sheet:
    (sheet,) = proposal_sheets(frame_of(records), ["think", "direct"], reference=reference)
    return sheet


def test_proposals_of_three_readers() -> None:
    # 6 items of 3 options, gold going round: the first slot is right on 2 of 6.
    sheet = proposals(read({"direct": knows, "think": first, "a": reads_a}, items(6)))
    found = row(sheet, "direct")
    assert (found["n"], found["mcq_accuracy"], found["balanced_accuracy"], found["yes_bias"]) == (6, 1, 1, 0)
    assert found["mcq_first_slot"] == pytest.approx(1 / 3)
    assert (found["mcq_label_mass"], found["label_mass"]) == pytest.approx((0.5, 0.5))
    assert all(isinstance(found[f"{name}_change"], Missing) for name in ("mcq_accuracy", "balanced_accuracy"))
    # Yes is the first label, so a reader of the first slot says yes to everything.
    found = row(sheet, "think")
    assert (found["accuracy_positive"], found["accuracy_negative"], found["balanced_accuracy"]) == (1, 0, 0.5)
    assert (found["yes_bias"], found["yes_bias_change"], found["balanced_accuracy_change"]) == (0.5, 0.5, -0.5)
    assert found["mcq_accuracy_change"] == pytest.approx(-2 / 3)
    assert found["mcq_first_slot_change"] == pytest.approx(2 / 3)
    # A reader of the letter A is as bad as the last one on choices and right on proposals, where there is none.
    found = row(sheet, "a")
    assert found["mcq_accuracy"] == pytest.approx(1 / 3)
    assert (found["balanced_accuracy"], found["balanced_accuracy_change"], found["yes_bias"]) == (1, 0, 0)
    assert [one[0] for one in sheet.rows] == ["think", "direct", "a"], "in the run's order, wherever the reference is"


def test_proposals_by_hand_with_items_that_share_a_group() -> None:
    # Positive right on q0, q1, q2; negative right on q0 alone: yes 3 of 4 and 3 of 4, so +25 points.
    right = {POSITIVE: (1, 1, 1, 0), NEGATIVE: (1, 0, 0, 0), "identity": (1, 1, 0, 0)}
    records = [
        record(f"q{n}", presentation=name, group_id=f"g{n in (1, 2)}", labels=("Yes", "No"), k=2, order=(0, 1),
               gold_slot=slot, pred_slot=slot if correct else 1 - slot, label_logprobs=(-1.0, -1.0))
        for name, slot in ((POSITIVE, 0), (NEGATIVE, 1), ("identity", 1))
        for n, correct in enumerate(right[name])
    ]  # fmt: skip
    (sheet,) = proposal_sheets(frame_of(records), ["direct"], reference="direct")
    found = row(sheet, "direct")
    assert (found["accuracy_positive"], found["accuracy_negative"], found["balanced_accuracy"]) == (0.75, 0.25, 0.5)
    assert (found["yes_bias"], found["mcq_accuracy"]) == (0.25, 0.5)
    bias = next(cell for cell, column in zip(sheet.rows[0], sheet.columns, strict=True) if column.name == "yes_bias")
    assert isinstance(bias, Estimate)
    # Yes rates 0.5, 1, 1, 0.5 in groups (0.5, 0.5) and (1, 1), whose deviations sum to -0.5 and 0.5: the variance is
    # G / (G - 1) * (0.25 + 0.25) / n^2 = 1/16 with G = 2 and n = 4, and t(1) is 12.7062.
    half = 12.7062 / 4
    assert (bias.n, bias.low, bias.high) == pytest.approx((4, 0.25 - half, 0.25 + half), rel=1e-4)


def test_only_items_with_all_forms_count_and_changes_pair_what_both_have() -> None:
    records = read({"direct": knows, "think": first}, items(4))
    kept = [
        one
        for one in records
        if (one.item_id, one.presentation, one.condition)
        not in {("q000", NEGATIVE, "direct"), ("q001", POSITIVE, "think")}
    ]
    sheet = proposals(kept)
    assert (row(sheet, "direct")["n"], row(sheet, "think")["n"]) == (3, 3)
    change = next(
        cell for cell, column in zip(sheet.rows[0], sheet.columns, strict=True) if column.name == "yes_bias_change"
    )
    assert isinstance(change, Estimate)
    assert (change.n, change.value) == (2, 0.5)
    assert all(
        isinstance(row(proposals(kept, "other"), name)["yes_bias_change"], Missing) for name in ("direct", "think")
    )


def test_no_proposals_no_sheet_and_missing_masses_say_so() -> None:
    plain = read({"direct": knows}, items(3), rewrites=())
    assert proposal_sheets(frame_of(plain), ["direct"], reference="direct") == []
    assert surface_sheets(frame_of(plain), ["direct"]) == []
    frame = frame_of(read({"direct": knows}, items(3)))
    frame.loc[frame["presentation"] == NEGATIVE, "label_mass"] = math.nan
    (sheet,) = proposal_sheets(frame, ["direct"], reference="direct")
    assert isinstance(row(sheet, "direct")["label_mass"], Missing)
    assert row(sheet, "direct")["mcq_label_mass"] == pytest.approx(0.5)


def test_surface_tells_the_slot_from_the_letter() -> None:
    asked = [*items(6), mcq("yes", choices=("Yes", "No"), gold=0, answer_space="bool")]
    readers = {"direct": knows, "first": first, "a": reads_a}
    frame = frame_of(read(readers, asked, ["shuffle", "numeric", "lower"], ()))
    (sheet,) = surface_sheets(frame, list(readers))
    base = row(sheet, "identity", "first")
    assert base["n"] == 6, "yes/no items show no options"
    assert base["accuracy"] == pytest.approx(1 / 3)
    assert isinstance(base["consistency"], Missing)
    for form in ("letters_lower", "letters_numeric", "surface_shuffle"):
        found = row(sheet, form, "direct")
        assert (found["n"], found["accuracy"], found["consistency"], found["accuracy_difference"]) == (6, 1, 1, 0)
    assert row(sheet, "letters_numeric", "first")["consistency"] == 1
    assert row(sheet, "letters_numeric", "first")["first_slot"] == 1
    shuffled = frame.loc[frame["presentation"] == "surface_shuffle"]
    stayed = shuffled.loc[shuffled["condition"] == "first", "order"].map(lambda order: order[0] == 0).mean()
    assert 0 < stayed < 1
    assert row(sheet, "surface_shuffle", "first")["consistency"] == pytest.approx(stayed)
    # The reader of A is wrong on 4 of 6 under letters and right under numerals: same content on 2 of 6.
    found = row(sheet, "letters_numeric", "a")
    assert (found["accuracy"], found["consistency"]) == (1, pytest.approx(1 / 3))
    assert found["accuracy_difference"] == pytest.approx(2 / 3)
    names = {one[0] for one in letter_sheets(frame, list(readers), draws=10, seed=0)[0].rows}
    assert names == {"identity", "numeric", "lower"}


def test_other_sheets_do_not_count_what_is_no_order() -> None:
    """Every sheet of the source's form is the same with and without the other forms beside it."""
    readers = {"direct": knows, "think": first}
    records = read(readers, items(6), ["shuffle", "numeric", "roman", "late"])
    orders = [one for one in records if is_order(one.presentation)]
    assert len(records) > 3 * len(orders)
    names = list(readers)

    def of(rows: Sequence[Record]) -> list[object]:
        frame = frame_of(rows)
        return [
            make_table(rows, names),
            verdicts(frame, names, {}, Thresholds()),
            permutation_sheets(frame, names, reference="direct", draws=20, seed=0, prior_share=0.5),
            shift_sheets(frame, names, reference="direct"),
            vocabulary_sheets(frame, names, reference="direct", reasoning_ids=[1], strict_ids=[1]),
            letter_sheets(frame, names, draws=20, seed=0)[-1],
        ]

    assert repr(of(records)) == repr(of(orders))
