"""Normalisations of option likelihoods and their sheets, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.items import mcq, shown
from tests.store.examples import record
from thinkgap.errors import StoreError
from thinkgap.readouts.likelihood import READOUTS, likelihood_records, likelihood_sheets, normalised
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.store.likelihoods import OptionScores
from thinkgap.store.records import to_table
from thinkgap.types import Condition, Prompt, Record, Request

DIRECT = Condition("direct", "trigger", Request.label)
PROMPT = Prompt(shown(mcq()), DIRECT, "", (1, 2), ((5,), (6,), (7,)), sha256="x")


def scores(
    sums: tuple[float, ...],
    premise: tuple[float, ...] = (0.0, 0.0, 0.0),
    n_tokens: tuple[int, ...] = (1, 1, 1),
    n_bytes: tuple[int, ...] = (1, 1, 1),
) -> OptionScores:
    return OptionScores("i0", "identity", "direct", sums, premise, n_tokens, n_bytes)


def chosen(one: OptionScores) -> dict[str, int]:
    return {found.readout.removeprefix("likelihood_"): found.pred_slot for found in likelihood_records(PROMPT, one)}


def test_four_normalisations_by_hand() -> None:
    one = scores((-6.0, -4.0, -10.0), (-7.0, -2.0, -14.0), (4, 2, 5), (24, 20, 25))
    found = normalised(one)
    assert found["likelihood_sum"] == (-6.0, -4.0, -10.0)
    # -6/4, -4/2, -10/5
    assert found["likelihood_token"] == (-1.5, -2.0, -2.0)
    # -6/24, -4/20, -10/25
    assert found["likelihood_byte"] == (-0.25, -0.2, -0.4)
    # -6 + 7, -4 + 2, -10 + 14
    assert found["likelihood_pmi"] == (1.0, -2.0, 4.0)
    assert tuple(found) == READOUTS
    assert chosen(one) == {"sum": 1, "token": 0, "byte": 1, "pmi": 2}


def test_sum_and_per_token_disagree() -> None:
    """One improbable token against four probable ones: log 0.1 = -2.30 beats 4 log 0.5 = -2.77, per token it loses."""
    one = scores((math.log(0.1), 4 * math.log(0.5), -9.0), n_tokens=(1, 4, 1), n_bytes=(3, 3, 3))
    assert chosen(one) == {"sum": 0, "token": 1, "byte": 0, "pmi": 0}


def test_rows_hold_their_scores_and_nothing_that_was_not_read() -> None:
    for found in likelihood_records(PROMPT, scores((-6.0, -4.0, -10.0), n_tokens=(4, 2, 5))):
        assert found.label_logprobs == normalised(scores((-6.0, -4.0, -10.0), n_tokens=(4, 2, 5)))[found.readout]
        assert found.condition == "direct"
        assert math.isnan(found.label_mass)
        assert found.top_token_id == found.gold_rank == -1
        assert found.correct == (found.pred_slot == 1)


def test_equal_strings_tie_in_every_normalisation() -> None:
    tied = likelihood_records(PROMPT, scores((-1.0, -8.0, -1.0), (-3.0, -3.0, -3.0), (2, 2, 2), (7, 7, 7)))
    assert [found.tied for found in tied] == [True] * 4
    assert len({found.pred_slot for found in tied}) == 1
    assert tied[0].pred_slot in (0, 2)


def test_a_score_that_is_no_number_gives_no_answer() -> None:
    never = scores((-math.inf, -4.0, -10.0), (-math.inf, -2.0, -14.0))
    found = {one.readout: one for one in likelihood_records(PROMPT, never)}
    assert found["likelihood_sum"].pred_slot == 1
    assert found["likelihood_pmi"].pred_slot == -1
    assert not found["likelihood_pmi"].correct


LENGTHS = {"q0": (1, 3, 2, 2), "q1": (2, 2, 1, 1), "q2": (4, 4, 4, 4), "q3": (1, 2, 3, 4)}


def run(conditions: dict[str, tuple[int, ...]], readout: str = "likelihood_sum") -> tuple[pd.DataFrame, list]:
    """Four items with gold in slot 1, predicted as given by condition."""
    rows: list[Record] = []
    side = []
    for name, slots in conditions.items():
        for (item_id, n_tokens), slot in zip(LENGTHS.items(), slots, strict=True):
            row = record(item_id, name, pred_slot=max(slot, 0), readout=readout)
            rows.append(row if slot >= 0 else replace(row, pred_slot=-1, pred_content=-1, correct=False))
            side.append(OptionScores(item_id, "identity", name, (0.0,) * 4, (0.0,) * 4, n_tokens, (1,) * 4))
    return to_table(rows).to_pandas(), side


def cells(sheet: Sheet, condition: str) -> dict:
    (row,) = [row for row in sheet.rows if row[0] == condition]
    return dict(zip([column.name for column in sheet.columns], row, strict=True))


def test_figures_by_hand() -> None:
    """Direct is right, right, right, wrong; let is wrong, wrong, right, right: d = -1, -1, 0, 1."""
    frame, side = run({"let": (0, 0, 1, 1), "direct": (1, 1, 1, 2)})
    figures, _ = likelihood_sheets(frame, side, ["direct", "let"])
    assert [row[:3] for row in figures.rows] == [("direct", "sum", 4), ("let", "sum", 4)]
    direct, let = cells(figures, "direct"), cells(figures, "let")
    wilson = proportion_confint(3, 4, method="wilson")
    assert (direct["accuracy"].low, direct["accuracy"].high) == pytest.approx(wilson)
    assert (direct["accuracy"].value, direct["accuracy"].n) == (0.75, 4)
    assert direct["difference"] == Missing("differences are taken to it")
    assert let["accuracy"].value == 0.5
    # tests/metrics/test_paired.py has this interval by hand.
    assert (let["difference"].value, let["difference"].low) == (-0.25, pytest.approx(-1.773480, abs=2e-6))
    assert (let["b"], let["c"], let["mcnemar_p"]) == (2, 1, 1.0)
    assert (let["first_slot"].value, direct["first_slot"].value) == (0.5, 0.0)
    assert (let["gold_first"], let["mean_reciprocal_k"], let["tied"], let["unanswered"]) == (0.0, 0.25, 0, 0)
    assert "difference to direct" in sheet_markdown(figures)


def test_lengths_by_hand() -> None:
    """Token counts 1 3 2 2, 2 2 1 1, 4 4 4 4 (left out) and 1 2 3 4; gold is slot 1; predicted are slots 0, 1, 0, 2.

    Predicted: shortest; longest; left out; neither. Gold: longest; longest; neither. Uniform draw, longest:
    (1/4 + 2/4 + 1/4) / 3 = 1/3; shortest: (1/4 + 2/4 + 1/4) / 3 = 1/3.
    """
    frame, side = run({"direct": (0, 1, 0, 2)})
    _, lengths = likelihood_sheets(frame, side, ["direct"])
    found = cells(lengths, "direct")
    assert found["n"] == 3
    assert found["longest"].value == pytest.approx(1 / 3)
    assert found["gold_longest"] == pytest.approx(2 / 3)
    assert found["shortest"].value == pytest.approx(1 / 3)
    assert found["gold_shortest"] == 0.0
    assert (found["guess_longest"], found["guess_shortest"]) == pytest.approx((1 / 3, 1 / 3))
    assert found["longest"].n == 3


def test_no_answer_is_wrong_and_has_no_length() -> None:
    frame, side = run({"direct": (-1, -1, -1, 1)})
    figures, lengths = likelihood_sheets(frame, side, ["direct"])
    found = cells(figures, "direct")
    assert (found["accuracy"].value, found["unanswered"], found["first_slot"].value) == (0.25, 3, 0.0)
    assert cells(lengths, "direct")["longest"].value == 0.0


def test_options_of_one_length_have_no_longest() -> None:
    frame, side = run({"direct": (1, 1, 1, 1)})
    side = [replace(one, n_tokens=(3, 3, 3, 3)) for one in side]
    assert [sheet.name for sheet in likelihood_sheets(frame, side, ["direct"])] == ["likelihood"]


def test_every_normalisation_has_its_row_and_other_readouts_none() -> None:
    parts = [run({"direct": (1, 1, 1, 2), "let": (0, 0, 1, 1)}, readout) for readout in (*READOUTS, "native")]
    frame, side = pd.concat([frame for frame, _ in parts]), parts[0][1]
    figures, lengths = likelihood_sheets(frame, side, ["direct", "let"])
    expected = [(name, how) for name in ("direct", "let") for how in ("sum", "per token", "per byte", "PMI")]
    assert [row[:2] for row in figures.rows] == expected
    assert [row[:2] for row in lengths.rows] == expected
    assert len(sheet_dicts(figures)) == 8
    assert likelihood_sheets(parts[-1][0], side, ["direct", "let"]) == []


def test_a_missing_reference_and_unpaired_items_give_no_difference() -> None:
    frame, side = run({"let": (0, 0, 1, 1)})
    assert cells(likelihood_sheets(frame, side, ["let"])[0], "let")["difference"] == Missing(
        "the reference was not read"
    )
    frame, side = run({"direct": (1, 1, 1, 2), "let": (0, 0, 1, 1)})
    apart = frame.loc[(frame["condition"] == "direct").to_numpy() == (frame["item_id"] < "q2").to_numpy()]
    found = cells(likelihood_sheets(apart, side, ["direct", "let"])[0], "let")
    assert found["difference"] == Missing("no item has both")


def test_rows_that_do_not_belong_together_are_refused() -> None:
    frame, side = run({"direct": (1, 1, 1, 2)})
    with pytest.raises(StoreError, match=r"likelihoods.parquet has no row for \('q0', 'identity', 'direct'\)"):
        likelihood_sheets(frame, side[1:], ["direct"])
    with pytest.raises(StoreError, match="occur twice"):
        likelihood_sheets(pd.concat([frame, frame]), side, ["direct"])
