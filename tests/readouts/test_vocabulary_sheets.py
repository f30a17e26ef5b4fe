"""Figures of the full vocabulary by hand: levels, changes, top tokens."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from tests.store.examples import record
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.readouts.vocabulary import vocabulary_charts, vocabulary_sheets
from thinkgap.store.records import to_table
from thinkgap.types import Record

REASONING, STRICT = {70, 71}, {70}
"""70 is "First", 71 is "The", which opens an answer as well."""


def rows() -> list[Record]:
    """Three items under two conditions; tokens 32 and 33 are labels of every item (see `record`), 99 is none."""
    direct = [
        record("q0", label_mass=0.5, reasoning_mass=0.1, reasoning_mass_strict=0.05, gold_rank=1, top_token_id=33,
               top_token=" B", top_logprob=math.log(0.4), entropy=1.0),
        record("q1", label_mass=0.25, reasoning_mass=0.2, reasoning_mass_strict=0.1, gold_rank=2, top_token_id=33,
               top_token=" B", top_logprob=math.log(0.2), entropy=2.0),
        record("q2", label_mass=0.75, reasoning_mass=0.3, reasoning_mass_strict=0.15, gold_rank=6, top_token_id=71,
               top_token="The", top_logprob=math.log(0.3), entropy=3.0),
    ]  # fmt: skip
    let = [
        record("q2", "let", label_mass=0.05, reasoning_mass=0.9, reasoning_mass_strict=0.6, gold_rank=6,
               top_token_id=70, top_token="First\n", top_logprob=math.log(0.6), entropy=1.0),
        record("q0", "let", label_mass=0.1, reasoning_mass=0.7, reasoning_mass_strict=0.3, gold_rank=11,
               top_token_id=70, top_token="First\n", top_logprob=math.log(0.2), entropy=1.0),
        record("q1", "let", label_mass=0.15, reasoning_mass=0.8, reasoning_mass_strict=0.3, gold_rank=22,
               top_token_id=99, top_token="|", top_logprob=math.log(0.5), entropy=1.0),
    ]  # fmt: skip
    other = [replace(record("q0"), presentation="permutation_1"), replace(record("q0"), readout="generation")]
    return let + direct + other


def sheets(records: list[Record] | None = None, **settings: Any) -> dict[str, Sheet]:
    frame = to_table(rows() if records is None else records).to_pandas()
    settings = {"reasoning_ids": REASONING, "strict_ids": STRICT} | settings
    return {sheet.name: sheet for sheet in vocabulary_sheets(frame, ["direct", "let"], **settings)}


def cells(sheet: Sheet, condition: str) -> dict[str, Any]:
    (row,) = [row for row in sheet.rows if row[0] == condition]
    return dict(zip([column.name for column in sheet.columns], row, strict=True))


def test_levels_by_hand() -> None:
    levels = sheets()["vocabulary"]
    assert [row[0] for row in levels.rows] == ["direct", "let"]
    direct = cells(levels, "direct")
    assert direct["n"] == 3
    # (0.5 + 0.25 + 0.75) / 3; sd 0.25, t_2 = 4.303: half width 4.303 * 0.25 / sqrt(3)
    mass = direct["label_mass"]
    assert mass.value == pytest.approx(0.5)
    assert mass.high - mass.value == pytest.approx(stats.t.ppf(0.975, 2) * 0.25 / math.sqrt(3))
    assert direct["reasoning_mass"].value == pytest.approx(0.2)
    assert direct["reasoning_mass_strict"].value == pytest.approx(0.1)
    # ranks 1, 2, 6
    assert (direct["gold_rank"].value, direct["gold_rank_median"]) == (3.0, 2.0)
    # one of three top tokens is 71, none is 70
    assert direct["reasoning_top"].value == pytest.approx(1 / 3)
    interval = (direct["reasoning_top"].low, direct["reasoning_top"].high)
    assert interval == pytest.approx(proportion_confint(1, 3, method="wilson"))
    assert direct["reasoning_top_strict"].value == 0.0
    assert direct["entropy"].value == 2.0
    let = cells(levels, "let")
    assert (let["reasoning_top"].value, let["reasoning_top_strict"].value) == pytest.approx((2 / 3, 2 / 3))


def test_changes_by_hand_are_paired_by_item_and_not_by_position() -> None:
    change = cells(sheets()["vocabulary_change"], "let")
    assert [row[0] for row in sheets()["vocabulary_change"].rows] == ["let"]
    assert change["n"] == 3
    # q0: 0.1 - 0.5, q1: 0.15 - 0.25, q2: 0.05 - 0.75: -0.4, -0.1, -0.7, mean -0.4, sd 0.3
    mass = change["label_mass_change"]
    assert mass.value == pytest.approx(-0.4)
    assert mass.value - mass.low == pytest.approx(stats.t.ppf(0.975, 2) * 0.3 / math.sqrt(3))
    # mean 0.1 over mean 0.5, and mean 0.8 over mean 0.2
    assert change["label_mass_factor"] == pytest.approx(0.2)
    assert change["reasoning_mass_factor"] == pytest.approx(4.0)
    # all three are 0.6 more: no spread, so no interval
    assert change["reasoning_mass_change"].value == pytest.approx(0.6)
    # ranks 11 - 1, 22 - 2, 6 - 6
    assert change["gold_rank_change"].value == 10.0
    # reasoning tokens on top: 0 -> 1, 0 -> 0, 1 -> 1: b = 0, c = 1, p = 2 * (1/2)
    assert change["reasoning_top_change"].value == pytest.approx(1 / 3)
    assert change["reasoning_top_p"] == 1.0
    assert change["entropy_change"].value == pytest.approx(-1.0)


def test_top_tokens_by_hand() -> None:
    tops = sheets()["top_tokens"]
    found = [(row[0], row[1], row[2], row[5], row[6]) for row in tops.rows]
    assert found == [
        ("direct", "' B'", "33", "no", 1.0),
        ("direct", "'The'", "71", "ambiguous", 0.0),
        ("let", "'First\\n'", "70", "yes", 0.0),
        ("let", "'|'", "99", "no", 0.0),
    ]
    shares = [row[3].value for row in tops.rows if isinstance(row[3], Estimate)]
    assert shares == pytest.approx([2 / 3, 1 / 3, 2 / 3, 1 / 3])
    # (0.4 + 0.2) / 2, 0.3, (0.6 + 0.2) / 2, 0.5
    assert [row[4] for row in tops.rows] == pytest.approx([0.3, 0.3, 0.4, 0.5])


def test_ten_tokens_are_shown_and_equal_counts_have_one_order() -> None:
    many = [record(f"q{i}", top_token_id=100 + i % 12, top_token=str(i % 12)) for i in range(25)]
    shown = [row[2] for row in sheets(many)["top_tokens"].rows]
    # 25 = 2 * 12 + 1: token 100 comes three times, all others twice.
    assert shown == [str(100 + i) for i in range(10)]


def test_a_label_of_some_items_only() -> None:
    """Token 35 is the fourth label; items with three options do not have it."""
    ids = ((32,), (33,), (34,))
    three = record("q1", k=3, order=(0, 1, 2), labels=("A", "B", "C"), label_token_ids=ids, top_token_id=35)
    (row,) = sheets([record("q0", top_token_id=35), three])["top_tokens"].rows
    assert row[6] == 0.5


def test_masses_that_were_not_read_are_missing_and_never_0() -> None:
    unread = [replace(one, reasoning_mass=math.nan) if one.item_id == "q1" else one for one in rows()]
    found = sheets(unread)
    reason = Missing("reasoning masses were not read in every row")
    assert cells(found["vocabulary"], "direct")["reasoning_mass"] == reason
    change = cells(found["vocabulary_change"], "let")
    assert change["reasoning_mass_change"] == change["reasoning_mass_factor"] == reason
    assert isinstance(change["label_mass_change"], Estimate)
    (chart,) = vocabulary_charts(to_table(unread).to_pandas(), ["direct", "let"])
    assert {point[2] for point in chart.rows} == {"answer mass", "reasoning mass, strict"}


def test_a_mass_of_0_has_no_factor() -> None:
    zero = [replace(one, label_mass=0.0) if one.condition == "direct" else one for one in rows()]
    change = cells(sheets(zero)["vocabulary_change"], "let")
    assert change["label_mass_factor"] == Missing("the mass under the reference is 0")


def test_without_reference_or_rows() -> None:
    assert set(sheets(reference="other")) == {"vocabulary", "top_tokens"}
    assert sheets([one for one in rows() if one.readout == "generation"]) == {}
    assert vocabulary_charts(to_table([]).to_pandas(), []) == []
    apart = [one for one in rows() if (one.item_id == "q0") == (one.condition == "direct")]
    change = cells(sheets(apart)["vocabulary_change"], "let")
    assert change["n"] == 0
    assert change["label_mass_change"] == Missing("no item has both")


def test_text_and_plain_rows() -> None:
    for sheet in sheets().values():
        text = sheet_markdown(sheet)
        assert text.startswith(f"### {sheet.title}")
        assert len(sheet_dicts(sheet)) == len(sheet.rows)
    assert "-0.400 [" in sheet_markdown(sheets()["vocabulary_change"])
    assert "answer rank (mean)" in sheet_markdown(sheets()["vocabulary"])


def test_chart_by_hand() -> None:
    (chart,) = vocabulary_charts(to_table(rows()).to_pandas(), ["direct", "let"])
    found = {(condition, of): mass for condition, mass, of in chart.rows}
    assert found["direct", "answer mass"] == pytest.approx(0.5)
    assert found["let", "reasoning mass"] == pytest.approx(0.8)
    assert len(found) == len(chart.rows) == 6
