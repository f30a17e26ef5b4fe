"""The lens sheet by hand, and on a real model, whose last layer must be the native readout."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.store.examples import record
from tests.test_config import composed
from thinkgap.errors import StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.readouts.layers import layer_charts, layer_sheets
from thinkgap.readouts.rows import drawn
from thinkgap.readouts.sheet import sheet_dicts, sheet_markdown
from thinkgap.store.records import read_run, to_table
from thinkgap.types import Record


def figures(records: list[Record], conditions: tuple[str, ...] = ("direct", "let")) -> list[dict[str, Any]]:
    (sheet,) = layer_sheets(to_table(records).to_pandas(), conditions)
    return [dict(zip([column.name for column in sheet.columns], row, strict=True)) for row in sheet.rows]


def four() -> list[Record]:
    """Gold in slot 1 of four, or of two. Layer 0 predicts 3, 0, 0, 1; layer 1 predicts 1, 1, 0, 1."""
    lenses = [
        ((-2.0, -3.0, -math.inf, -1.0), (-1.25, -0.1, -7.5, -3.0)),
        ((-0.5, -3.0, -4.0, -1.0), (-1.25, -0.1, -7.5, -3.0)),
        ((-0.5, -0.6), (-0.5, -0.6)),
        ((-0.6, -0.5), (-0.6, -0.5)),
    ]
    masses = [(0.1, 0.4), (0.2, 0.4), (0.3, 0.6), (0.4, 0.6)]
    shown: dict[str, Any] = {"k": 2, "order": (0, 1), "labels": ("A", "B")}
    return [
        record(f"q{i}", lens_label_logprobs=lens, lens_label_mass=mass, **(shown if len(lens[0]) == 2 else {}))
        for i, (lens, mass) in enumerate(zip(lenses, masses, strict=True))
    ]


def test_figures_by_hand() -> None:
    first, second = figures(four())
    assert [(row["condition"], row["layer"], row["n"]) for row in (first, second)] == [
        ("direct", 0, 4),
        ("direct", 1, 4),
    ]
    # Layer 0 is right on the last item only and takes slot 0 twice; layer 1 is right on three and takes it once.
    assert (first["accuracy"].value, first["first_slot"].value) == (0.25, 0.5)
    assert (second["accuracy"].value, second["first_slot"].value) == (0.75, 0.25)
    interval = (first["accuracy"].low, first["accuracy"].high)
    assert interval == pytest.approx(proportion_confint(1, 4, method="wilson"))
    # (0.1 + 0.2 + 0.3 + 0.4) / 4, (0.4 + 0.4 + 0.6 + 0.6) / 4
    assert (first["label_mass"].value, second["label_mass"].value) == pytest.approx((0.25, 0.5))


def test_ties_are_drawn_as_the_native_readout_draws_them() -> None:
    tied = [record(f"q{i}", lens_label_logprobs=((-1.0, -1.0, -5.0, -1.0),), lens_label_mass=(0.5,)) for i in range(30)]
    slots = [drawn(one.item_id, "identity", [0, 1, 3]) for one in tied]
    assert set(slots) == {0, 1, 3}
    (row,) = figures(tied)
    assert row["accuracy"].value == pytest.approx(slots.count(1) / 30)
    assert row["first_slot"].value == pytest.approx(slots.count(0) / 30)


def test_only_native_rows_in_the_sources_order_with_a_lens_count() -> None:
    without = replace(record("q0", "let"), lens_label_logprobs=(), lens_label_mass=())
    others = [replace(record("q0"), presentation="permutation_1"), replace(record("q0"), readout="generation")]
    assert [row["condition"] for row in figures([*four(), without, *others])] == ["direct", "direct"]
    frame = to_table([without, *others]).to_pandas()
    assert layer_sheets(frame, ["direct", "let"]) == []
    assert layer_charts(frame, ["direct", "let"]) == []


def test_rows_of_different_depth_are_refused() -> None:
    short = record("q9", lens_label_logprobs=((-1.0, -2.0, -3.0, -4.0),), lens_label_mass=(0.5,))
    with pytest.raises(StoreError, match="condition direct has rows with 1 and 2 layers"):
        figures([*four(), short])


def test_charts_by_hand() -> None:
    charts = {chart.name: chart for chart in layer_charts(to_table(four()).to_pandas(), ["direct"])}
    assert charts["layers_accuracy"].rows == ((0.0, 0.25, "direct"), (1.0, 0.75, "direct"))
    assert charts["layers_first_slot"].rows == ((0.0, 0.5, "direct"), (1.0, 0.25, "direct"))
    assert [point[1] for point in charts["layers_label_mass"].rows] == pytest.approx([0.25, 0.5])


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_the_last_layer_is_the_native_readout(family: str, tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    settings = ["model=local", f"model.path={tiny_model(family)}", "dataset=toy_facts", "dataset.limit=24"]
    settings += ["trigger=let_me_think", "evaluation=layers", "logger=none"]
    finished = run_native(composed(*settings), tmp_path / "run")
    (sheet,) = layer_sheets(read_run(finished.folder).to_pandas(), ["direct", "let_me_think"])
    rows: list[dict[str, Any]] = [
        dict(zip([column.name for column in sheet.columns], row, strict=True)) for row in sheet.rows
    ]
    assert [(row["condition"], row["layer"]) for row in rows] == [
        (name, layer) for name in ("direct", "let_me_think") for layer in range(3)
    ]
    last = {row["condition"]: row for row in rows if row["layer"] == 2}
    for native in finished.table.rows:
        own = last[native.condition]
        assert own["accuracy"] == native.accuracy
        assert own["first_slot"] == native.first_slot
        assert own["label_mass"].value == pytest.approx(native.label_mass.value, abs=1e-6)
        assert own["label_mass"].low == pytest.approx(native.label_mass.low, abs=1e-6)
    earlier = [row["label_mass"].value for row in rows if row["layer"] == 0]
    assert earlier != pytest.approx([row["label_mass"].value for row in last.values()], rel=1e-2)
    assert "layer 0 is the state after the first layer" in sheet_markdown(sheet)
    assert len(sheet_dicts(sheet)) == 6
