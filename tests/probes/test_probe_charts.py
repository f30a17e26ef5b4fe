"""Charts of linear probes, the transfer picture, and what W&B gets of them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import wandb
from PIL import Image

from analysis.style import house_style
from probes.fits_file import Fits
from probes.headline import headline_chart, headline_figures, slot_charts, slot_sheet
from probes.heat_map import transfer_picture
from probes.mirror import headline_summary, mirror
from probes.predictions import Predictions, Probed
from probes.profile import profile_charts
from probes.tables import probe_report, write_report
from probes.transfer import Transfer, transfer
from tests.probes.predicted import STATE, made_fits, predicted, study
from tests.tracking import wandb_file
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import sheet_dicts
from thinkgap.schema import LoggerConfig
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run

BOTH = ["direct", "think"]


def four() -> tuple[Predictions, Fits]:
    """Four items, two layers; native right on 3 and 1 of them, the last layer's probes on 4 and 3."""
    native = {"direct": [0, 0, 1, 0], "think": [0, 1, 0, 0]}
    probes = {study(name, own): [0, 0, 1, int(own == "direct")] for name in BOTH for own in BOTH}
    for name, early, late in (("direct", [0, 0, 0, 0], [0, 0, 1, 1]), ("think", [1, 1, 0, 1], [0, 0, 1, 0])):
        probes[Probed(name, name, "layer", "layer_0")] = early
        probes[Probed(name, name, "layer", STATE)] = late
        probes[Probed(name, name, "best", STATE)] = late
    select = {(name, state): 0.5 for state in ("layer_0", STATE) for name in BOTH}
    return predicted([0, 0, 1, 1], native, probes), made_fits(BOTH, select)


def test_lines_over_states_with_the_native_readout_flat() -> None:
    accuracy, gap = profile_charts(*four())
    assert (accuracy.kind, accuracy.x, accuracy.y, accuracy.series) == ("line", "state", "accuracy", "condition")
    lines: dict[str, list[tuple[object, float]]] = {}
    for x, y, series in accuracy.rows:
        lines.setdefault(series, []).append((x, y))
    assert lines == {
        "direct": [(0, 0.5), (1, 1.0)],
        "direct (native)": [(0, 0.75), (1, 0.75)],
        "think": [(0, 0.25), (1, 0.75)],
        "think (native)": [(0, 0.25), (1, 0.25)],
    }
    # Direct minus think at each state: 2/4 - 1/4 and 4/4 - 3/4.
    assert gap.rows == ((0.0, 0.25, "think"), (1.0, 0.25, "think"))
    alone, _ = four()
    only = Predictions(
        alone.item_id,
        alone.presentation,
        alone.group_id,
        alone.k,
        alone.gold,
        alone.native,
        {one: slots for one, slots in alone.probes.items() if one.role == "study"},
    )
    assert profile_charts(only, four()[1]) == []


def test_bars_of_accuracies_and_slots() -> None:
    found, fits = four()
    chart = headline_chart(headline_figures(found, fits))
    assert chart.kind == "bar"
    assert chart.rows == (
        ("direct", 0.75, "native"),
        ("direct", 1.0, "probe"),
        ("think", 0.25, "native"),
        ("think", 0.75, "probe"),
    )
    direct, think = slot_charts(slot_sheet(found, fits))
    assert (direct.name, think.name) == ("linear_probes_slots_direct", "linear_probes_slots_think")
    # Of think: right 0, 0, 1, 1; native 0, 1, 0, 0; probe 0, 0, 1, 0.
    assert think.rows == (
        ("slot 1", 0.5, "right"),
        ("slot 1", 0.75, "native"),
        ("slot 1", 0.75, "probe"),
        ("slot 2", 0.5, "right"),
        ("slot 2", 0.25, "native"),
        ("slot 2", 0.25, "probe"),
    )


def test_the_picture_shows_the_matrix() -> None:
    table = transfer(*four())
    data = transfer_picture(table, "title")
    assert data is not None
    assert transfer_picture(table, "title") == data
    # Whatever else has been drawn in this process, and in which style.
    with house_style():
        assert transfer_picture(table, "title") == data
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        assert image.width > 400
        assert image.height > 300
    other = Transfer(table.trained, table.read, table.accuracy - 0.25, table.native)
    assert transfer_picture(other, "title") != data
    holes = Transfer(table.trained, table.read, np.array([[0.5, np.nan], [0.25, 1.0]]), table.native)
    assert transfer_picture(holes, "title") is not None
    assert transfer_picture(Transfer(("a",), ("a",), np.array([[np.nan]]), np.array([0.5])), "title") is None


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No credentials and no settings of W&B."""
    for name in list(os.environ):
        if name.startswith("WANDB_") and name != "WANDB_SERVICE":
            monkeypatch.delenv(name)
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield
    wandb.teardown()


@pytest.mark.usefixtures("nobody")
def test_wandb_gets_tables_charts_the_picture_and_figures(tmp_path: Path) -> None:
    found, fits = four()
    folder = tmp_path / "run"
    folder.mkdir()
    report = probe_report(found, fits, {"think": Estimate(0.25, 0.125, 0.5, 4)})
    picture = write_report(folder, report)
    assert picture is not None
    with wandb_run(
        LoggerConfig(), config={}, name="probes", group=None, job_type="probe", tags=[], folder=folder
    ) as tracker:
        assert tracker.active
        mirror(tracker, report, picture)
    logged = wandb_file.read(folder)
    assert logged["exit_code"] == 0
    (files,) = folder.glob("wandb/offline-run-*/files")
    history = logged["history"]
    for sheet in report.sheets:
        table = json.loads((files / history[f"{sheet.name}.path"]).read_text())
        rows = sheet_dicts(sheet)
        assert table["columns"] == list(rows[0])
        assert table["data"] == [list(row.values()) for row in rows]
    for chart in report.charts:
        assert history[f"charts/{chart.name}_table.nrows"] == len(chart.rows)
    assert (files / history["images/probe_transfer.path"]).read_bytes() == picture.read_bytes()
    summary = logged["summary"]
    assert summary["probe/think/probe"] == 0.75
    assert summary["probe/think/gap"] == 0.5
    assert summary["probe/think/gamma"] == 0.25
    assert (summary["probe/think/selectivity"], summary["probe/think/selectivity_low"]) == (0.25, 0.125)
    assert summary["probe/think/best_state"] == STATE
    assert summary["in_short"] == report.sentence
    assert not {"probe/direct/gamma", "probe/direct/selectivity"} & summary.keys()


def test_a_report_is_mirrored_nowhere_without_wandb() -> None:
    mirror(WandbTracker(), probe_report(*four()), Path("nowhere.png"))


def test_the_summary_leaves_out_what_is_not_there() -> None:
    found, fits = four()
    summary = headline_summary(probe_report(found, fits).sheets[0])
    assert summary["probe/think/native"] == 0.25
    assert summary["probe/think/selectivity"] is None
    assert summary["probe/direct/gamma"] is None
    assert {name.split("/")[1] for name in summary} == set(BOTH)
