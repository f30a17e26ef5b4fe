"""Choice of C by the selection rows, blocks of places, and what is said of fits that do not converge."""

from __future__ import annotations

import logging

import pytest
import torch

from probes.exact import fit_block_exact, fit_selected
from probes.heads import Place, Rows, choose, rows_at
from probes.linear_probe import Standard, cross_entropy, mask_absent
from tests.probes.exact_data import made, plain
from tests.probes.parts import made_part
from thinkgap.schema import ExactGrid, ProbeConfig


def test_selection_is_by_the_selection_rows_and_standards_by_the_fit_rows() -> None:
    fit, select = made(sizes=(3, 4)), made(sizes=(3, 4), seed=1)
    moved = fit._replace(x=5 * fit.x + 3)
    grid = ExactGrid(penalties=[100.0, 1e-4, 0.01])
    selected = fit_selected(Rows(*moved), Rows(select.x * 5 + 3, select.gold, select.k), grid)
    assert torch.equal(selected.probe.standard.mean, Standard.of(moved.x).mean)
    assert [setting.name for setting in selected.settings] == ["C=100", "C=0.0001", "C=0.01"]
    assert selected.chosen == choose(selected.settings)
    for setting, c in zip(selected.settings, grid.penalties, strict=True):
        weight, biases = plain(fit, c, 4)
        logits = mask_absent(select.x.double() @ torch.from_numpy(weight.T) + torch.from_numpy(biases), select.k)
        assert setting.select_accuracy == float((logits.argmax(-1) == select.gold).double().mean())
        assert setting.select_loss == pytest.approx(float(cross_entropy(logits, select.gold).mean()), rel=1e-3)
        assert setting.iterations
        assert setting.gradient is not None
        assert setting.gradient <= grid.tolerance
        assert setting.epoch is None


def test_a_block_is_its_places_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    fit, select = made_part("fit", 60, seed=0, n_options=(3, 4)), made_part("select", 30, seed=1, n_options=(3, 4))
    places = [Place("let_me_think", "final_norm"), Place("direct", "layer_0")]
    told: list[int] = []
    with caplog.at_level(logging.WARNING):
        found = fit_block_exact(places, fit, select, ProbeConfig(), told.append)
    assert told == [1, 1]
    assert [one.place for one in found] == places
    assert not caplog.records
    for one in found:
        alone = fit_selected(rows_at(fit, *one.place), rows_at(select, *one.place), ExactGrid())
        assert torch.equal(one.probe.weight, alone.probe.weight)
        assert (one.settings, one.chosen) == (alone.settings, alone.chosen)
    # The state `final_norm` holds the right slot, `layer_0` nothing.
    assert found[0].setting.select_accuracy > 0.8 > found[1].setting.select_accuracy


def test_a_fit_that_does_not_converge_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    fit, select = made_part("fit", 60, seed=0), made_part("select", 30, seed=1)
    cfg = ProbeConfig(exact=ExactGrid(penalties=[1e-9, 1.0, 100.0], max_iterations=6))
    fit_block_exact([Place("direct", "final_norm")], fit, select, cfg, lambda _: None)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    text = record.getMessage()
    assert "final_norm" in text
    assert "condition direct" in text
    assert "C=1, C=100" in text
    assert "C=1e-09" not in text
