"""The tables of linear probes by hand, and that they depend on nothing but the rows."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from probes.controls.control_task import ControlTask
from probes.controls.sheet import ConditionControls, off
from probes.directions import cosine_sheets, direction_cosines, fixed_sheets, mean_cosine
from probes.figures import Figures, best_fixed_slot, figures, right_in_all
from probes.fits_file import Cosine, best_places, place_fits, read_fits, write_fits
from probes.headline import headline_figures, headline_sheet, k_sheets, order_sheets, slot_sheet
from probes.heads import Place
from probes.linear_probe import LinearProbe, Standard
from probes.predict import fixed_probe, predict
from probes.predictions import Probed, predictions_of, read_predictions, write_predictions
from probes.profile import profile_sheets
from probes.sentence import Kind, kind_of, probe_sentence
from probes.tables import ProbeReport, probe_report, report_markdown, write_report
from probes.transfer import transfer_sheets
from tests.probes.parts import made_part
from tests.probes.predicted import STATE, axis_probe, fitted_at, made_fits, predicted, shuffled, study
from thinkgap.metrics import Estimate, PairedDifference, mcnemar_p, rate
from thinkgap.readouts.sheet import Sheet, sheet_dicts, sheet_markdown

BOTH = ["direct", "think"]


def by(sheet: Sheet, *names: str) -> dict[Any, dict[str, Any]]:
    """Rows of a sheet by the values of some columns."""
    keys = [tuple(row[name] for name in names) for row in sheet_dicts(sheet)]
    return dict(zip([key[0] if len(key) == 1 else key for key in keys], sheet_dicts(sheet), strict=True))


def four(**more: Any) -> Any:
    """Four items with the answers 0, 0, 1, 1: native right on 3 and 1 of them, probes on 4 and 3."""
    native = {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0]}
    probes = {study("direct"): [0, 0, 1, 1], study("think"): [0, 0, 1, 0]}
    return predicted([0, 0, 1, 1], native, probes, **more)


def test_gamma_by_hand() -> None:
    # Gaps: 4/4 - 3/4 = 1/4 under direct, 3/4 - 1/4 = 2/4 under think; Gamma = 1/4.
    # By row: (probe - native) think 0, 1, 1, 0; direct 0, 0, 0, 1; d = 0, 1, 1, -1, whose mean is 1/4.
    # Two groups of two rows: drawn twice with return they are aa, ab, ba, bb with means 1/2, 1/4, 1/4 and 0.
    # No bias and no acceleration, as the left-out means are 0 and 1/2, so the interval is [0, 1/2].
    found = four(groups=["a", "a", "b", "b"])
    direct, think = figures(found, BOTH, STATE, "direct", 4000, 0)
    assert direct.gamma is None
    assert think.gamma == Estimate(0.25, 0.0, 0.5, 4)
    assert (direct.gap.difference.value, think.gap.difference.value) == (0.25, 0.5)
    # Without a probe of direct there is nothing to compare with; conditions without a probe have no figures.
    (alone,) = figures(found, ["think", "other"], STATE, "nowhere", 10, 0)
    assert alone.gamma is None


def test_the_studys_figures() -> None:
    # 4,241 items: 3,425, 3,574, 1,929 and 3,348 right are 80.76, 84.27, 45.48 and 78.94 %.
    n = 4241

    def right(count: int) -> list[int]:
        return [0] * count + [1] * (n - count)

    found = predicted(
        [0] * n,
        {"direct": right(3425), "think": right(1929)},
        {study("direct"): right(3574), study("think"): right(3348)},
    )
    rows = by(headline_sheet(found, made_fits(BOTH)), "condition")
    published = {"direct": (80.76, 84.27, 3.51, None), "think": (45.48, 78.94, 33.46, 29.95)}
    for name, expected in published.items():
        figures = (rows[name][key] for key in ("native", "probe", "gap", "gamma"))
        assert tuple(None if one is None else round(100 * one, 2) for one in figures) == expected
    assert rows["think"]["gamma_low"] < 0.2995 < rows["think"]["gamma_high"]


def test_the_headline_by_hand() -> None:
    native = {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0]}
    probes = {
        study("direct"): [0, 0, 1, 1],
        study("think"): [0, 0, 1, 0],
        Probed("think", "think", "best", "layer_3"): [0, 1, 1, 1],
    }
    found = predicted([0, 0, 1, 1], native, probes, k=[2, 4, 4, 2])
    places = {("think", "layer_3"): 0.875, ("direct", STATE): 0.5, ("think", STATE): 0.75}
    fits = made_fits(BOTH, places, best={"think": Place("think", "layer_3")})
    selectivity = {"think": Estimate(0.3, 0.2, 0.4, 4)}
    sheet = headline_sheet(found, fits, selectivity, ("first",))
    think = by(sheet, "condition")["think"]
    # Right: native q0 alone, probe q0, q1, q2. First slot: native q0, q2, q3, probe q0, q1, q3. Gold first: q0, q1.
    assert (think["n"], think["native"], think["probe"]) == (4, 0.25, 0.75)
    assert (think["native_first"], think["probe_first"], think["gold_first"]) == (0.75, 0.75, 0.5)
    # (1/2 + 1/4 + 1/4 + 1/2) / 4; of each two items with one k, either slot is right once.
    assert (think["mean_reciprocal_k"], think["fixed_slot"]) == (0.375, 0.5)
    # Two become right, none wrong: 2 * (1/2)^2.
    assert (think["gap"], think["mcnemar_p"]) == (0.5, mcnemar_p(0, 2)) == (0.5, 0.5)
    assert (think["best_state"], think["best_select"], think["best_test"]) == ("layer_3", 0.875, 0.75)
    assert (think["best_test_low"], think["best_test_high"]) == (rate([1, 0, 1, 1]).low, rate([1, 0, 1, 1]).high)
    assert (think["selectivity"], think["selectivity_low"]) == (0.3, 0.2)
    direct = by(sheet, "condition")["direct"]
    assert [direct[name] for name in ("gamma", "best_state", "best_select", "best_test", "selectivity")] == [None] * 5
    text = sheet_markdown(sheet)
    for reason in ("Gamma is taken to this row", "no layer was chosen", "no control task: probe.controls.control_task"):
        assert reason in text
    assert "- first\n" in text
    without = sheet_markdown(headline_sheet(found, dataclasses.replace(fits, reference="other")))
    assert "other has no probe: add it to probe.conditions" in without


def test_a_fixed_slot_by_hand() -> None:
    # k = 2: answers 0, 0, 1, so slot 0 is right on 2; k = 4: answers 3, 3, 1, so slot 3 is right on 2. 4 of 6.
    found = predicted([0, 0, 1, 3, 3, 1], {"direct": [0] * 6}, {study("direct"): [0] * 6}, k=[2, 2, 2, 4, 4, 4])
    assert best_fixed_slot(found) == 4 / 6
    assert math.isnan(best_fixed_slot(found.shown("elsewhere")))


def orders() -> Any:
    """Two items in two orders each, the answer in the other slot the second time; and a third in one order."""
    return predicted(
        [0, 1, 1, 0, 0],
        {"direct": [0, 0, 0, 0, 0]},
        {study("direct"): [0, 1, 0, 0, 0]},
        items=["q0", "q0", "q1", "q1", "q2"],
        presentations=["identity", "permutation_1"] * 2 + ["identity"],
        k=[2, 2, 2, 2, 3],
    )


def test_all_orders_by_hand() -> None:
    found, fits = orders(), made_fits(["direct"])
    (sheet,) = order_sheets(found, fits)
    row = sheet_dicts(sheet)[0]
    # Native says slot 0: right on 3 of 5 rows, on no item in both orders. The probe follows q0, and q1 in one order.
    assert (row["items"], row["n"], row["native"], row["probe"]) == (3, 5, 0.6, 0.8)
    assert (row["native_all"], row["probe_all"], row["probe_all_n"]) == (0.0, 0.5, 2)
    # The interval is that of clustered rows.
    assert row["probe_low"] == rate([1, 1, 0, 1, 1], ["q0", "q0", "q1", "q1", "q2"]).low
    assert "mcnemar_p" not in row
    assert right_in_all(found, found.gold).value == 1
    # The headline has the source's order alone: q0 and q2 right, q1 wrong.
    assert by(headline_sheet(found, fits), "condition")["direct"]["probe"] == pytest.approx(2 / 3)
    assert order_sheets(found.shown("identity"), fits) == []


def test_by_number_of_options_and_by_slot() -> None:
    found, fits = orders(), made_fits(["direct"])
    (sheet,) = k_sheets(found, fits)
    rows = by(sheet, "k")
    # In the source's order: q0 and q1 have two options, answers 0 and 1, read 0 and 0; q2 has three.
    assert (rows["2"]["n"], rows["2"]["native"], rows["2"]["native_first"], rows["2"]["gold_first"]) == (2, 0.5, 1, 0.5)
    assert (rows["3"]["n"], rows["3"]["probe"], rows["3"]["mean_reciprocal_k"]) == (1, 1.0, 1 / 3)
    assert k_sheets(found.where(found.k == 2), fits) == []
    slots = by(slot_sheet(found, fits), "slot")
    # Answers 0, 1, 1, 0, 0 and predictions 0, 1, 0, 0, 0; only q2 has a third slot.
    assert [(row["n"], row["gold"], row["native"], row["probe"]) for row in slots.values()] == [
        (5, 0.6, 1.0, 0.8),
        (5, 0.4, 0.0, 0.2),
        (1, 0.0, 0.0, 0.0),
    ]


def test_layers_by_hand() -> None:
    native = {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0]}
    probes = {
        study("direct"): [0, 0, 1, 1],
        study("think"): [0, 0, 1, 0],
        Probed("direct", "direct", "layer", "layer_10"): [0, 0, 1, 0],
        Probed("think", "think", "layer", "layer_10"): [1, 1, 1, 0],
        Probed("think", "think", "layer", "layer_2"): [1, 1, 0, 0],
    }
    select = {("think", "layer_2"): 0.5, ("direct", "layer_10"): 0.25, ("think", "layer_10"): 0.125}
    found, fits = predicted([0, 0, 1, 1], native, probes), made_fits(BOTH, select)
    (sheet,) = profile_sheets(found, fits)
    # In the order of the states, not of their names.
    assert [row[:2] for row in sheet.rows] == [("layer_2", "think"), ("layer_10", "direct"), ("layer_10", "think")]
    rows = by(sheet, "state", "condition")
    # Right on 3 of 4 and on 1 of 4 (q2): G = 2/4; native is 3/4 and 1/4 whatever the layer.
    think = rows["layer_10", "think"]
    assert (think["select"], think["test"], think["native"], think["behind"]) == (0.125, 0.25, 0.25, 0.5)
    assert (rows["layer_10", "direct"]["test"], rows["layer_10", "direct"]["behind"]) == (0.75, None)
    assert (rows["layer_2", "think"]["test"], rows["layer_2", "think"]["behind"]) == (0.0, None)
    assert "direct has no probe at this state" in sheet_markdown(sheet)
    assert "chosen on the selection split, never on this curve" in sheet_markdown(sheet)
    assert profile_sheets(four(), made_fits(BOTH)) == []


def test_transfer_by_hand() -> None:
    native = {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0], "other": [1, 1, 1, 1]}
    probes = {
        study("direct"): [0, 0, 1, 1],
        study("think"): [0, 0, 1, 0],
        study("think", "direct"): [0, 1, 0, 0],
        study("direct", "think"): [1, 1, 1, 1],
        study("other", "think"): [0, 0, 0, 0],
    }
    found = predicted([0, 0, 1, 1], native, probes)
    fits = dataclasses.replace(made_fits(BOTH), conditions=("direct", "other", "think"))
    matrix, pairs = transfer_sheets(found, fits)
    rows = by(matrix, "trained_on")
    assert [column.name for column in matrix.columns] == ["trained_on", "read_direct", "read_other", "read_think"]
    assert list(rows["direct"].values()) == ["direct", 1.0, None, 0.25]
    assert list(rows["think"].values()) == ["think", 0.5, 0.5, 0.75]
    assert list(rows["native readout"].values()) == ["native readout", 0.75, 0.5, 0.25]
    found_pairs = by(pairs, "trained_on", "read_under")
    assert set(found_pairs) == {*((own, name) for own in BOTH for name in BOTH), ("think", "other")}
    # Under think: direct's probe is right on q0, think's own on q0, q1 and q2: two are lost.
    pair = found_pairs["direct", "think"]
    assert (pair["accuracy"], pair["native"], pair["difference"], pair["mcnemar_p"]) == (0.25, 0.25, -0.5, 0.5)
    assert found_pairs["think", "think"]["difference"] is None
    assert found_pairs["think", "other"]["difference"] is None
    assert "the condition has no probe of its own" in sheet_markdown(pairs)
    assert "this pair was not tested" in sheet_markdown(matrix)
    alone = predicted([0, 1], {"direct": [0, 0]}, {Probed("direct", "direct", "layer", STATE): [0, 1]})
    assert transfer_sheets(alone, made_fits(["direct"])) == []


def test_cosines_by_hand() -> None:
    # Two slots: rows (1, 0) and (0, 0) are centred to (1/2, 0) and (-1/2, 0); (1, 1) and (0, 0) to (1/2, 1/2) and its
    # opposite. Each pair of rows has the cosine 1/sqrt(2); a vector that all slots share changes nothing.
    one, other = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    assert mean_cosine(one, other) == pytest.approx(1 / math.sqrt(2))
    assert mean_cosine(one + torch.tensor([3.0, -7.0]), 5 * other) == pytest.approx(1 / math.sqrt(2))
    assert mean_cosine(one, -one) == -1
    # Three slots against two: the third is left out before centring. Slot rows 1, 0, 9 and 1, 0.
    assert mean_cosine(torch.tensor([[1.0], [0.0], [9.0]]), torch.tensor([[1.0], [0.0]])) == 1
    # Mean over slots: rows (1, 0), (-1, 0), (0, 0) have no length in the third.
    assert math.isnan(mean_cosine(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), torch.ones(3, 2)))
    # By slots 1, 1/sqrt(2) ... : (2,0), (-1,1), (-1,-1) against (2,0), (-1,0), (-1,0).
    three, flat = torch.tensor([[2.0, 0], [-1, 1], [-1, -1]]), torch.tensor([[2.0, 0], [-1, 0], [-1, 0]])
    assert mean_cosine(three, flat) == pytest.approx((1 + 2 / math.sqrt(2)) / 3)


def test_directions_are_those_of_the_raw_state() -> None:
    # Weights of standardised states are divided by the scales: (1, 1) and (0, 0) at scales (1, 3) are (1, 1/3).
    scaled = LinearProbe(
        Standard(torch.zeros(2), torch.tensor([1.0, 3.0])), torch.tensor([[1.0, 0], [1.0, 0]]), torch.zeros(2)
    )
    plain = LinearProbe(Standard(torch.zeros(2), torch.ones(2)), torch.tensor([[1.0, 0], [0.0, 0]]), torch.zeros(2))
    cosines = direction_cosines({"direct": plain, "think": scaled}, {"think": torch.tensor([[0.0, 2.0], [0.0, 0.0]])})
    values = {(row, column): value for row, column, value in cosines}
    expected = 3 / math.sqrt(10)
    assert values["direct", "think"] == values["think", "direct"] == pytest.approx(expected)
    assert values["unembedding", "think"] == pytest.approx(1 / math.sqrt(10))
    assert ("unembedding", "direct") not in values
    (sheet,) = cosine_sheets(made_fits(BOTH, cosines=cosines))
    rows = by(sheet, "of")
    assert list(rows) == ["direct", "think", "unembedding"]
    assert (rows["direct"]["to_think"], rows["unembedding"]["to_direct"]) == (pytest.approx(expected), None)
    assert "label rows of this condition were not at hand" in sheet_markdown(sheet)
    flat = (Cosine("direct", "direct", math.nan),)
    assert "a direction has no length" in sheet_markdown(cosine_sheets(made_fits(["direct"], cosines=flat))[0])
    assert cosine_sheets(made_fits(BOTH)) == []


def test_fixed_rows_by_hand() -> None:
    probes = {study(name): [0, 0, 1, 1] for name in BOTH}
    probes |= {
        Probed("direct", "direct", "unembedding", STATE): [0, 0, 1, 0],
        Probed("think", "direct", "unembedding", STATE): [0, 0, 1, 0],
    }
    found = predicted([0, 0, 1, 1], {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0]}, probes)
    (sheet,) = fixed_sheets(found, made_fits(BOTH))
    rows = by(sheet, "condition")
    assert [rows["direct"][name] for name in ("rows_of", "fixed", "native", "difference", "mcnemar_p")] == [
        "direct", 0.75, 0.75, 0.0, 1.0
    ]  # fmt: skip
    assert [rows["think"][name] for name in ("rows_of", "fixed", "native", "difference", "mcnemar_p")] == [
        "direct", 0.75, 0.25, 0.5, 0.5
    ]  # fmt: skip
    assert fixed_sheets(four(), made_fits(BOTH)) == []


def estimate(value: float, half: float = 0.02) -> Estimate:
    return Estimate(value, value - half, value + half, 400)


def of(condition: str, native: float, probe: float, gamma: Estimate | None, gap: Estimate | None = None) -> Figures:
    pair = PairedDifference(estimate(probe - native) if gap is None else gap, 0.5, 0, 0)
    shares = estimate(native), estimate(probe), pair, estimate(0.5), estimate(0.4)
    return Figures(condition, *shares, gold_first=0.4, chance=0.25, fixed_slot=0.4, gamma=gamma)


FOUND = of("let_me_think", 0.385, 0.791, estimate(0.382))


@pytest.mark.parametrize(
    ("one", "selectivity", "kind"),
    [
        (FOUND, None, "hidden"),
        (FOUND, estimate(0.3), "hidden"),
        (FOUND, estimate(0.01), "task"),
        (FOUND, estimate(-0.3), "task"),
        (dataclasses.replace(FOUND, gamma=estimate(0.01)), None, "alike"),
        (dataclasses.replace(FOUND, gamma=estimate(-0.3)), None, "alike"),
        (dataclasses.replace(FOUND, gamma=Estimate(1.0, math.nan, math.nan, 4)), None, "alike"),
        (dataclasses.replace(FOUND, gamma=None), None, "reference"),
        (of("t", 0.79, 0.80, estimate(0.3)), None, "equal"),
        (of("t", 0.0, 1.0, estimate(0.3), Estimate(1.0, math.nan, math.nan, 3)), None, "equal"),
        (of("t", 0.9, 0.8, estimate(0.3)), None, "below"),
        # Above guessing (25) but not above the slot that is right most often (40).
        (of("t", 0.1, 0.41, estimate(0.3)), None, "chance"),
        (dataclasses.replace(of("t", 0.1, 0.41, estimate(0.3)), fixed_slot=0.2), None, "hidden"),
        (dataclasses.replace(of("t", 0.1, 0.41, estimate(0.3)), chance=0.4, fixed_slot=0.2), None, "chance"),
    ],
)
def test_a_claim_is_made_where_every_interval_carries_it(
    one: Figures, selectivity: Estimate | None, kind: Kind
) -> None:
    assert kind_of(one, selectivity) == kind
    sentence = probe_sentence([one], STATE, "direct", {} if selectivity is None else {one.condition: selectivity})
    assert ("the answer is in the state and not in the readout" in sentence) == (kind == "hidden")


def test_the_sentence() -> None:
    direct = of("direct", 0.8, 0.81, None)
    assert probe_sentence([direct, FOUND], STATE, "direct", {"let_me_think": estimate(0.3)}) == (
        "In short: direct: native 80.0, probe 81.0 at final_norm (gap 1.0 [-1.0, 3.0], no clear difference); "
        "let_me_think: native 38.5, probe 79.1 at final_norm: the answer is in the state and not in the readout "
        "(gap 40.6 [38.6, 42.6], Gamma 38.2 [36.2, 40.2], selectivity 30.0 [28.0, 32.0])."
    )
    assert "selectivity not measured" in probe_sentence([FOUND], STATE, "direct")
    many = [dataclasses.replace(FOUND, condition=f"t{number}") for number in range(4)]
    many[0] = of("t0", 0.5, 0.7, estimate(0.1))
    assert probe_sentence([*many, of("last", 0.9, 0.8, None)], STATE, "direct") == (
        "In short: 4 other conditions: native 38.5 to 50.0, probe 70.0 to 79.1 at final_norm: the answer is in the "
        "state and not in the readout (gap 20.0 to 40.6, Gamma 10.0 to 38.2); last: native 90.0, probe 80.0 at "
        "final_norm: the probe is right less often than the readout, so it does not say what the state holds "
        "(gap -10.0 [-12.0, -8.0], selectivity not measured)."
    )
    assert probe_sentence([], STATE, "direct") == ""


def test_a_run_without_the_sources_order_has_no_sentence_and_no_zeros() -> None:
    found = four(presentations=["permutation_1"] * 4)
    report = probe_report(found, made_fits(BOTH))
    assert report.sentence == ""
    row = sheet_dicts(report.sheets[0])[0]
    assert (row["n"], row["native"], row["gap"], row["gold_first"], row["fixed_slot"]) == (0, None, None, None, None)
    assert "no rows" in report_markdown(report)


def test_tables_do_not_depend_on_the_order_of_rows_or_places(tmp_path: Path) -> None:
    conditions, states = ("direct", "think", "reasoning"), ("layer_0", STATE)
    part = made_part("test", 60, seed=5, n_options=(2, 4), conditions=conditions, names=states, n_presentations=2)
    fitted = {
        Place(name, state): fitted_at(name, state, axis_probe(4, 8, 0.4, seed), 0.5 + 0.1 * depth)
        for seed, name in enumerate(conditions)
        for depth, state in enumerate(states)
    }
    best = best_places(fitted, conditions)
    table = predict(part, fitted, STATE, best)
    rows = fixed_probe(part, STATE, torch.eye(4, 8), None, "direct")
    heads = {name: torch.eye(4, 8) for name in conditions}
    texts = []
    for turn in (False, True):
        folder = tmp_path / str(turn)
        folder.mkdir()
        places = dict(reversed([*fitted.items()])) if turn else fitted
        write_predictions(folder, [shuffled(rows, 1), shuffled(table, 2)] if turn else [table, rows])
        own = {place.condition: one.probe for place, one in places.items() if place.state == STATE}
        fits = made_fits(conditions, dict.fromkeys(fitted, 0.5), best=best, cosines=direction_cosines(own, heads))
        write_fits(folder, dataclasses.replace(fits, places=place_fits(places)))
        found = probe_report(read_predictions(folder), read_fits(folder), {"think": Estimate(0.3, 0.2, 0.4, 60)})
        write_report(folder, found)
        texts.append({file.name: file.read_bytes() for file in sorted(folder.iterdir())})
    assert texts[0] == texts[1]
    names = [
        "fits.json", "linear_probes.csv", "linear_probes.md", "linear_probes_by_k.csv", "linear_probes_orders.csv",
        "linear_probes_slots.csv", "predictions.parquet", "probe_directions.csv", "probe_fixed_rows.csv",
        "probe_layers.csv", "probe_transfer.csv", "probe_transfer_pairs.csv",
    ]  # fmt: skip
    assert [name for name in texts[0] if name != "transfer.png"] == names
    # The signal is on the axes, so fixed rows find it under every condition; direct's native readout is always right.
    again = tmp_path / "True"
    report = probe_report(read_predictions(again), read_fits(again))
    assert report.sentence.count("the answer is in the state and not in the readout") == 2
    figures = headline_figures(predictions_of(table), made_fits(conditions))
    assert [one.condition for one in figures] == list(conditions)
    assert figures[0].native.value == 1


def with_selectivity(value: float, *, in_sample: bool) -> ProbeReport:
    """Of a probe that is right on 60 of 60 rows beside a readout that is right on none, under think alone."""
    gold = [row % 2 for row in range(60)]
    native = {"direct": gold, "think": [1 - slot for slot in gold]}
    found = predicted(gold, native, {study("direct"): gold, study("think"): [*gold[:-1], 1 - gold[-1]]})
    selectivity = Estimate(value, value - 0.1, value + 0.1, 60)
    task = ControlTask(Estimate(0.9, 0.8, 1.0, 60), in_sample, selectivity, Estimate(0.5, 0.4, 0.6, 60), 0.5)
    fields = {field.name: off(field.name) for field in dataclasses.fields(ConditionControls)}
    own = {"condition": "think", "state": STATE, "probe": Estimate(1.0, 0.9, 1.0, 60), "control_task": task}
    return probe_report(found, made_fits(BOTH), {"think": selectivity}, [ConditionControls(**{**fields, **own})])


def test_a_selectivity_that_is_only_a_lower_bound_speaks_for_a_probe_and_never_against_it() -> None:
    hidden, not_shown = "the answer is in the state and not in the readout", "its selectivity does not show"
    for value, in_sample, said, told in (
        (-0.2, False, not_shown, "selectivity -20.0 [-30.0, -10.0]"),
        (-0.2, True, hidden, "selectivity not measured"),
        (0.2, True, hidden, "selectivity 20.0 [10.0, 30.0]"),
    ):
        report = with_selectivity(value, in_sample=in_sample)
        assert said in report.sentence
        assert told in report.sentence
        noted = [note for note in report.sheets[0].notes if "lower bound, which says nothing" in note]
        assert len(noted) == in_sample
        assert by(report.sheets[0], "condition")["think"]["selectivity"] == value
