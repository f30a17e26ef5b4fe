"""Sheets of level 1 with figures computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from tests.nothinking.examples import answered
from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.nothinking.analyse import Analysed, analyse, analyse_all
from thinkgap.nothinking.store import to_table
from thinkgap.nothinking.tables import audit_sheets, response_sheets
from thinkgap.readouts.sheet import Missing, Sheet, sheet_dicts, sheet_markdown
from thinkgap.types import Thinking


def frame(rows: list[Analysed]) -> pd.DataFrame:
    return to_table(rows).to_pandas()


def sheets(rows: list[Analysed], **settings: Any) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in response_sheets(frame(rows), **settings)}


def cells(sheet: Sheet, *key: str) -> dict[str, Any]:
    """The only row that begins with `key`, by column."""
    (row,) = [row for row in sheet.rows if row[: len(key)] == key]
    return {column.name: cell for column, cell in zip(sheet.columns, row, strict=True)}


def value(cell: Any) -> tuple[float, int]:
    assert isinstance(cell, Estimate), cell
    return (cell.value, cell.n)


FOUR = [
    answered(r"\boxed{B}", item="a", model="m"),  # right, nothing else
    answered(r"The answer is \boxed{B}", item="b", model="m"),  # right, a lead-in of 3 words
    answered(r"\boxed{A} since ice floats", item="c", model="m", reasoning="One two."),  # wrong, both around
    answered("B would sink, or D", item="d", model="m", gold="D"),  # no answer, 5 words; permissive takes D
]


def test_by_data_set() -> None:
    found = cells(sheets([analyse(one) for one in FOUR])["nothinking"], "m", "made_up", "think_off")
    assert found["n"] == 4
    assert value(found["accuracy"]) == (2 / 4, 4)
    assert value(found["accuracy_permissive"]) == (3 / 4, 4)
    assert value(found["undecided"]) == (0.0, 4)
    assert value(found["etr_strict"]) == (1 / 4, 4)
    assert value(found["etr_prefix"]) == (1 / 4, 4)
    assert value(found["etr_leadin"]) == (2 / 4, 4)
    assert value(found["etr_content"]) == (2 / 4, 4)  # the first and the third
    assert value(found["visible_words"]) == ((0 + 3 + 0 + 5) / 4, 4)
    assert value(found["trace_words"]) == ((0 + 3 + 2 + 5) / 4, 4)
    assert found["trace_tokens"] == Missing("no tokenizer was given to count tokens")
    # Wilson for 2 of 4 (z = 1.96): centre (2 + z^2/2)/(4 + z^2) = 0.5, half z sqrt(1 + z^2/4)/(4 + z^2) = 0.34996.
    assert found["accuracy"].low == pytest.approx(0.5 - 0.349962, abs=1e-5)
    assert found["accuracy"].high == pytest.approx(0.5 + 0.349962, abs=1e-5)


def test_outcomes_name_their_denominators() -> None:
    rows = [
        *map(analyse, FOUR),
        analyse(answered("", item="e", model="m")),
        analyse(answered("", item="f", model="m", reasoning="B", reasoning_tokens=1)),  # swap and leak
        analyse(answered("", item="g", model="m", refusal="No.")),
        analyse(answered("The", item="h", model="m", finish_reason="content_filter")),
        analyse(answered("So", item="i", model="m", finish_reason="length")),
        analyse(answered(r"\boxed{B}", item="j", model="m", finish_reason="length", reasoning_tokens=0)),
        analyse(answered(r"\boxed{B}", item="k", model="m", thinking=Thinking.default, reasoning_tokens=7)),  # hidden
        analyse(answered(r"\boxed{B}", item="l", model="m", thinking=Thinking.enabled, reasoning="Hm.")),
    ]
    found = cells(sheets(rows)["nothinking_outcomes"], "m", "made_up", "think_off")
    assert found["n"] == 12
    shares = {"ok": 6, "unparsed": 1, "truncated": 1, "empty": 2, "refused": 1, "content_filtered": 1}
    assert {name: value(found[name]) for name in shares} == {name: (n / 12, 12) for name, n in shares.items()}
    assert value(found["cut"]) == (2 / 12, 12)
    assert value(found["control_leak"]) == (2 / 10, 10)  # the third of the four, and the swap; thinking off in ten
    assert value(found["counted"]) == (3 / 12, 12)
    assert value(found["hidden_reasoning"]) == (1 / 12, 12)
    assert value(found["channel_swap"]) == (1 / 11, 11)
    on = [analyse(answered(r"\boxed{B}", mode="think_on", thinking=Thinking.enabled))]
    other = cells(sheets(on)["nothinking_outcomes"], "", "made_up", "think_on")
    assert other["control_leak"] == Missing("thinking was not asked to be off")
    assert other["channel_swap"] == Missing("all responses were asked to think")


def test_answers_that_are_not_compared_are_in_no_accuracy() -> None:
    responses = [
        answered(rf"\boxed{{{said}}}", "open", item=said, gold=gold)
        for said, gold in (("1", "1"), ("2", "1"), ("3", "1"), ("4", ""))
    ]
    known = {"1": True, "2": False, "3": None}
    rows = analyse_all(responses, decide=lambda pairs: [known[said] for _, said in pairs])
    found = cells(sheets(rows)["nothinking"], "", "made_up")
    assert value(found["accuracy"]) == (1 / 2, 2)
    assert value(found["undecided"]) == (1 / 3, 3)
    none = cells(sheets(analyse_all(responses))["nothinking"], "", "made_up")
    reason = Missing("no response has a right answer that is known and compared")
    assert none["accuracy"] == none["accuracy_permissive"] == none["undecided"] == reason
    assert value(none["etr_strict"]) == (1.0, 4)


def test_intervals_allow_for_groups() -> None:
    """Two passages of two questions each, all alike within a passage; the same names in two data sets are apart."""
    rows = [
        analyse(answered(rf"\boxed{{{said}}}", item=item, group=group, dataset=dataset))
        for dataset in ("one", "two")
        for item, group, said in (("a", "g", "B"), ("b", "g", "B"), ("c", "h", "A"), ("d", "h", "A"))
    ]
    found = sheets(rows)
    own = cells(found["nothinking"], "", "one", "think_off")["accuracy"]
    assert own == metrics.rate([1, 1, 0, 0], ["g", "g", "h", "h"])
    assert own != metrics.rate([1, 1, 0, 0])
    pooled = cells(found["nothinking_models"], "", "think_off", "pooled")["accuracy"]
    assert pooled == metrics.rate([1, 1, 0, 0] * 2, [1, 1, 2, 2, 3, 3, 4, 4])


def test_data_sets_count_equally_and_pooled() -> None:
    """One data set of 4 responses with 1 right, one of 2 with 1 right and 1 wrong, both mcq; one bool, of one row."""
    small = [answered(rf"\boxed{{{said}}}", item=said, dataset="small") for said in "AB"]
    large = [answered(rf"\boxed{{{said}}}", item=said, dataset="large") for said in "ABCD"]
    other = [answered("yes", "bool", dataset="bool")]
    found = sheets([analyse(one) for one in (*small, *large, *other)])
    spaces = found["nothinking_spaces"]
    equally = cells(spaces, "", "mcq", "think_off", "data sets equally")
    pooled = cells(spaces, "", "mcq", "think_off", "pooled")
    assert (equally["datasets"], equally["n"], pooled["datasets"], pooled["n"]) == (2, 6, 2, 6)
    assert value(equally["accuracy"]) == pytest.approx(((1 / 2 + 1 / 4) / 2, 6))
    assert value(pooled["accuracy"]) == pytest.approx((2 / 6, 6))
    # Variances of the two means: (1/4 + 1/4)/(2*1) = 1/4, and (3*1/16 + 9/16)/(4*3) = 1/16.
    half = 1.959964 * math.sqrt(1 / 4 + 1 / 16) / 2
    assert equally["accuracy"].low == pytest.approx(max(0.0, 3 / 8 - half), abs=1e-6)
    assert equally["accuracy"].high == pytest.approx(3 / 8 + half, abs=1e-6)
    # All responses of both are empty-thinking: the spread is unknown.
    assert value(equally["etr_strict"]) == (1.0, 6)
    assert math.isnan(equally["etr_strict"].low)
    assert [row[:3] for row in spaces.rows] == [
        ("", "bool", "think_off"),
        ("", "mcq", "think_off"),
        ("", "mcq", "think_off"),
    ]
    models = found["nothinking_models"]
    assert value(cells(models, "", "think_off", "pooled")["accuracy"]) == (3 / 7, 7)
    over = cells(models, "", "think_off", "data sets equally")
    assert value(over["accuracy"]) == pytest.approx(((1 / 2 + 1 / 4 + 1) / 3, 7))
    assert math.isnan(over["accuracy"].low), "one row says nothing about spread"


def test_a_figure_that_one_data_set_lacks_is_no_mean_of_data_sets() -> None:
    rows = [
        analyse(answered(r"\boxed{B}", dataset="known")),
        analyse(answered(r"\boxed{B}", dataset="unknown", gold="")),
    ]
    found = cells(sheets(rows)["nothinking_spaces"], "", "mcq", "think_off", "data sets equally")
    assert isinstance(found["accuracy"], Missing)
    assert found["accuracy"].reason.startswith("some data set has no figure: no response has a right answer")
    assert value(found["etr_strict"]) == (1.0, 2)


def test_subjects_areas_models_and_the_order_of_modes() -> None:
    rows = [
        analyse(answered(r"\boxed{B}", item=f"{mode}{subject}", mode=mode, subject=subject, area=area), model=model)
        for model in ("n", "m")
        for mode in ("strict", "think_off", "mine")
        for subject, area in (("anatomy", "STEM"), ("virology", "other"), ("", ""))
    ]
    found = sheets(rows, modes=("think_off", "soft", "strict"))
    subjects = [row[:4] for row in found["nothinking_subjects"].rows]
    assert subjects == [
        (model, "made_up", subject, mode)
        for model in ("m", "n")
        for subject in ("anatomy", "virology")
        for mode in ("think_off", "strict", "mine")
    ]
    assert [row[2] for row in found["nothinking_areas"].rows[:4]] == ["STEM", "STEM", "STEM", "other"]
    assert cells(found["nothinking"], "m", "made_up", "mine")["n"] == 3
    assert [column.name for column in found["nothinking_subjects"].columns[5:]] == [
        "accuracy",
        "etr_strict",
        "etr_prefix",
        "visible_words",
    ]
    assert "nothinking_subjects" not in sheets([analyse(answered(r"\boxed{B}"))])


DENOMINATORS = {
    "nothinking": "of all n responses",
    "nothinking_outcomes": "shares of all n responses",
    "nothinking_spaces": "of all n responses",
    "nothinking_models": "of all n responses",
    "answer_first": "Of the responses with a box",
    "copies": "Audited: all responses to questions whose parts are known apart",
    "copies_sweep": "of the audited responses",
}


def test_every_sheet_prints_and_says_what_rates_are_of() -> None:
    rows = [analyse(one, count_tokens=len) for one in FOUR]
    for sheet in [*response_sheets(frame(rows)), *audit_sheets(frame(rows))]:
        text = sheet_markdown(sheet)
        assert sheet.title in text
        assert DENOMINATORS[sheet.name] in " ".join(sheet.notes)
        assert all(row.keys() == sheet_dicts(sheet)[0].keys() for row in sheet_dicts(sheet))
        assert "nan" not in text


def test_audits_by_model() -> None:
    stem = "a b c d e f g h"
    rows = [
        analyse(answered(rf"{trace} \boxed{{B}}{after}", item=item, parts=parts), model=model)
        for model, item, trace, after, parts in (
            ("m", "1", stem, "", (stem,)),  # a copy
            ("m", "2", "a b c d e f g 1", "", (stem,)),  # 4 of 5 of the stem's, 4 of 5 of its own: at 0.8 both
            ("m", "3", "a b c d e f g 1 2", "", (stem,)),  # 4/5 and 4/6
            ("m", "4", "", " since ice floats", ("short",)),  # answer first; no part is long enough
            ("n", "1", "", "", ()),
        )
    ] + [analyse(answered("None", item="5", parts=(stem,)), model="m")]
    found = {sheet.name: sheet for sheet in audit_sheets(frame(rows))}
    first = cells(found["answer_first"], "m")
    assert (first["n"], first["boxed"], first["answer_first"], value(first["rate"])) == (5, 4, 1, (1 / 4, 4))
    # Clopper-Pearson for 1 of 4: the lower bound p solves 1 - (1 - p)^4 = 0.025.
    assert first["rate"].low == pytest.approx(1 - 0.975 ** (1 / 4))
    copies = cells(found["copies"], "m")
    assert (copies["n"], copies["audited"], copies["copies"], value(copies["rate"])) == (5, 5, 2, (2 / 5, 5))
    unknown = cells(found["copies"], "n")
    assert (unknown["n"], unknown["audited"]) == (1, 0)
    assert unknown["rate"] == Missing("the parts of the questions are not known apart")
    sweep = {
        (row[1], other): row[3 + place].value * 5  # pyright: ignore[reportAttributeAccessIssue]
        for row in found["copies_sweep"].rows
        if row[0] == "m"
        for place, other in enumerate((0.6, 0.7, 0.8, 0.9))
    }
    # Pairs (part, trace): (1, 1), (0.8, 0.8), (0.8, 2/3).
    loose = {("0.6", 0.6): 3, ("0.6", 0.7): 2, ("0.6", 0.8): 2, ("0.6", 0.9): 1}
    assert sweep == {
        (least, other): n if least != "0.9" else 1
        for (_, other), n in loose.items()
        for least in ("0.6", "0.7", "0.8", "0.9")
    }
