"""The house style: sizes, fonts, colours, labels, and figures that are the same file each time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.style import COLUMN, PALETTE, error_bars, new_figure, save, use, with_unit
from thinkgap.errors import ConfigError
from thinkgap.metrics import Estimate


def test_settings_are_those_of_a_column() -> None:
    parameters = use().rcParams
    assert parameters["pdf.fonttype"] == 42
    assert parameters["font.size"] == 8
    assert parameters["axes.prop_cycle"].by_key()["color"] == list(PALETTE)
    figure, axes = new_figure(2.0, panels=2)
    assert tuple(figure.get_size_inches()) == (COLUMN, 2.0)
    assert len(axes) == 2


def test_labels_and_error_bars() -> None:
    assert with_unit("accuracy", "%", 1200) == "accuracy (%), n = 1,200"
    assert with_unit("layer") == "layer"
    values, (below, above) = error_bars([Estimate(0.5, 0.25, 0.625, 8), Estimate(1.0, math.nan, math.nan, 8)])
    assert (values, below, above) == ([50.0, 100.0], [25.0, 0.0], [12.5, 0.0])


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_figure_is_the_same_file(tmp_path: Path, ending: str) -> None:
    def made(name: str) -> bytes:
        figure, axes = new_figure()
        axes.plot([0, 1], [1, 0])
        axes.set_xlabel("layer")
        return save(figure, tmp_path / "new" / f"{name}.{ending}").read_bytes()

    assert made("one") == made("two")
    if ending == "svg":
        assert b">layer</text>" in (tmp_path / "new" / "one.svg").read_bytes()


def test_other_formats_are_refused(tmp_path: Path) -> None:
    figure, _ = new_figure()
    with pytest.raises(ConfigError, match=r"\.jpg: figures are saved as \.pdf or \.svg"):
        save(figure, tmp_path / "x.jpg")
