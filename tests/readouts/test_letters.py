"""Letter sheets of scripted models that follow the slot, the letter A, or the content."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.readouts.letter_records import answered, frame_of, items
from tests.store.examples import record
from thinkgap.data.present import identity
from thinkgap.metrics import Estimate, rate
from thinkgap.readouts.letter_charts import letter_charts
from thinkgap.readouts.letters import letter_sheets
from thinkgap.readouts.sheet import Cell, Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.store.records import to_table
from thinkgap.types import Item


def noise(item: Item, slot: int, label: str) -> float:
    """A little of its own for every item, slot and letter, so that intervals have a width."""
    return 0.1 * float(np.random.default_rng([int(item.id[1:]), slot, ord(label)]).normal())


def by_slot(item: Item, slot: int, label: str, content: int) -> float:
    return 3.0 * (slot == 0) + noise(item, slot, label)


def by_letter(item: Item, slot: int, label: str, content: int) -> float:
    return 3.0 * (label == "A") + noise(item, slot, label)


def by_content(item: Item, slot: int, label: str, content: int) -> float:
    return 3.0 * (content == item.gold) + noise(item, slot, label)


def by_both(item: Item, slot: int, label: str, content: int) -> float:
    return 2.0 * (slot == 0) + 2.0 * (label == "A") + noise(item, slot, label)


MODELS = {"direct": by_content, "slot": by_slot, "letter": by_letter, "both": by_both}


def sheets(*args: Any, **options: Any) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in letter_sheets(*args, draws=300, seed=0, **options)}


def row(sheet: Sheet, *key: str) -> dict[str, Cell]:
    """The row that starts with `key`, skipping text columns that the key leaves out."""
    (found,) = [one for one in sheet.rows if [cell for cell in one if cell in key][: len(key)] == list(key)]
    return dict(zip([column.name for column in sheet.columns], found, strict=True))


def value(cell: Cell) -> float:
    assert isinstance(cell, Estimate)
    return cell.value


@pytest.fixture(scope="module")
def found() -> dict[str, Sheet]:
    frame = frame_of(MODELS, items(12), sets=("reversed", "late"))
    return sheets(frame, ["direct", "slot"], unread={"cyrillic": "label 'Б' is 2 tokens"})


def test_sheets_and_their_order(found: dict[str, Sheet]) -> None:
    assert list(found) == ["label_sets", "factorial", "factorial_effects", "label_tokens"]
    rows = [tuple(one[:3]) for one in found["label_sets"].rows]
    assert rows[:4] == [("identity", "A B C", name) for name in ("direct", "slot", "letter", "both")]
    assert [one[0] for one in rows[::4]] == ["identity", "reversed", "late", "cyrillic"]
    assert rows[4][1] == "C B A"


@pytest.mark.parametrize(
    ("name", "condition", "first_slot", "first_label", "last_slot"),
    [
        ("identity", "slot", 1, 1, 0),
        ("identity", "letter", 1, 1, 0),
        ("reversed", "slot", 1, 0, 0),
        ("reversed", "letter", 0, 1, 1),
        ("late", "slot", 1, 1, 0),
        # A is not among the letters: noise decides, so a third of the answers or so are on each slot.
        ("late", "letter", None, None, None),
        ("identity", "direct", 1 / 3, 1 / 3, 1 / 3),
        ("reversed", "direct", 1 / 3, 1 / 3, 1 / 3),
    ],
)
def test_a_collapse_onto_a_slot_is_told_from_one_onto_a(
    found: dict[str, Sheet], name: str, condition: str, first_slot: float, first_label: float, last_slot: float
) -> None:
    cells = row(found["label_sets"], name, condition)
    assert cells["n"] == 12
    rates = [value(cells[column]) for column in ("first_slot", "first_label", "last_slot")]
    if first_slot is None:
        assert all(0 < one < 0.9 for one in rates)
    else:
        assert rates == pytest.approx([first_slot, first_label, last_slot])
    assert value(cells["label_mass"]) == pytest.approx(0.5)
    assert cells["mean_reciprocal_k"] == pytest.approx(1 / 3)


def test_accuracy_under_a_set(found: dict[str, Sheet]) -> None:
    assert row(found["label_sets"], "late", "direct")["accuracy"] == rate([1] * 12)
    assert row(found["label_sets"], "reversed", "slot")["accuracy"] == rate([1, 0, 0] * 4)


def test_sets_that_could_not_be_read_say_why(found: dict[str, Sheet]) -> None:
    cells = row(found["label_sets"], "cyrillic", "slot")
    assert cells["accuracy"] == Missing("label set cyrillic cannot be read: label 'Б' is 2 tokens")
    assert "(1) label set cyrillic cannot be read: label 'Б' is 2 tokens" in sheet_markdown(found["label_sets"])


@pytest.mark.parametrize(
    ("condition", "follows", "share"),
    [("direct", "content", 1), ("slot", "slot", 1), ("letter", "letter", 1), ("both", "unclear", 0.5)],
)
def test_what_the_log_odds_follow(found: dict[str, Sheet], condition: str, follows: str, share: float) -> None:
    cells = row(found["factorial"], "3", condition)
    assert cells["follows"] == follows
    shares = {name: value(cells[f"{name}_share"]) for name in ("slot", "letter", "content", "rest")}
    assert sum(shares.values()) == pytest.approx(1)
    if follows == "unclear":
        assert shares["slot"] == pytest.approx(share, abs=0.02)
        assert shares["letter"] == pytest.approx(share, abs=0.02)
    else:
        assert shares[follows] == pytest.approx(share, abs=0.02)


def test_shares_of_predictions(found: dict[str, Sheet]) -> None:
    """Whoever follows one factor is on slot 1, on A or on gold in all presentations, and on the others in 1/k."""
    for condition, column in (("slot", "slot_1"), ("letter", "letter_a"), ("direct", "gold")):
        cells = row(found["factorial"], "3", condition)
        for other in ("slot_1", "letter_a", "gold"):
            assert value(cells[other]) == pytest.approx(1 if other == column else 1 / 3), (condition, other)
        estimate = cells[column]
        assert isinstance(estimate, Estimate)
        assert (cells["n"], estimate.n) == (12, 12 * 9)


def test_effects_by_hand(found: dict[str, Sheet]) -> None:
    """3 on slot 1 of three: 3 - 1 = 2 there and -1 on the others; range 3."""
    effects = [
        value(row(found["factorial_effects"], "3", "slot", "slot", f"slot {slot}")["effect"]) for slot in (1, 2, 3)
    ]
    assert effects == pytest.approx([2, -1, -1], abs=0.1)
    letters = [value(row(found["factorial_effects"], "3", "letter", "letter", label)["effect"]) for label in "ABC"]
    assert letters == pytest.approx([2, -1, -1], abs=0.1)
    assert value(row(found["factorial"], "3", "slot")["slot_range"]) == pytest.approx(3, abs=0.15)
    assert value(row(found["factorial"], "3", "slot")["letter_range"]) < 0.2


def test_items_of_unequal_k_are_fitted_apart() -> None:
    frame = frame_of({"direct": by_content, "slot": by_slot}, [*items(4, 2), *(items(10, 4)[4:])])
    rows = sheets(frame, ["direct"])["factorial"].rows
    assert [(one[0], one[1], one[2]) for one in rows] == [
        ("2", "direct", 4),
        ("2", "slot", 4),
        ("4", "direct", 6),
        ("4", "slot", 6),
    ]


def test_an_item_without_all_of_its_presentations_is_left_out() -> None:
    frame = frame_of({"direct": by_slot}, items(5))
    lost = frame[~((frame["item_id"] == "q000") & (frame["presentation"] == "factorial_1_2"))]
    sheet = sheets(lost, ["direct"])["factorial"]
    assert row(sheet, "3", "direct")["n"] == 4
    assert "or for a label of probability 0: up to 1." in sheet.notes[-1]
    assert "left out" not in sheets(frame, ["direct"])["factorial"].notes[-1]


def test_letters_one_by_one() -> None:
    """Two items of two options and one of three; C is there once.

    p(A) = 0.5 * (1/2, 1/2, 1/4) with mean 0.5 * 5/12; p(C) = 0.5 * 1/2.
    """
    pair, triple = items(2, 2), items(3, 3)[2]
    records = [answered(identity(item), "direct", lambda *_: 0.0) for item in pair]
    records.append(answered(identity(triple), "direct", lambda item, slot, *_: math.log((1, 1, 2)[slot])))
    yes_no = record("q9", k=2, order=(0, 1), labels=("Yes", "No"), label_logprobs=(-1.0, -2.0))
    sheet = sheets(to_table([*records, yes_no]).to_pandas(), ["direct"])["label_tokens"]
    assert [one[:3] for one in sheet.rows] == [("direct", "A", 3), ("direct", "B", 3), ("direct", "C", 1)]
    a, c = row(sheet, "direct", "A"), row(sheet, "direct", "C")
    assert value(a["probability"]) == pytest.approx(0.5 * 5 / 12)
    assert value(c["probability"]) == pytest.approx(0.25)
    assert (value(a["predicted"]), value(c["predicted"])) == pytest.approx((2 / 3, 1))
    assert (value(a["gold"]), value(c["gold"])) == pytest.approx((1 / 3, 1))


def test_without_other_letters_only_the_tokens_are_there() -> None:
    frame = to_table([answered(identity(item), "direct", by_slot) for item in items(3)]).to_pandas()
    assert list(sheets(frame, ["direct"])) == ["label_tokens"]


def test_intervals_are_clustered_by_group() -> None:
    frame = frame_of({"direct": by_both}, items(12))
    one_group = sheets(frame.assign(group_id="same"), ["direct"])
    assert row(one_group["factorial"], "3", "direct")["follows"] == "unclear"
    share = row(one_group["factorial"], "3", "direct")["slot_share"]
    assert isinstance(share, Estimate)
    assert math.isnan(share.low)


def test_items_that_all_agree_exactly_still_follow_something() -> None:
    frame = frame_of({"direct": lambda item, slot, label, content: 3.0 * (label == "A")}, items(6))
    cells = row(sheets(frame, ["direct"])["factorial"], "3", "direct")
    assert (value(cells["letter_share"]), cells["follows"]) == (pytest.approx(1), "letter")


def test_sheets_print_and_flatten(found: dict[str, Sheet]) -> None:
    for sheet in found.values():
        assert sheet_markdown(sheet).startswith(f"### {sheet.title}")
        rows = sheet_dicts(sheet)
        assert len({tuple(one) for one in rows}) == 1, "equal keys"


def test_charts(found: dict[str, Sheet]) -> None:
    charts = {chart.name: chart for chart in letter_charts(list(found.values()))}
    assert list(charts) == [
        "label_sets_first_slot",
        "label_sets_first_label",
        "factorial_shares_k3",
        "factorial_slots_k3",
        "factorial_letters_k3",
        "label_tokens",
    ]
    first = charts["label_sets_first_label"]
    assert ("reversed", pytest.approx(1.0), "letter") in first.rows
    assert not [one for one in first.rows if one[0] == "cyrillic"], "no bar for what could not be read"
    shares = charts["factorial_shares_k3"]
    assert [one[0] for one in shares.rows[::4]] == ["slot", "letter", "content", "rest"]
    assert sum(y for _, y, series in shares.rows if series == "both") == pytest.approx(1)
    assert [one[0] for one in charts["factorial_letters_k3"].rows[:3]] == ["A", "B", "C"]
